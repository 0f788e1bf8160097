"""Findings in the formats of forges and CI: whatever a finding says, the report is one that their readers take."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from muster.cli.options import report_option
from muster.cli.outcome import finding_text, findings_text, tally
from muster.cli.reports import REPORTS
from muster.data.codes import Code, Severity
from muster.data.finding import Finding, Waiver
from muster.data.kinds import MANAGED_CLUSTER
from tests.cli.test_markdown import HOSTILE, parsed, shape

ERROR = Finding(
    Code.FIELD_SET_TWICE,
    Severity.ERROR,
    "two files set spec.x: a.yaml:3",
    "a b.yaml",
    3,
    5,
    MANAGED_CLUSTER.id("a"),
    "drop one",
)
LOOSE = Finding(Code.REMOVALS_HELD, Severity.WARNING, "a, b stay")
NOTE = Finding(Code.FIELD_SET_TWICE, Severity.NOTE, "50 % [sure] {0}, \\o/", "c.yaml")
#: As OASIS publishes it, in sarif-2.1/schema of oasis-tcs/sarif-spec (Errata 01).
SARIF = Draft4Validator(json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8")))
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_every_report_is_offered(name: str) -> None:
    (option,) = report_option(lambda: None).__click_params__  # type: ignore[attr-defined]
    assert set(option.type.choices) == {"text", *REPORTS}
    assert REPORTS[name]([]).strip() or name == "github"


@settings(max_examples=80)
@given(
    st.lists(
        st.builds(
            Finding,
            st.sampled_from(Code),
            st.sampled_from(Severity),
            texts,
            texts,
            st.integers(0, 9),
            st.integers(0, 9),
            st.none() | st.builds(MANAGED_CLUSTER.id, texts),
            texts,
            st.just(""),
            st.sampled_from(["", "a: <b>\n@you: ```\n"]),
        ),
        max_size=4,
    )
)
def test_whatever_findings_say(findings: list[Finding]) -> None:
    for name in ("json", "sarif", "gitlab"):
        document = json.loads(REPORTS[name](findings))
        if name == "sarif":
            SARIF.validate(document)
    cases = ElementTree.fromstring(REPORTS["junit"](findings).encode()).findall("testsuite/testcase")
    assert len(cases) == (len(findings) or 1)
    lines = REPORTS["github"](findings).splitlines()
    assert len(lines) == len(findings)
    assert all(re.match(r"::(error|warning|notice) [^:]*title=MUS\d{3}::", line) for line in lines)
    for one in findings:
        plain = Finding(
            one.code,
            one.severity,
            "x" * bool(one.message),
            "x" * bool(one.file),
            hint="x" * bool(one.hint),
            example="x\nx\n" * bool(one.example),
        )
        assert shape(parsed(REPORTS["markdown"]([one]))) == shape(parsed(REPORTS["markdown"]([plain])))


def test_an_example_is_in_every_report_that_has_room_for_it() -> None:
    found = Finding(
        Code.EXPRESSION_CAN_FAIL, Severity.WARNING, "it can fail", "a.yaml", 3, example="lease: {}\nnow: noon\n"
    )
    assert "\n    lease: {}\n    now: noon" in finding_text(found)
    for name in REPORTS.keys() - {"gitlab"}:  # which has one line for each
        assert "now: noon" in re.sub(r"&#(\d+);", lambda one: chr(int(one[1])), REPORTS[name]([found])), name


def test_sarif() -> None:
    document = json.loads(REPORTS["sarif"]([ERROR, NOTE, LOOSE]))
    SARIF.validate(document)
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["MUS101", "MUS420"]
    first, second, third = run["results"]
    assert first.pop("partialFingerprints").keys() == {"muster/v1"}
    assert first == {
        "ruleId": "MUS101",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "two files set spec.x: a.yaml:3\ndrop one"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "a%20b.yaml"},
                    "region": {"startLine": 3, "startColumn": 5},
                },
                "logicalLocations": [{"fullyQualifiedName": "ManagedCluster/a"}],
            }
        ],
    }
    assert second["message"]["text"] == "50 % \\[sure\\] {{0}, \\\\o/"
    assert (third["level"], "locations" in third, third["ruleIndex"]) == ("warning", False, 1)


def test_fingerprints_stay_when_lines_move_and_tell_equal_findings_apart() -> None:
    moved = Finding(
        Code.FIELD_SET_TWICE,
        Severity.ERROR,
        "two files set spec.x: a.yaml:8",
        "a b.yaml",
        9,
        5,
        MANAGED_CLUSTER.id("a"),
    )
    prints = [
        [issue["fingerprint"] for issue in json.loads(REPORTS["gitlab"](found))] for found in ([ERROR, ERROR], [moved])
    ]
    assert prints[0][0] == prints[1][0]
    assert prints[0][0] != prints[0][1]


def test_annotations() -> None:
    assert REPORTS["github"]([LOOSE, NOTE, ERROR]) == (
        "::error file=a b.yaml,line=3,col=5,title=MUS101::two files set spec.x: a.yaml:3%0Ahint: drop one\n"
        "::warning title=MUS420::a, b stay\n"
        "::notice file=c.yaml,title=MUS101::50 %25 [sure] {0}, \\o/\n"
    )
    odd = Finding(Code.FIELD_SET_TWICE, Severity.ERROR, "x\n::warning::y", "a,b:c%.yaml")
    assert REPORTS["github"]([odd]) == "::error file=a%2Cb%3Ac%25.yaml,title=MUS101::x\\n::warning::y\n"


def test_code_quality() -> None:
    issues = json.loads(REPORTS["gitlab"]([ERROR, LOOSE]))
    assert [(issue["severity"], issue["location"]) for issue in issues] == [
        ("critical", {"path": "a b.yaml", "lines": {"begin": 3}}),
        ("minor", {"path": "fleet.yaml", "lines": {"begin": 1}}),
    ]
    assert issues[0]["description"] == "MUS101: two files set spec.x: a.yaml:3"


def test_junit_fails_for_errors_alone() -> None:
    root = ElementTree.fromstring(REPORTS["junit"]([ERROR, LOOSE]))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    bad, fine = root.findall("testsuite/testcase")
    assert (bad.get("classname"), bad.get("name"), bad.get("file"), bad.get("line")) == (
        "a b.yaml",
        "MUS101 ManagedCluster/a",
        "a b.yaml",
        "3",
    )
    assert bad.findtext("failure") == "a b.yaml:3:5: error MUS101: two files set spec.x: a.yaml:3\n    hint: drop one"
    assert fine.findtext("system-out") == "warning MUS420: a, b stay"
    (passed,) = ElementTree.fromstring(REPORTS["junit"]([])).iter("testcase")
    assert (passed.get("name"), len(passed)) == ("no findings", 0)


def test_what_is_waived() -> None:
    """Silenced where it is a warning; an error is told with its waiver, and nothing fails for it."""
    waiver = Waiver("w", "MUS420", "", (), "the vendor mends it", "sre", "2026-03-01")
    found = [replace(ERROR, waiver=waiver), replace(LOOSE, waiver=waiver), NOTE]
    (run,) = json.loads(REPORTS["sarif"](found))["runs"]
    told = "waived until 2026-03-01 by sre: the vendor mends it"
    suppressed = [{"kind": "external", "status": "accepted", "justification": told}]
    assert [one.get("suppressions") for one in run["results"]] == [suppressed, suppressed, None]
    assert [one["waiver"] and one["waiver"]["owner"] for one in json.loads(REPORTS["json"](found))] == [
        "sre",
        "sre",
        None,
    ]
    assert REPORTS["github"](found).splitlines()[0] == (
        f"::notice file=a b.yaml,line=3,col=5,title=MUS101::two files set spec.x: a.yaml:3%0Ahint: drop one%0A{told}"
    )
    assert len(REPORTS["github"](found).splitlines()) == 2
    assert [issue["severity"] for issue in json.loads(REPORTS["gitlab"](found))] == ["info"]
    root = ElementTree.fromstring(REPORTS["junit"](found))
    assert (root.get("failures"), root.get("skipped")) == ("0", "2")
    assert [skipped.get("message") for skipped in root.iter("skipped")] == [told, told]
    text = REPORTS["markdown"](found)
    assert ("MUS420" in text, text.count("the vendor mends it"), text.endswith("\n\n1 waived\n")) == (False, 1, True)
    assert (findings_text(found).count("MUS"), tally(found)) == (2, "1 note, 2 waived")
