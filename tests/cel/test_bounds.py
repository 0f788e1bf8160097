"""No expression and no data hangs the engine, exhausts memory, or ends in a traceback."""

from typing import Any

import pytest

from muster import cel

LIST = list(range(1000))
NESTED: Any = []
for _ in range(50_000):
    NESTED = [NESTED]

BOUNDED: list[tuple[str, dict[str, Any]]] = [
    ("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))", {"l": LIST}),
    ("l.map(a, l.map(b, a * b)).size() > 0 && l.exists(a, l.exists(b, l.exists(c, false)))", {"l": LIST}),
    (
        "cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, d + d)))).size() > 0",
        {"s": "x" * 3_000_000},
    ),
    ("cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, c + c))).size() > 0", {"s": LIST * 1000}),
    ("l.all(a, l.all(b, l.all(c, s.contains('y') || true)))", {"l": LIST, "s": "x" * 100_000}),
    ("l.all(a, l.all(b, s == t))", {"l": LIST, "s": "x" * 1_000_000, "t": "x" * 999_999 + "x"}),
    ("l.all(a, l.all(b, !('y' in s)))", {"l": LIST, "s": ["x"] * 100_000}),
    ("l.all(a, l.all(b, s == t))", {"l": LIST, "s": LIST * 100, "t": LIST * 100}),
    (
        "l.all(a, s.matches('(a+)+$') || true) && l.all(a, l.all(b, s.matches('(a+)+$') || true))",
        {"l": LIST, "s": "a" * 100_000 + "!"},
    ),
    ("s.replace('x', s).size() > 0", {"s": "x" * 100_000}),
    ("lists.range(1000000000).size() > 0", {}),
    ("l.all(a, l.all(b, s.lowerAscii() == ''  || true))", {"l": LIST, "s": "x" * 100_000}),
    ("l.all(y, l.map(x, [x]).distinct().size() > 0)", {"l": LIST * 10}),
    ("l.all(y, l.map(x, duration(string(x) + 's')).distinct().size() > 0)", {"l": LIST}),
    ("sets.contains(l, l) && sets.contains(l + l + l + l + l, l + l + l + l + l)", {"l": LIST}),
    ("l.map(x, s).join(s).size() > 0", {"l": LIST, "s": "x" * 100_000}),
    ("'%.999999999f'.format([1.0]) == ''", {}),
]


@pytest.mark.parametrize(("text", "variables"), BOUNDED, ids=[text[:50] for text, _ in BOUNDED])
def test_an_expensive_evaluation_is_stopped(text: str, variables: dict[str, Any]) -> None:
    result = cel.compile(text).run(variables, budget=1_000_000)
    assert isinstance(result.error, cel.EvaluationError)
    if "format" not in text:
        assert isinstance(result.error, cel.BudgetExceeded)
        assert "the costly part is" in result.error.message
        assert result.cost == 1_000_000


def test_the_costly_part_is_named() -> None:
    result = cel.compile("has(x.y) ||\n  l.exists(a, l.exists(b, a + b < 0))").run({"l": LIST, "x": {}}, budget=10_000)
    assert result.error is not None
    assert result.error.message == "costs more than 10,000 units; the costly part is 'exists' at 2:17"


def test_a_budget_can_be_shared() -> None:
    budget = cel.CostBudget(20_000)
    program = cel.compile("l.all(a, a >= 0)")
    results = [program.run({"l": LIST}, budget=budget) for _ in range(4)]
    assert [result.error is None for result in results] == [True, True, False, False]
    assert budget.left < 5_000


def test_no_logic_absorbs_an_exhausted_budget() -> None:
    for text in (
        "l.all(a, l.all(b, l.all(c, true))) || true",
        "false && l.all(a, true) || l.map(a, l.map(b, l)) == 1 || true",
    ):
        assert isinstance(cel.compile(text).run({"l": LIST}, budget=2_000).error, cel.BudgetExceeded)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 1000 + "]" * 1000, "nested more than"),
        ("1" + " + 1" * 5000, "nested more than"),
        ("'" + "x" * 10_000_000 + "'", "characters"),
        ("'" + "\\a" * 10_000, "never closed"),
        ('"""' + "\\a" * 10_000, "never closed"),
        ("a." * 1000 + "a", "nested more than"),
        ("!" * 2000 + "a", "nested more than"),
        ("a ? b : " * 1000 + "c", "nested more than"),
        ("9" * 50_000, "does not fit"),
        ("'\\ud800'", "not a Unicode character"),
        ("\x00", "unexpected character"),
        ("", "ends too early"),
        ("[" + "1," * 30_000 + "1]", "more than 16,000 names, constants and signs"),
        ("(" * 20_000 + "1" + ")" * 20_000, "names, constants and signs"),
    ],
    ids=range(14),
)
def test_hostile_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(cel.CompileError, match=message):
        cel.compile(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000 + "1" + ")" * 1000 + " == 1",
        " || ".join(["x"] * 2000 + ["true"]),
        " && ".join(["(" + " || ".join(["x"] * 20 + ["true"]) + ")"] * 60),
        "x." + ".".join("abcdefghij" * 9) + " == 1 || true",
        "[" * 90 + "1" + "]" * 90 + " != []",
        "1" + " + 1" * 140 + " == 141",
        "l" + ".map(x, x)" * 100 + ".size() == 1000",
        "l.all(a, " * 30 + "true" + ")" * 30 + " || true",
        "false ? x : " * 50 + "true",
        "(" * 40 + "x || true" + ") && (x || true)" * 40,
    ],
    ids=range(10),
)
def test_deep_expressions_are_evaluated(text: str) -> None:
    variables = {"l": LIST} if ".map(" in text else {"l": [1]}
    assert cel.compile(text).evaluate(variables) is True


@pytest.mark.parametrize(
    "text", ["x == x", "string(x) == ''", "x in [x]", "x.flatten(100000) == x", "'%s'.format([x]) == ''"]
)
def test_deep_data_is_no_crash(text: str) -> None:
    result = cel.compile(text).run({"x": NESTED})
    assert result.value is not None or isinstance(result.error, cel.EvaluationError)


def test_long_texts_and_comments_are_no_signs() -> None:
    for text in (
        "'" + "\\n" * 40_000 + "' == ''",
        "// " + "! " * 40_000 + "\n1 == 1",
        "[" + "'a b c', " * 7_000 + "'a'] == []",
    ):
        assert cel.compile(text).run({}).error is None


def test_messages_never_show_all_variables() -> None:
    result = cel.compile("secret.name == missing.name").run({"secret": {"name": "hunter2", "pad": "x" * 10_000}})
    assert result.error is not None
    assert "hunter2" not in result.error.message
    assert len(result.error.message) < 200
