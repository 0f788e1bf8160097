"""Derives fleet-repo-example/derived anew: `python -m tests.support.example`.

The example has a history of a day, told by evaluating it at each instant at which something changed: yesterday
`retired-ap-1` was still a member and `new-ap-1` not yet one, and leases ran out along the way.
"""

import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import muster
from muster.data.times import parse_time
from muster.features.pulses.publish import next_look
from tests.support.adapter_story import adapter_files, adapter_story, earlier_specs
from tests.support.pool_story import at, story

EXAMPLE = Path(__file__).resolve().parents[2] / "fleet-repo-example"
NOON = parse_time("2026-01-01T12:00:00Z")
RETIRED = Path("clusters/ap/retired-ap-1/cluster.yaml")
NEW = Path("clusters/ap/new-ap-1/cluster.yaml")


def derive(example: Path = EXAMPLE) -> None:
    """Write `derived/` as it is at noon."""
    shutil.rmtree(example / "derived", ignore_errors=True)
    with TemporaryDirectory() as folder:
        past = Path(folder) / "fleet"
        shutil.copytree(example, past)
        denied = (past / RETIRED).read_text(encoding="utf-8")
        accepted = denied.replace("hubAcceptsClient: false", "hubAcceptsClient: true")
        (past / RETIRED).write_text(accepted, encoding="utf-8")
        (past / NEW).unlink()
        _put(past, earlier_specs(example))
        shutil.rmtree(past / "pools")
        for path in adapter_files(past):
            path.unlink()
        _write(past, muster.evaluate(past, NOON - timedelta(days=1)))
        (past / RETIRED).write_text(denied, encoding="utf-8")
        commits = [*((at(clock), files) for clock, files in story()), *adapter_story(example)]
        _until_noon(past, NOON - timedelta(hours=20), commits)
        shutil.copytree(past / "derived", example / "derived")
    while (run := muster.evaluate(example, NOON)).files:
        _write(example, run)


def _until_noon(past: Path, now: datetime, commits: list[tuple[datetime, Mapping[str, str | None]]]) -> None:
    """Evaluate at `now`, at every commit of the stories, and at every horizon before noon but those of pulses, which
    change nothing."""
    while now < NOON:
        for _, files in (commit for commit in commits if commit[0] == now):
            _put(past, files)
        while (run := muster.evaluate(past, now)).files:
            _write(past, run)
        following = [instant for instant, _ in commits if instant > now]
        now = min([*following, next_look(run) or NOON, NOON])


def _write(root: Path, run: muster.Run) -> None:
    _put(root, run.files)


def _put(root: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    derive()
