"""How long drills take: `python -m benchmarks.drills [--clusters N] [--placements N]`.

A derived fleet in five regions. Each region, each two regions, and some single clusters are lost for an hour, on as
many processes as there are cores. Seconds by the clock, of whole commands, and processor time; a second command finds
all outages in the cache.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import fleets

_DRILL = """\
apiVersion: muster.dev/v1alpha1
kind: Drill
metadata: {{name: {name}}}
spec:
  lose: {{{lose}}}
  never:
  - {{name: short, expression: placement.clusters.size() < 10}}
  - {{name: moves-back, expression: "placement.clusters.exists(c, c.gained && !c.available)"}}
"""


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--placements", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repository, cache = Path(folder) / "fleet.git", Path(folder) / "cache"
        fleets.create(repository, given.clusters, given.placements)
        names = [fleets.name_of(number) for number in range(0, given.clusters, max(1, given.clusters // 50))]
        lose = {"regions": "each: region", "pairs": "pairs: region", "fifty": f"clusters: [{', '.join(names)}]"}
        drills = {f"drills/{name}.yaml": _DRILL.format(name=name, lose=text) for name, text in lose.items()}
        fleets.commit(repository, drills)
        _muster(repository, cache, "reconcile")
        fleets.pack(repository)
        print(f"{'drill':>10}{'seconds':>10}{'processor':>11}")
        for name in (*lose, "regions"):
            wall, processor = _muster(repository, cache, "drill", name, "-o", "json")
            print(f"{name:>10}{wall:>10.1f}{processor:>11.1f}", flush=True)


def _muster(repository: Path, cache: Path, *words: str) -> tuple[float, float]:
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "muster", *words, "--repo", str(repository), "--now", "2026-01-01T12:00:00Z"]
    done = subprocess.run(command, env={**os.environ, "MUSTER_CACHE_DIR": str(cache)}, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, processor


if __name__ == "__main__":
    main()
