"""`reconcile -o json`, and the observer behind it and `watch -o json`."""

import io
import json
from pathlib import Path

import pytest

from muster.features.reconcile.results import ResultWriter
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, git_environ, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

NOW = ("--now", "2026-01-01T12:00:00Z")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """The example, with a cluster's lease lost."""
    repo = new_repository(tmp_path / "fleet")
    files = {str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    repo.commit(files)
    return repo.path


def test_one_object_tells_what_a_run_did(muster: Run, fleet: Path) -> None:
    later = ("--now", "2026-01-01T12:10:00Z")
    code, planned, _ = muster("plan", "-o", "json", "--repo", fleet, *later)
    code, out, errors = muster("reconcile", "-o", "json", "--repo", fleet, *later)
    assert code == 0, errors
    done = json.loads(out)
    plan = json.loads(planned)
    assert done["now"] == "2026-01-01T12:10:00Z"
    assert len(done["commit"]) == len(done["source"]) == 40
    assert done["commit"][:12] in errors
    assert (done["pushed"], done["waits"]) == (False, None)
    for name in ("summary", "changes", "counts", "held", "findings", "horizon"):
        assert done[name] == plan[name], name
    assert done["counts"]["changes"] == len(done["changes"]) > 0
    assert done["counts"]["files"] == len(plan["files"]) > 0
    assert done["pulses"]["published"] == 0 < done["pulses"]["due"]
    code, out, _ = muster("reconcile", "-o", "json", "--repo", fleet, *later)
    again = json.loads(out)
    assert (code, again["commit"], again["counts"]["files"], again["changes"]) == (0, None, 0, [])
    assert again["horizon"] == done["horizon"]


def test_a_plan_that_has_moved_is_an_object_too(muster: Run, fleet: Path, tmp_path: Path) -> None:
    later = ("--now", "2026-01-01T12:10:00Z")
    plan = tmp_path / "plan.json"
    assert muster("plan", "--out", plan, "--repo", fleet, *later)[0] == 0
    Repo(fleet, git_environ(tmp_path)).commit({"remedies/dns-down.yaml": None})
    code, out, errors = muster("reconcile", "--plan", plan, "-o", "json", "--repo", fleet)
    done = json.loads(out)
    assert (code, done["commit"], done["pushed"]) == (1, None, False)
    assert all(line in errors for line in done["moved"])
    assert "differs between the two: remedies/dns-down.yaml" in done["moved"]


def test_findings_are_part_of_it_and_of_the_exit_code(muster: Run, fleet: Path) -> None:
    (fleet / "broken.yaml").write_text("apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n")
    code, out, _ = muster("plan", "-o", "json", "--worktree", "--repo", fleet, *NOW)
    found = json.loads(out)
    assert code == 1
    assert found["counts"]["errors"] == sum(one["severity"] == "error" for one in found["findings"]) > 0
    assert found["findings"][0]["file"] == "broken.yaml"


def test_a_watch_writes_a_line_for_each_run(fleet: Path, tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null"}
    environ |= {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    with running("watch", "--repo", str(fleet), "-o", "json", "--log-format", "json", environ=environ) as watch:
        wait_until(lambda: any('"counts"' in line for line in watch.lines), lambda: repr(watch.lines))
        entries = [json.loads(line) for line in watch.lines]
        watch.kill()
    (result,) = [entry for entry in entries if "counts" in entry]
    assert result["commit"]
    logged = [entry for entry in entries if "message" in entry]
    assert all(set(entry) == {"time", "message"} for entry in logged)
    assert any(result["commit"][:12] in entry["message"] for entry in logged)


def test_runs_without_a_result_write_nothing() -> None:
    out = io.StringIO()
    writer = ResultWriter(out)
    with writer.running():
        writer.failed(ValueError())
        writer.sleeps(1)
    assert out.getvalue() == ""
