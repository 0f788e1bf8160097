"""A fault of ours in a real run: the rest is committed, the exit code is 3, and `watch` goes on."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from muster.data.times import format_time
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.forking import muster_command
from tests.support.git import Repo, new_repository
from tests.support.processes import running

#: Imported by every Python that finds it on its path: plants a fault that only the cluster `b` meets.
PLANT = """
import os
if os.environ.get("PLANT"):
    from importlib import import_module
    module = import_module("muster.rules.{module}")
    whole = module.{name}
    def planted(*arguments, **named):
        if {when}:
            raise ValueError("hunter2 https://user:hunter2@host/")
        return whole(*arguments, **named)
    module.{name} = planted
"""


def planting(repo: Repo, module: str, name: str, when: str) -> Repo:
    folder = repo.path.parent / "plant"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(PLANT.format(module=module, name=name, when=when), encoding="utf-8")
    return repo.with_environ(PYTHONPATH=str(folder), PLANT="1", PYTHONDONTWRITEBYTECODE="1")


def muster(repo: Repo, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*muster_command(repo.environ), *arguments, "--repo", str(repo.path)],
        env=dict(repo.environ),
        capture_output=True,
        text=True,
        check=False,
    )


def fleet_of_two(path: Path) -> Repo:
    repo, renewed = new_repository(path), datetime.now(UTC).replace(microsecond=0)
    repo.commit(
        {
            f"clusters/{name}/{file}.yaml": text
            for name in ("a", "b")
            for file, text in (
                ("cluster", cluster(name)),
                ("observed", observed(name)),
                ("lease", lease(name, format_time(renewed))),
            )
        }
    )
    return repo


def test_a_fault_about_one_cluster(tmp_path: Path) -> None:
    repo = fleet_of_two(tmp_path / "fleet")
    faulty = planting(repo, "conditions.stage", "object_conditions", "arguments[1].id.name == 'b'")
    done = muster(faulty, "reconcile")
    assert done.returncode == 3, done.stderr
    assert "MUS490: a fault in muster, not in your fleet, so ManagedCluster/b keeps its last derived" in done.stderr
    assert "ValueError at " in done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert "derived/managedclusters/a.yaml" in repo.paths()
    assert "derived/managedclusters/b.yaml" not in repo.paths()
    mended = muster(repo, "reconcile")
    assert mended.returncode == 0, mended.stderr
    assert "derived/managedclusters/b.yaml" in repo.paths()


def test_a_fault_about_everything_leaves_no_secret_in_its_report(tmp_path: Path) -> None:
    repo = fleet_of_two(tmp_path / "fleet")
    faulty = planting(repo, "pipeline", "run", "True").with_environ(TMPDIR=str(tmp_path), MUSTER_SINK_TOKEN="hunter2")
    done = muster(faulty, "reconcile")
    assert done.returncode == 3
    assert "ValueError" in done.stderr
    report = next(tmp_path.glob("muster-fault-*.txt")).read_text(encoding="utf-8")
    assert "in run" in report
    assert "hunter2" not in report + done.stdout + done.stderr
    assert repo.paths() == [path for path in repo.paths() if not path.startswith("derived/")]


def test_watch_survives_a_fault(tmp_path: Path) -> None:
    repo = fleet_of_two(tmp_path / "fleet")
    mark = tmp_path / "fail"
    mark.touch()
    faulty = planting(repo, "pipeline", "run", f"os.path.exists({str(mark)!r})")
    with running("watch", "--repo", str(repo.path), environ={**faulty.environ, "PYTHONUNBUFFERED": "1"}) as process:
        process.wait_for("a fault in muster, not in your fleet: ValueError at ")
        mark.unlink()
        process.wait_for("a and b available")
    assert not any("hunter2" in line for line in process.lines)
    assert "derived/managedclusters/a.yaml" in repo.paths()
