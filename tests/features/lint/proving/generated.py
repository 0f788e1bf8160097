"""Random expressions over a few inputs, and what the solver and the evaluator say of them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from muster import cel
from muster.cel.types import (
    BOOL,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    FieldType,
    ListType,
    MapType,
    NullableType,
    ObjectType,
)
from muster.features.lint.proving.logic import Model, both, negation
from muster.features.lint.proving.solver import Nothing, Solver
from muster.features.lint.proving.translate import Translator
from muster.features.lint.proving.unknown import condition_of
from muster.features.lint.proving.values import given
from muster.features.lint.proving.world import SymbolicInput, SymbolicWorld

_ITEM = ObjectType("item", {"n": FieldType(INT, required=True), "s": FieldType(STRING), "p": FieldType(BOOL)})
INPUTS = {
    "i": INT,
    "j": INT,
    "s": STRING,
    "u": STRING,
    "p": BOOL,
    "q": BOOL,
    "t": TIMESTAMP,
    "d": DURATION,
    "o": ObjectType(
        "o",
        {
            "n": FieldType(INT),
            "s": FieldType(NullableType(STRING)),
            "in": FieldType(_ITEM),
            "t": FieldType(NullableType(TIMESTAMP)),
        },
    ),
    "l": ListType(_ITEM),
    "x": ListType(INT, 3),
    "m": MapType(STRING, INT),
}
ENV = cel.Env(variables=INPUTS, require_bool=True)
_NUMBERS = ("0", "1", "2", "-1", "7", "9223372036854775807", "-9223372036854775808")
_TEXTS = ("''", "'a'", "'b'", "'ab'")
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Generator:
    """Makes expressions of a type, out of a random source."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.items: list[str] = []
        self.numbers: list[str] = []

    def boolean(self, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0:
            fields = [f"has({item}.{name})" for item in self.items for name in "sp"] + [f"{i}.p" for i in self.items]
            return pick(["p", "q", "true", "false", "has(o.n)", "has(o.s)", "(o.s == null)", "('k' in m)", *fields])
        a, b = self.boolean, self.number
        forms: list[Callable[[], str]] = [
            lambda: f"({a(depth - 1)} && {a(depth - 1)})",
            lambda: f"({a(depth - 1)} || {a(depth - 1)})",
            lambda: f"!{a(depth - 1)}",
            lambda: f"({a(depth - 1)} ? {a(depth - 1)} : {a(depth - 1)})",
            lambda: f"({b(depth - 1)} {pick(('<', '<=', '>', '>=', '==', '!='))} {b(depth - 1)})",
            lambda: f"({self.text(depth - 1)} {pick(('==', '!=', '<'))} {self.text(depth - 1)})",
            lambda: f"{self.text(depth - 1)}.{pick(('startsWith', 'endsWith', 'contains'))}({pick(_TEXTS)})",
            lambda: f"({self.time()} {pick(('<', '<=', '>', '=='))} {self.time()})",
            lambda: f"({self.time()} - {self.time()} {pick(('<', '>='))} {self.span()})",
            lambda: f"({b(depth - 1)} in {pick(('x', '[1, 2]'))})",
            lambda: self.quantified(depth),
            lambda: f"x.{pick(('all', 'exists', 'exists_one'))}(e{depth}, {self.over_number(f'e{depth}', depth)})",
            lambda: f"(o.s {pick(('==', '!='))} {self.text(depth - 1)})",
        ]
        return pick(forms)()

    def quantified(self, depth: int) -> str:
        name = f"e{depth}"
        self.items.append(name)
        body = self.boolean(depth - 1)
        self.items.pop()
        return f"l.{self.random.choice(('all', 'exists', 'exists_one'))}({name}, {body})"

    def over_number(self, name: str, depth: int) -> str:
        self.numbers.append(name)
        body = self.boolean(depth - 1)
        self.numbers.pop()
        return body

    def number(self, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0:
            return pick(["i", "j", *_NUMBERS, "o.n", "m.k", *(f"{item}.n" for item in self.items), *self.numbers])
        b = self.number
        forms: list[Callable[[], str]] = [
            lambda: f"({b(depth - 1)} {pick(('+', '-', '*'))} {pick(_NUMBERS)})",
            lambda: f"({b(depth - 1)} + {b(depth - 1)})",
            lambda: f"({b(depth - 1)} {pick(('/', '%'))} {pick(('2', '-3', '0', 'j'))})",
            lambda: f"-({b(depth - 1)})",
            lambda: "size(x)",
            lambda: f"size({self.text(0)})",
            lambda: f"x[{pick(('0', '1', '2', 'i'))}]",
            lambda: f"({self.boolean(depth - 1)} ? {b(depth - 1)} : {b(depth - 1)})",
            lambda: "o.in.n",
            lambda: f"size(x.filter(e{depth}, {self.over_number(f'e{depth}', depth)}))",
            lambda: "x.max()",
            lambda: "l[0].n",
            lambda: f"x.map(e{depth}, e{depth} + 1)[0]",
            lambda: f"o.?n.orValue({b(depth - 1)})",
            lambda: "m[?'k'].orValue(3)",
        ]
        return pick(forms)()

    def text(self, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0:
            return pick(["s", "u", *_TEXTS, *(f"{item}.s" for item in self.items)])
        return pick([f"({self.text(depth - 1)} + {self.text(0)})", "s", "string(p)", "o.in.s"])

    def time(self) -> str:
        return self.random.choice(["t", "timestamp('2026-01-01T00:00:00Z')", "(t + d)", "o.t", "(t - duration('1h'))"])

    def span(self) -> str:
        return self.random.choice(
            ["d", "duration('90s')", "duration(string(i) + 's')", "duration(string(size(x)) + 'h')"]
        )


def data(random: Random) -> dict[str, Any]:
    """Return random inputs."""

    def number() -> int:
        return random.choice((0, 1, 2, 3, -1, 7, 2**63 - 1, -(2**63), random.randrange(-100, 100)))

    def text() -> str:
        return random.choice(("", "a", "b", "ab", "ba"))

    def time() -> str:
        moment = _EPOCH + timedelta(seconds=random.choice((0, 1, -3600, 90, 3600)))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def some(**fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if random.random() < 0.6}

    def item() -> dict[str, Any]:
        return {"n": number(), **some(s=text(), p=random.random() < 0.5)}

    return {
        "i": number(),
        "j": number(),
        "s": text(),
        "u": text(),
        "p": random.random() < 0.5,
        "q": random.random() < 0.5,
        "t": time(),
        "d": random.choice(("0s", "90s", "1h", "1.5s")),
        "m": some(k=number()),
        "o": some(n=number(), s=random.choice((None, text())), t=random.choice((None, time())), **{"in": item()}),
        "l": [item() for _ in range(random.randrange(4))],
        "x": [number() for _ in range(random.randrange(4))],
    }


def said(program: cel.Program, variables: dict[str, Any]) -> str:
    """Return what the evaluator says: `true`, `false` or `fails`."""
    try:
        return str(program.evaluate(variables)).lower()
    except cel.EvaluationError:
        return "fails"


def check(text: str, random: Random) -> set[str]:
    """Hold the translation of an expression against the evaluator, both ways; return which outcomes it has examples of.

    Each example that the solver has for an outcome must have it; and of random inputs none may have one that the solver
    says there is none of.
    """
    program = cel.compile(text, ENV)
    world = SymbolicWorld()
    inputs: dict[str, SymbolicInput] = {name: world.input(type_, name) for name, type_ in INPUTS.items()}
    translator = Translator(world, {name: given(one.cases) for name, one in inputs.items()})
    fails, truth = condition_of(world, translator.program(program))
    solver, found = Solver(world, 300_000), set[str]()
    clean = negation(fails)
    questions = {"fails": fails, "true": both(clean, truth), "false": both(clean, negation(truth))}
    for outcome, question in questions.items():
        model = solver.find(question, world.small)
        if isinstance(model, Model):
            variables = {name: one.read(model) for name, one in inputs.items()}
            assert said(program, variables) == outcome, f"{text}\n{variables}"
            found.add(outcome)
    never = {outcome for outcome, question in questions.items() if solver.find(question) is Nothing.NEVER}
    assert len(never) < 3, text
    for _ in range(20):
        variables = data(random)
        assert said(program, variables) not in never, f"{text}\n{variables}"
    return found
