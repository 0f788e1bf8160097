"""Running programs: values, errors with their place, lazy variables, threads."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster import cel
from muster.cel.types import DURATION, DYN, STRING, TIMESTAMP, FieldType, ListType, MapType, NullableType, ObjectType

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = ObjectType(
    "Lease",
    {
        "renewTime": FieldType(TIMESTAMP),
        "grace": FieldType(DURATION),
        "seen": FieldType(ListType(TIMESTAMP)),
        "by": FieldType(MapType(STRING, TIMESTAMP)),
        "gone": FieldType(NullableType(TIMESTAMP)),
    },
)
ENV = cel.Env(variables={"now": TIMESTAMP, "lease": LEASE, "self": DYN})
DATA = {
    "renewTime": "2025-12-31T23:58:00Z",
    "grace": "90s",
    "seen": ["2025-12-31T23:59:00Z", "2025-12-31T23:00:00+01:00"],
    "by": {"a": "2025-12-31T23:59:30.25Z"},
    "gone": None,
}


class Lazy(dict[str, Any]):
    """Variables that are computed on request."""

    def __missing__(self, name: str) -> Any:
        if name == "broken":
            raise cel.EvaluationError("variables.broken: no such key")
        value = self[name] = f"made-{name}"
        return value


class Other(Mapping[str, Any]):
    """A mapping that is not a dict."""

    def __getitem__(self, key: str) -> Any:
        if key == "a":
            return 1
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "expression",
    [
        "now - lease.renewTime > lease.grace",
        "lease.seen.exists(t, now - t <= duration('1m')) && lease.seen[1] < lease.seen[0]",
        "lease.seen.max() == timestamp('2025-12-31T23:59:00Z') && lease.seen.size() == 2",
        "lease.by.a < now && lease.by['a'].getMilliseconds() == 250 && lease.by.all(k, t, t < now)",
        "lease.gone == null && !has(lease.nothing)",
        "lease.grace + duration('30s') == duration('2m') && lease.grace.getSeconds() == 90",
        "timestamp('2025-12-31T22:00:00Z') in lease.seen",
        "lease.seen.map(t, t + lease.grace).size() == 2",
    ],
)
def test_texts_of_times_are_read_where_the_type_says_so(expression: str) -> None:
    env = cel.Env(variables=ENV.variables, checked=False) if "nothing" in expression else ENV
    assert cel.compile(expression, env).evaluate({"now": NOW, "lease": DATA}) is True


def test_a_time_that_is_there_already_passes_through() -> None:
    program = cel.compile("now - lease.renewTime > lease.grace", ENV)
    lease = {"renewTime": NOW - timedelta(minutes=5), "grace": timedelta(minutes=4)}
    assert program.evaluate({"now": NOW, "lease": lease}) is True


@pytest.mark.parametrize(
    ("expression", "lease", "message", "offset"),
    [
        ("now > lease.renewTime", {"renewTime": "soon"}, "lease.renewTime: 'soon' is not a timestamp such as", 12),
        ("now > lease.renewTime", {"renewTime": 5}, "lease.renewTime: 5 is not a timestamp such as", 12),
        ("lease.grace < duration('1s')", {"grace": "1 day"}, "lease.grace: '1 day' is not a duration such as", 6),
        ("now > lease.renewTime", {"renewtime": ""}, "no such key: 'renewTime' in lease; it has renewtime", 12),
        ("now > lease.renewTime", "text", "no such field 'renewTime': lease is a string, not a map", 12),
        ("self.a.b == 1", {}, "undeclared reference to 'self': there is no such variable", 0),
        ("lease.seen[7] < now", {"seen": []}, "index out of bounds: 7 in a list of 0", 10),
    ],
)
def test_errors_say_the_value_and_the_place(expression: str, lease: Any, message: str, offset: int) -> None:
    result = cel.compile(expression, ENV).run({"now": NOW, "lease": lease})
    assert result.error is not None
    assert result.error.message.startswith(message)
    assert result.error.offset == offset
    with pytest.raises(cel.EvaluationError, match="."):
        cel.compile(expression, ENV).evaluate({"now": NOW, "lease": lease})


def test_lazy_variables_are_computed_only_when_needed() -> None:
    lazy = Lazy()
    assert cel.compile("variables.x == 'made-x' || variables.y == ''").evaluate({"variables": lazy}) is True
    assert set(lazy) == {"x"}


def test_the_error_of_a_lazy_variable_is_the_error_of_the_expression() -> None:
    result = cel.compile("variables.broken == 1").run({"variables": Lazy()})
    assert str(result.error) == "variables.broken: no such key"
    assert cel.compile("variables.broken == 1 || true").evaluate({"variables": Lazy()}) is True


def test_any_mapping_is_a_map() -> None:
    assert cel.compile("has(m.a) && !has(m.b) && m.a == 1 && m['a'] == 1 && 'a' in m && m == {'a': 1}").evaluate(
        {"m": Other()}
    )


def test_equal_text_and_environment_give_one_program() -> None:
    again = cel.Env(variables=dict(ENV.variables))
    assert cel.compile("now == now", ENV) is cel.compile("now == now", again)
    assert cel.compile("now == now", ENV) is not cel.compile("now == now")


def test_programs_may_be_shared_by_threads() -> None:
    program = cel.compile("l.map(x, x + n).filter(x, x % 2 == 0).size() > 0 && now - t > duration('5m')")

    def work(number: int) -> tuple[Any, Any]:
        moment = NOW + timedelta(seconds=number)
        result = program.run({"l": [1, 2, 3], "n": number, "now": moment, "t": NOW})
        return result.value, result.horizon

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(0, 600, 7)))
    for number, (value, horizon) in zip(range(0, 600, 7), results, strict=True):
        assert value is (number > 300)
        assert horizon == (None if number > 300 else NOW + timedelta(seconds=301))


def test_values_are_never_changed() -> None:
    data = {"l": [3, 1, 2], "m": {"b": [1], "a": {}}}
    before = repr(data)
    cel.compile(
        "l.sort() != l && l.map(x, x + 1) + l != l && m.transformMap(k, v, k) != m && [m, m].distinct() == [m]"
    ).run(data)
    assert repr(data) == before


def test_what_a_program_reads_and_costs() -> None:
    program = cel.compile("a.b == c && l.all(x, x == d)")
    assert program.reads == {"a", "c", "d", "l"}
    costs = [program.run({"a": {"b": 1}, "c": 1, "d": 1, "l": [1] * count}).cost for count in (0, 1, 10)]
    assert costs[0] == program.cost
    assert costs[2] - costs[0] == 10 * (costs[1] - costs[0])
