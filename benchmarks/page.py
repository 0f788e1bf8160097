"""What a browser takes for the page of a large fleet: until the table of clusters stands, and to filter it.

python -m benchmarks.page [--clusters N]

In Chromium on this machine, from the disk. Milliseconds, the median of some; and beside it the seconds that `muster
site` takes, with how much it writes.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.browser import opened

from benchmarks import fleets
from benchmarks.scale import Scene, muster
from muster.data.times import format_time

_OPEN = """() => new Promise((done) => {
  const look = () => document.querySelector('tbody tr:not(.space)')
    ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 5);
  look();
})"""
_FILTER = """(text) => new Promise((done) => {
  const filter = document.getElementById('filter'), began = performance.now();
  filter.value = text;
  filter.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""
_FILTERS = ("u", "un", "status:unknown", "c00", "-c00 status:true", "region:", "")


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=10_000, help="size of the fleet  [default: 10000]")
    clusters = parser.parse_args().clusters
    with tempfile.TemporaryDirectory() as directory:
        scene = Scene(Path(directory) / "fleet.git", Path(directory) / "cache", clusters)
        fleets.create(scene.repository, clusters)
        folder = Path(directory) / "site"
        now = format_time(fleets.NOON)
        scene.run(muster("reconcile", "--repo", str(scene.repository), "--now", now))
        began = time.perf_counter()
        subprocess.run(
            muster("site", str(folder), "--repo", str(scene.repository), "--now", now),
            env=scene.environment,
            check=True,
            capture_output=True,
        )
        wrote = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"muster site: {time.perf_counter() - began:.1f} s, {wrote / 1e6:.1f} MB")
        first, filtered = [], []
        for _ in range(5):
            with opened(folder) as page:
                page.goto(f"{folder.as_uri()}/index.html?again#/clusters")
                first.append(page.evaluate(_OPEN))
                filtered += [page.evaluate(_FILTER, text) for text in _FILTERS]
    print(f"first table {statistics.median(first):.0f} ms (at most {max(first):.0f})")
    print(f"filtering {statistics.median(filtered):.0f} ms (at most {max(filtered):.0f})")


if __name__ == "__main__":
    main()
