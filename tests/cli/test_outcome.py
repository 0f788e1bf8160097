"""Findings as text, and how many there are."""

import json

import pytest

from muster.cli.outcome import finding_text, findings_text, log_writer, tally
from muster.data.codes import Code, Severity
from muster.data.finding import Finding


def finding(severity: Severity) -> Finding:
    return Finding(
        Code.FIELD_SET_TWICE,
        severity,
        "it is \x07wrong",
        file="a\n.yaml",
        line=3,
        column=5,
        hint="mend it",
        excerpt="x: 1\n   ^",
    )


def test_a_finding_is_its_place_what_is_wrong_and_what_to_do() -> None:
    text = finding_text(finding(Severity.ERROR))
    assert text.splitlines() == [
        "a\\n.yaml:3:5: error MUS101: it is \\x07wrong",
        "    x: 1",
        "       ^",
        "    hint: mend it",
    ]
    assert tally([]) == "no findings"
    assert tally([finding(Severity.ERROR), finding(Severity.ERROR), finding(Severity.WARNING)]) == "2 errors, 1 warning"


def test_of_a_copied_folder_the_first_finding_is_printed_and_how_many_follow_from_it() -> None:
    def of(file: str, code: Code = Code.FIELD_SET_TWICE) -> Finding:
        return Finding(code, Severity.ERROR, f"in {file}", file=file, line=1)

    files = ("a/b/cluster.yaml", "a/b/lease.yaml", "a/b/r/dns.yaml", "a/b/r/x.yaml", "a/c/cluster.yaml", "top.yaml")
    text = findings_text([*map(of, files), of("a/b/more.yaml", Code.NOT_YAML)])
    assert [line.partition(": ")[0] for line in text.splitlines()] == [
        "a/b/cluster.yaml:1",
        "    and 3 more in a/b/, whose files set what others set",
        "a/c/cluster.yaml:1",
        "top.yaml:1",
        "a/b/more.yaml:1",
    ]
    few = [of("a/x.yaml"), of("a/y.yaml"), of("b/x.yaml"), *(of(f"agents/{name}:lease.yaml") for name in "abcdef")]
    assert len(findings_text(few).splitlines()) == len(few)


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("2026-01-01T12:00:00Z pushed", {"time": "2026-01-01T12:00:00Z", "message": "pushed"}),
        ("an agent says \x1b[2J", {"message": "an agent says \x1b[2J"}),
    ],
)
def test_a_log_line_in_json_has_a_time(capsys: pytest.CaptureFixture[str], line: str, entry: dict[str, str]) -> None:
    log_writer("json")(line)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    found = json.loads(said)
    assert found == {"time": found["time"], **entry}
    log_writer("text")("plain", err=True)
    assert capsys.readouterr().err == "plain\n"


def test_a_huge_text_of_a_file_is_not_printed_whole() -> None:
    finding = Finding(
        Code.UNKNOWN_FIELD, Severity.ERROR, f"unknown field {'x' * 1_000_000}", "a.yaml", 1, 1, hint="y" * 9_000
    )
    assert len(finding_text(finding)) < 5_000
    assert finding.message.startswith("unknown field xxx")
    assert finding.message.endswith("x…")
