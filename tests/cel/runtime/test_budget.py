"""Costs match work: the units of an evaluation are compared with its work, which is counted and not timed.

Work is counted in two ways that are the same on every machine: the bytecodes that Python executes on behalf of an
evaluation, and the octets that it allocates at its peak. A unit is about a tenth of a microsecond, two to four
bytecodes of compiled code; what C does in one bytecode (texts, patterns, sorting) a table holds to what it must cost.
`python -m benchmarks.cel_limits` measures the same in seconds.
"""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from random import Random
from types import FrameType
from typing import Any

import pytest
from benchmarks.cel_limits import NOW, expressions, shared, shared_map
from hypothesis import given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel.declarations import OPERATORS, Overload
from muster.cel.library.registry import Declarations
from muster.cel.runtime.budget import EXPLAINING_LIMIT
from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    OptionalType,
    Type,
)
from muster.cel.values import UInt
from tests.support.examples import often

BUDGET = 30_000
#: Bytecodes per unit at the most, and those that any evaluation may take: to look things up, to write a message.
MOST, SOME = 20, 10_000


DATA: dict[str, Any] = {
    "n": list(range(3_000)),
    "l": list(range(100)),
    "big": list(range(30_000)),
    "s": "a" * 20_000,
    "long": "ab" * 20_000,
    "long2": "ab" * 19_999 + "ac",
    "wide": "é" * 5_000 + "🜚",
    "short": "a" * 60,
    "texts": [f"text-{number}" for number in range(3_000)],
    "pair": shared(40, 1),
    "other": shared(40, 1),
    "maps": shared_map(40),
    "others": shared_map(40),
    "map": {f"key-{n}": n for n in range(3_000)},
    "numbers": {n: n for n in range(3_000)},
    "mixed": "".join("ab"[n * n % 7 % 2] for n in range(5_000)),
    "dates": [f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z" for n in range(1_440)],
    "deep": shared(500, 1),
    "now": NOW,
    "precise": [f"2026-01-01T00:00:00.{n:09}Z" for n in range(1_000)],
    "one": {"a": {"b": 1}},
    "copies": [f"{'x' * 2_000}{n % 7}" for n in range(200)],
    "raw": b"x" * 20_000,
}


class Work:
    """What was counted: bytecodes, and octets at the peak."""

    codes = 0
    octets = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count the bytecodes that are executed inside."""
    work = Work()

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            work.codes += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield work
    finally:
        sys.settrace(before)


@contextmanager
def weighed() -> Iterator[Work]:
    """Count the octets that are allocated at the peak inside."""
    work = Work()
    tracemalloc.start()
    try:
        yield work
    finally:
        work.octets = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def quick(text: str, variables: dict[str, Any], budget: int) -> tuple[cel.EvaluationResult, int]:
    """Evaluate and count the work, without finding out why it failed, which has a limit of its own."""
    program = cel.compile(text)
    result = program.run(variables, budget=budget)  # imports, caches and the engine that explains are there now
    meter = [budget - program.cost]
    with counted() as work, suppress(Exception):  # whatever it raises: what counts is what it did
        program._body(variables, meter)
    return result, work.codes


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", expressions())
def test_no_expression_of_the_table_does_more_than_it_pays(text: str) -> None:
    result, codes = quick(text, DATA, BUDGET)
    assert result.cost <= BUDGET
    assert codes <= MOST * result.cost + SOME, f"{codes / max(result.cost, 1):.0f} bytecodes per unit"


#: What C does in one bytecode: an expression and the units that it costs at least, by what it walks through or makes.
CHARGED = [
    ("s == s.replace('x', '')", 20_000 // 8),
    ("s < s + 'b'", 20_000 // 8),
    ("s.contains('ab')", 20_000 // 8),
    ("s.lastIndexOf(s.substring(1))", 20_000 * 20_000 // 64),
    ("s.indexOf(s.substring(1))", 20_000 // 8 * 16),
    ("(s + s).startsWith(s + s)", 80_000 // 8),
    ("texts.join(short)", 3_000 * 69 // 8),
    ("s.replace('a', 'bbbbbbbb')", 20_000 * 8 // 8),
    ("s.split('')", 4 * 20_000),
    ("s.split('a')", 4 * 20_000),
    ("wide.upperAscii()", 5_000 // 2),
    ("strings.quote(s)", 20_000),
    ("base64.encode(raw)", 20_000 // 8),
    ("string(raw)", 20_000 // 8),
    ("'x' in texts", 3_000 // 2),
    ("n + n", 6_000 // 4),
    ("n.slice(0, 2000)", 2_000 // 4),
    ("n.reverse()", 3_000 // 4),
    ("lists.range(5000)", 5_000),
    ("texts.sort()", 12 * 3_000),
    ("n.map(a, -a).sort()", 12 * 3_000),
    ("numbers.map(k, k)", 14 * 3_000),
    ("'%s'.format([texts])", 12 * 3_000 + 8 * 3_000 // 8),
    ("'%s'.format([s])", 20_000 // 8),
    # A pattern costs its program's size: once for compiling, and for each octet that it may look at.
    ("short.matches('[ab]*a[ab]{900}c')", 300 + 8 * 906 + 60 * 906 // 16),
    ("s.matches('[ab]*a[ab]{900}c')", 20_000 * 906 // 16),
    ("l.map(a, short.matches('^a' + string(a)))", 100 * 370),
    ("short.findAll('a')", 60 * 70),
    ("regex.replace(short, 'a', 'b')", 60 * 70),
    ("now.getHours('Europe/Berlin')", 5_000),
    ("l.exists(a, timestamp(a).getHours('No/Such') == 1) || true", 100 * 1_500),
    ("now + duration('1s') > now", 50),
    ("l.map(a, url('https://example.com/' + string(a)))", 100 * 120),
]


@pytest.mark.parametrize(("text", "least"), CHARGED, ids=[row[0] for row in CHARGED])
def test_what_is_done_in_one_step_is_paid_for(text: str, least: int) -> None:
    result = cel.compile(text).run(DATA, budget=1 << 40)
    assert result.error is None, result.error
    assert least <= result.cost <= 4 * least + 500


BUILDING = [
    "n.map(a, s + string(a))",
    "n.map(a, wide + string(a))",
    "n.map(a, big + [a])",
    "n.map(a, n.map(b, [b]))",
    "n.map(a, n.map(b, {'a': b}))",
    "n.map(a, n.map(b, {b: b}))",
    "n.map(a, n.map(b, {}))",
    "n.map(a, n.map(b, string(b)))",
    "n.map(a, s.split(''))",
    "n.map(a, wide.split(''))",
    "n.map(a, s.replace('a', 'aaaa'))",
    "n.map(a, lists.range(1000))",
    "n.map(a, n.map(b, optional.of(b)))",
    "n.map(a, n.map(b, timestamp(b)))",
    "n.map(a, '%s'.format([texts]))",
    "n.map(a, texts.join(string(a)))",
    "n.map(a, n.flatten())",
    "n.map(a, s.findAll('a'))",
    "n.map(a, raw + raw)",
    "n.map(a, n.map(b, cel.bind(c, [b, b, b], [c, c])))",
    "n.transformMap(k, v, n.map(b, double(b)))",
    "n.map(a, n.distinct())",
    "n.map(a, n.map(b, ip('10.0.0.' + string(b % 200))))",
    "n.map(a, n.map(b, url('https://a.example/' + string(b))))",
]


@pytest.mark.parametrize("text", BUILDING)
def test_what_is_kept_is_paid_for(text: str) -> None:
    """At a million units no more than 40 MB, so at ten million some hundreds."""
    program = cel.compile(text)
    program.run(DATA, budget=10_000)
    with weighed() as work:
        result = program.run(DATA, budget=1_000_000)
    assert isinstance(result.error, cel.BudgetExceeded)
    assert work.octets < 40_000_000


def test_no_text_and_no_list_grows_without_end() -> None:
    for text in ("s + s", "texts + texts", "[s + s].join(s + s)"):
        chain = "".join(f"cel.bind(v{level + 1}, v{level} + v{level}, " for level in range(40))
        result = cel.compile(f"cel.bind(v0, {text}, {chain}v40{')' * 41}.size()").run(DATA, budget=1 << 60)
        assert isinstance(result.error, cel.BudgetExceeded)


@pytest.mark.parametrize("text", ["x.y == 1", "now < 5", "short < 5", "short.z", "int(short) > 0", "[1][short] == 1"])
def test_a_failure_that_a_loop_absorbs_is_cheap_and_paid_for(text: str) -> None:
    """No message is built for a hundred thousand absorbed errors."""
    result, codes = quick(f"n.exists(a, {text}) || true", DATA, 1_000_000)
    assert result.value is True
    assert codes <= MOST * result.cost + SOME
    longer = cel.compile(f"n.map(a, n.exists(b, {text}) || true).size()")
    assert isinstance(longer.run(DATA, budget=1_000_000).error, cel.BudgetExceeded)


def test_finding_out_why_something_failed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that explains errors is slower, so it gives up early and reports the original error."""
    monkeypatch.setattr("muster.cel.program.EXPLAINING_LIMIT", EXPLAINING_LIMIT // 10)
    program = cel.compile("lists.range(90000).all(a, a >= 0) && {'a': 1}[string(size(s))] == 1")
    with counted() as work:
        result = program.run({"s": "x"})
    assert result.error is not None
    assert result.error.message == "no such key: '1'; it has a"
    assert work.codes < 1_200_000


def test_a_trace_goes_as_far_as_it_may() -> None:
    program = cel.compile("lists.range(900000).all(a, a >= 0)")
    result = program.run({}, trace=True)
    assert result.value is True
    assert result.trace is not None


def test_what_a_pattern_costs_does_not_depend_on_what_was_asked_before() -> None:
    program = cel.compile("l.map(a, short.matches('a{' + string(a) + '}b|' + string(a % 3))).size()")
    first = program.run(DATA, budget=10_000_000)
    assert first.error is None
    assert {program.run(DATA, budget=10_000_000).cost for _ in range(3)} == {first.cost}
    for number in range(200):
        cel.compile("short.matches(p)").run({**DATA, "p": f"other{number}"})
    assert program.run(DATA, budget=10_000_000).cost == first.cost


# -- composed out of everything that is declared ----------------------------------------------------------------------

LEAVES: dict[Type, tuple[str, ...]] = {
    BOOL: ("true", "false", "n == n", "pair == other", "short.contains('b')"),
    INT: ("1", "0", "-1", "l.size()", "n[7]", "9223372036854775807"),
    UINT: ("0u", "3u", "u"),
    DOUBLE: ("0.5", "1e300", "-2.0", "f"),
    STRING: ("s", "wide", "short", "texts[3]", "'a'", "''", "long", "'a+b|c'", "'Europe/Berlin'", "'10.0.0.0/8'"),
    BYTES: ("raw", "b'a'"),
    NULL: ("null",),
    TIMESTAMP: ("now", "timestamp('2026-01-01T00:00:00.000000001Z')", "timestamp(dates[5])"),
    DURATION: ("duration('1h30m')", "now - timestamp(0)", "duration('1.5s')"),
}
LISTS = {INT: ("n", "l", "big"), STRING: ("texts", "copies", "dates"), DOUBLE: ("[0.5, 1.5]",), BOOL: ("[true]",)}
ANY = ("pair", "maps", "map", "one", "deep", "s", "n", "null", "1", "texts", "now")
_SKIPPED = {"_?_:_", "_&&_", "_||_", "cel.@block"}
OVERLOADS = [
    overload
    for name, overloads in sorted(Declarations().items())
    for overload in overloads
    if name not in _SKIPPED and not name.startswith("@sort")
]


class Composer:
    """Writes expressions with every declared function, over large data."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.variables: list[str] = []

    def write(self, type_: Type, depth: int) -> str:
        """Return an expression that may be of the type."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(type_)
        if self.random.random() < 0.25 and isinstance(type_, ListType):
            return self.loop("map", type_.element, depth)
        if self.random.random() < 0.2 and type_ == BOOL:
            return self.loop(self.random.choice(("all", "exists", "exists_one")), BOOL, depth)
        fitting = [one for one in OVERLOADS if one.result == type_ or _loose(one.result)]
        return self.call(self.random.choice(fitting), depth) if fitting else self.leaf(type_)

    def call(self, overload: Overload, depth: int) -> str:
        """Return a call."""
        arguments = [self.write(param, depth - 1) for param in overload.params]
        operator = OPERATORS.get(overload.function)
        match operator, arguments:
            case None, _:
                if not overload.member:
                    return f"{overload.function}({', '.join(arguments)})"
                return f"({arguments[0]}).{overload.function}({', '.join(arguments[1:])})"
            case (("[]" | "[?]"), [operand, key]):
                return f"({operand}){operator[:-1]}{key}]"
            case _, [operand]:
                return f"{operator}({operand})"
        return f"(({arguments[0]}) {operator} ({arguments[1]}))"

    def loop(self, macro: str, body: Type, depth: int) -> str:
        """Return a comprehension whose body may use its variable."""
        name = f"v{len(self.variables)}"
        ranged = self.random.choice(("n", "l", "texts", "pair", "map", self.write(ListType(INT), depth - 1)))
        self.variables.append(name)
        text = f"({ranged}).{macro}({name}, {self.write(body, depth - 1)})"
        self.variables.pop()
        return text

    def leaf(self, type_: Type) -> str:
        """Return a constant or a variable."""
        if self.variables and self.random.random() < 0.4:
            return self.random.choice(self.variables)
        match type_:
            case ListType():
                return self.random.choice(LISTS.get(type_.element, ("n", "texts", "pair", "[pair, other]")))
            case MapType():
                return self.random.choice(("map", "maps", "numbers", "one"))
            case OptionalType():
                return f"optional.of({self.leaf(type_.element)})"
        return self.random.choice(LEAVES.get(type_, ANY))


def _loose(type_: Type) -> bool:
    return str(type_).startswith(("type_param", "dyn"))


@settings(max_examples=often(60))
@given(st.integers(0, 2**32))
def test_no_composed_expression_does_more_than_it_pays(seed: int) -> None:
    random = Random(seed)
    text = Composer(random).write(random.choice((BOOL, BOOL, INT, STRING, ListType(INT), ListType(STRING))), 4)
    data = {**DATA, "u": UInt(7), "f": 2.5}
    try:
        cel.compile(text)
    except cel.CompileError:
        return  # too deep for the parser
    with weighed() as memory:
        result, codes = quick(text, data, BUDGET)
    assert result.cost <= BUDGET
    assert codes <= MOST * result.cost + SOME, text
    assert memory.octets < 8_000_000 + 60 * result.cost, text


FUNCTIONS_TAKING_TEXT: tuple[Callable[[int], str], ...] = (
    lambda size: f"lists.range({size}).map(n, [n]) == lists.range({size}).map(n, [n])",
    lambda size: f"lists.range({size}).map(n, string(n)).join(',').split(',').size() == {size}",
    lambda size: f"lists.range({size}).map(n, -n).sort().size() == {size}",
    lambda size: f"lists.range({size}).map(n, [n % 7]).distinct().size() <= 7",
    lambda size: f"sets.contains(lists.range({size}), lists.range(5))",
    lambda size: f"'%s'.format([lists.range({size})]).size() > {size}",
    lambda size: f"lists.range({size}).map(n, 'a').join('').matches('(a|b)+c') == false",
)


@pytest.mark.parametrize("write", FUNCTIONS_TAKING_TEXT, ids=range(len(FUNCTIONS_TAKING_TEXT)))
def test_ten_times_the_data_costs_ten_times_as_much(write: Callable[[int], str]) -> None:
    small, large = (cel.compile(write(size)).run({}) for size in (100, 1_000))
    assert small.value is True
    assert large.value is True
    assert 6 * small.cost < large.cost < 20 * small.cost


def test_clocks_do_not_make_it_cheaper() -> None:
    clock = cel.Clock(NOW + timedelta(seconds=1))
    result = cel.compile("l.all(a, now - timestamp(a) > duration('1h'))").run(
        {"l": DATA["l"], "now": clock.now}, clock=clock
    )
    plain = cel.compile("l.all(a, now - timestamp(a) > duration('1h'))").run({"l": DATA["l"], "now": NOW})
    assert result.cost == plain.cost
