"""`muster cel`: value, type, trace, horizon and cost; and what is wrong, under a caret."""

import json
from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster, lease
from tests.support.commandline import Run

NOW = ("--now", "2026-01-01T00:01:00Z")


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A cluster and its Lease in one file."""
    path = tmp_path / "objects.yaml"
    path.write_text(cluster("a") + "---\n" + lease("a", "2026-01-01T00:00:00Z"))
    return str(path)


def test_value_trace_horizon_and_cost(file: str, muster: Run) -> None:
    code, out, _ = muster(
        "cel", "now - lease.spec.renewTime >= duration('5m') || !self.spec.hubAcceptsClient", "--object", file, *NOW
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("now - lease.spec.renewTime")
    assert "60s" in out
    assert "false  (bool)" in lines
    assert "holds until 2026-01-01T00:05:00Z" in lines
    assert lines[-1].startswith("cost: ")


def test_what_was_not_evaluated_says_so(file: str, muster: Run) -> None:
    _, out, _ = muster("cel", "self.spec.hubAcceptsClient || self.metadata.name == 'x'", "--object", file)
    assert "not evaluated" in out


def test_json(file: str, muster: Run) -> None:
    code, out, _ = muster("cel", "self.metadata.name + '!'", "--object", file, "-o", "json", *NOW)
    assert code == 0
    answer = json.loads(out)
    assert (answer["value"], answer["type"], answer["error"], answer["horizon"]) == ("a!", "string", None, None)


def test_several_mistakes_each_under_a_caret(file: str, muster: Run) -> None:
    code, _, err = muster("cel", "self.spec.hubAcceptClient && 1 + 'a' == 2", "--object", file)
    assert code == 1
    assert "1:11: error: self.spec has no field 'hubAcceptClient'" in err
    assert "hint: did you mean 'hubAcceptsClient'?" in err
    assert "1:32: error: '+' cannot be applied to (int, string)" in err
    assert err.splitlines()[2].index("^") == 4 + 10


def test_an_error_at_run_time_is_the_answer(muster: Run) -> None:
    code, out, _ = muster("cel", "[1, 2].map(x, x * 9223372036854775807)")
    assert code == 1
    assert "error: integer overflow" in out


def test_an_endless_expression_ends(muster: Run) -> None:
    thousand = "[" + ",".join(["1"] * 1000) + "]"
    code, out, _ = muster("cel", f"{thousand}.all(a, {thousand}.all(b, {thousand}.all(c, a + b + c > 0)))")
    assert code == 1
    assert "units" in out


def test_a_broken_file_is_a_usage_error(tmp_path: Path, muster: Run) -> None:
    (tmp_path / "x.yaml").write_text("a: [")
    code, _, err = muster("cel", "1", "--object", str(tmp_path / "x.yaml"))
    assert code == 2
    assert "x.yaml:1" in err
