"""The CEL cases that the project ships all pass, and the command says so."""

import json
from pathlib import Path

import pytest

from tests.conformance import cel
from tests.conformance.__main__ import main

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = cel.run(CASES)
    assert len(outcomes) > 800
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []


def test_what_is_no_case_fails_by_name_and_stops_no_other(tmp_path: Path) -> None:
    sound = {"file": "f", "section": "s", "name": "n", "expr": "1 + 1", "expect": {"type": "int", "value": "2"}}
    broken = [
        7,
        {},
        {**sound, "expr": None},
        {**sound, "expect": 2},
        {**sound, "expect": {"type": "moon"}},
        {**sound, "phaseOfTheMoon": 1},
        {**sound, "expect": {"type": "int"}},
    ]
    (tmp_path / "cel.json").write_text(json.dumps([*broken, sound]))
    (tmp_path / "cel-not.json").write_text("{")
    assert [outcome.status for outcome in cel.run(tmp_path)] == ["failed"] * (len(broken) + 1) + ["passed"]


def test_a_failure_is_named_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expectation = '"expect": {"type": "int", "value": "3"}'
    case = f'{{"cases": [{{"file": "f", "section": "s", "name": "n", "expr": "1 + 1", {expectation}}}]}}'
    (tmp_path / "cel.json").write_text(case)
    assert main(["cel", "--cases", str(tmp_path)]) == 1
    assert "FAILED f/s/n: 1 + 1\n  expected int 3\n  actual   int 2" in capsys.readouterr().out
