"""What a commit costs in `muster replay`: that follows what changed in it, and hardly the size of the fleet.

python -m benchmarks.replay [--clusters N,N] [--changed K,K] [--commits N]

In every commit of people, K clusters are given another lease duration, which changes their generation; a run follows
each. Processor time of whole processes: what a replay of the whole history takes more than one of its first quarter,
for each commit between.
"""

import argparse
import ctypes
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks import fleets
from benchmarks.scale import SUBREAPER, Scene, cost_of, muster
from muster.data.times import format_time


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", default="200,2000", help="sizes of fleets  [default: 200,2000]")
    parser.add_argument("--changed", default="1,10", help="clusters changed in a commit  [default: 1,10]")
    parser.add_argument("--commits", type=int, default=40, help="commits of people  [default: 40]")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    first = 0.0
    print(f"{'clusters':>9}{'changed':>9}{'ms a commit':>13}{'ratio':>8}")
    for clusters in map(int, given.clusters.split(",")):
        for changed in map(int, given.changed.split(",")):
            cost = _a_commit(clusters, changed, given.commits)
            first = first or cost
            print(f"{clusters:>9}{changed:>9}{1000 * cost:>13.1f}{cost / first:>8.2f}", flush=True)


def _a_commit(clusters: int, changed: int, commits: int) -> float:
    """Seconds of processor time that one commit takes."""
    with tempfile.TemporaryDirectory() as directory:
        scene = Scene(Path(directory) / "fleet.git", Path(directory) / "cache", clusters)
        fleets.create(scene.repository, clusters)
        tips = [*_history(scene, changed, commits)]
        fleets.pack(scene.repository)
        few = len(tips) // 4
        costs = [_replay(scene, tips[0], tips[number]) for number in (few, -1)]
        return (costs[1] - costs[0]) / (len(tips) - 1 - few)


def _history(scene: Scene, changed: int, commits: int) -> Iterator[str]:
    """A fleet at rest, and one edit and one run after the other. Yields the tip after each run."""
    for number in range(commits + 1):
        if number:
            which = ((number * changed + other) % scene.clusters for other in range(changed))
            longer = f"leaseDurationSeconds: {60 + number}"
            files = {
                f"{fleets.folder_of(n)}/cluster.yaml": fleets.cluster_text(n).replace(
                    "leaseDurationSeconds: 60", longer
                )
                for n in which
            }
            fleets.commit(scene.repository, files)
        now = format_time(fleets.NOON + timedelta(seconds=number))
        scene.run(muster("reconcile", "--repo", str(scene.repository), "--now", now, "--workers", "1"))
        yield (scene.repository / "refs/heads/main").read_text().strip()


def _replay(scene: Scene, start: str, end: str) -> float:
    return cost_of(muster("replay", f"{start}..{end}", "--repo", str(scene.repository), "--exit-code"), scene).cpu


if __name__ == "__main__":
    main()
