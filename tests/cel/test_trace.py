"""A trace shows the value of each part under its place, and the parts that were not evaluated."""

from muster import cel
from muster.cel import ast


def trace(text: str, **variables: object) -> str:
    result = cel.compile(text).run(variables, trace=True)
    return str(result.trace)


def test_values_are_under_their_parts() -> None:
    shown = trace("self.spec.replicas > 2 && self.ready", self={"spec": {"replicas": 1}})
    assert shown.splitlines() == [
        "self.spec.replicas > 2 && self.ready",
        "          |        |   |       |",
        "          |        |   |       not evaluated",
        "          |        |   false",
        "          |        false",
        "          1",
    ]


def test_an_error_is_shown_at_its_origin_and_where_it_passes() -> None:
    lines = trace("x.nope || x.yes", x={"yes": True}).splitlines()
    assert lines[0] == "x.nope || x.yes"
    assert "| error: no such key: 'nope' in x; it has yes" in lines
    assert any(line.endswith("true") for line in lines)


def test_the_deciding_round_of_a_loop_is_shown() -> None:
    lines = trace("l.exists(i, i > 2)", l=[1, 3, 5]).splitlines()
    assert lines[-1] == "a list of 3"
    assert any(line.strip("| ") == "3" for line in lines)
    assert not any(line.strip("| ") == "5" for line in lines)


def test_each_line_of_the_text_has_its_own_values() -> None:
    lines = trace("a &&\n  b", a=True, b=False).splitlines()
    assert lines[0] == "a &&"
    assert lines[lines.index("  b") + 2 :] == ["  false"]


def test_tracing_changes_nothing_else() -> None:
    for text, variables in (("a + 1 == 2", {"a": 1}), ("a.b", {"a": {}}), ("l.map(x, x / 0)", {"l": [1]})):
        program = cel.compile(text)
        plain, traced = program.run(variables), program.run(variables, trace=True)
        assert plain.value == traced.value
        assert str(plain.error) == str(traced.error)
        assert plain.cost == traced.cost or plain.error is not None
        assert plain.trace is None
        assert traced.trace is not None


def test_parts_are_data() -> None:
    result = cel.compile("a || b").run({"a": True}, trace=True)
    assert result.trace is not None
    assert [(part.label, part.state, part.shown) for part in result.trace.parts] == [
        ("a", "value", "true"),
        ("the result", "value", "true"),
        ("b", "skipped", "not evaluated"),
    ]


def test_outcomes_of_every_round_are_kept() -> None:
    program = cel.compile("[1, 2, 3].filter(n, n > 2 || n < 2)")
    trace = program.run({}, trace=True).trace
    assert trace is not None
    gave = {
        (program.text[node.offset], way)
        for node in ast.walk(program.node)
        for id_, way in trace.outcomes
        if node.id == id_
    }
    assert gave == {(">", True), (">", False), ("<", True), ("<", False), ("|", True), ("|", False)}
