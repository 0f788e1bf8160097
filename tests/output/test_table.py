"""Tables for pipes, and texts that a terminal must not obey."""

from muster.model.finding import Finding, Severity
from muster.output.findings import finding_text, printable, tally
from muster.output.held import held_lines
from muster.output.table import table_text


def test_columns_are_aligned_and_nothing_trails() -> None:
    assert table_text(["NAME", "STATE"], [["a", "True"], ["longer", ""]]) == "NAME     STATE\na        True\nlonger"


def test_names_from_anywhere_cannot_move_the_cursor() -> None:
    assert "\x1b" not in table_text(["NAME"], [["\x1b[2Jgone"]])
    assert printable("ä\x1b[31m\n\u202e\udcff") == "ä\\x1b[31m\\n\\u202e\\udcff"


def finding(severity: Severity) -> Finding:
    return Finding(
        "MUS101", severity, "it is \x07wrong", file="a\n.yaml", line=3, column=5, hint="mend it", excerpt="x: 1\n   ^"
    )


def test_a_finding_is_its_place_what_is_wrong_and_what_to_do() -> None:
    text = finding_text(finding(Severity.ERROR))
    assert text.splitlines() == [
        "a\\n.yaml:3:5: error MUS101: it is \\x07wrong", "    x: 1", "       ^", "    hint: mend it",
    ]  # fmt: skip
    assert tally([]) == "no findings"
    assert tally([finding(Severity.ERROR), finding(Severity.ERROR), finding(Severity.WARNING)]) == "2 errors, 1 warning"


def test_what_is_held_is_said_once_for_each_reason() -> None:
    def held(name: str, reason: str) -> dict[str, str]:
        return {"kind": "Cluster", "namespace": "", "name": name, "effect": "removal", "reason": reason}

    bodies = [{"kind": "Cluster", "metadata": {"name": name}} for name in "ab"]
    told = held_lines([held("a", "full"), held("b", "full"), held("b", "cooling"), held("c", "full")], bodies)
    assert list(told) == ["1 effect is held: cooling", "2 effects are held: full"]
