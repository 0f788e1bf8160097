"""Derives fleet-repo-example/derived anew: `python -m tests.support.example`.

The example has a history of a day, told by evaluating it at each instant at which something changed: yesterday
`retired-ap-1` was still a member and `new-ap-1` not yet one, and leases ran out along the way.
"""

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import muster
from muster.model.times import parse_time

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
        _write(past, muster.evaluate(past, NOON - timedelta(days=1)))
        (past / RETIRED).write_text(denied, encoding="utf-8")
        _until_noon(past, NOON - timedelta(hours=20))
        shutil.copytree(past / "derived", example / "derived")
    while (run := muster.evaluate(example, NOON)).files:
        _write(example, run)


def _until_noon(past: Path, now: datetime) -> None:
    """Evaluate at `now` and at every horizon after it that lies before noon."""
    while now < NOON:
        run = muster.evaluate(past, now)
        _write(past, run)
        now = run.horizon or NOON


def _write(root: Path, run: muster.Run) -> None:
    for name, text in run.files.items():
        path = root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    derive()
