"""The pictures in `docs/images`: of the page of the example fleet, soon after its noon, with a past. `python -m
tests.support.pictures` takes them anew; look at them before you commit them. With a folder as argument, all pages are
written there, at 1280 and 390 pixels, light and dark."""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Page

from muster.commandline import run
from muster.data.times import format_time
from tests.support.browser import opened
from tests.support.example import NOON
from tests.support.git import Repo
from tests.support.past import example_with_past

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {
    "overview": "",
    "clusters": "clusters",
    "cluster": "cluster/prod-eu-1",
    "placement": "placement/shop/web",
    "rollout": "rollout/shop/web",
}
ALL = PICTURES | {
    "map": "clusters?view=map",
    "placements": "placements",
    "rollouts": "rollouts",
    "pools": "pools",
    "remedies": "remedies",
    "adapters": "adapters",
    "findings": "findings",
    "drills": "drills",
}
ROLLOUT = """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  placementRef: {name: web}
  revision: v2.4.1
  stages:
  - {name: canary, selector: {matchLabels: {region: eu}}, maxConcurrency: 1}
  - {name: rest, approval: true}
"""


def main() -> None:
    """Take them."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "site"
        repo = example_with_past(Path(directory))
        repo.commit({"placements/rollout.yaml": ROLLOUT})
        _beat(repo)
        now = "2026-01-01T12:03:00Z"
        assert run(["site", str(folder), "--repo", str(repo.path), "--now", now, "--forecast", "1h"]) == 0
        with opened(folder) as page:
            if len(sys.argv) > 1:
                for width in (1280, 390):
                    for scheme in ("light", "dark"):
                        page.emulate_media(color_scheme=scheme)
                        for name, path in ALL.items():
                            _take(page, path, Path(sys.argv[1]) / f"{name}-{width}-{scheme}.png", width, whole=True)
                return
            for name, path in PICTURES.items():
                _take(page, path, IMAGES / f"{name}.png", 1200, height=1000 if name == "overview" else 760)


def _beat(repo: Repo) -> None:
    """The heartbeats of a day, with a pause while the agent was away."""
    path = "clusters/eu/prod-eu-1/lease.yaml"
    lease = (repo.path / path).read_text()
    for number in range(24 * 6):
        at = NOON - timedelta(minutes=10 * (24 * 6 - number))
        if not NOON - timedelta(hours=8) < at < NOON - timedelta(hours=6, minutes=30):
            dated = Repo(repo.path, {**repo.environ, "GIT_COMMITTER_DATE": format_time(at)})
            dated.commit({path: f"{lease}# {number}\n"})
    repo.commit({path: lease})


def _take(page: Page, path: str, file: Path, width: int, *, height: int = 800, whole: bool = False) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("path => { location.hash = `#/${path}`; }", path)
    page.wait_for_timeout(500)
    page.screenshot(path=file, full_page=whole)


if __name__ == "__main__":
    main()
