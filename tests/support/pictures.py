"""The pictures in `docs/images`: of the page of the example fleet, ten minutes after its noon, with a past. `python -m
tests.support.pictures` takes them anew; look at them before you commit them."""

import tempfile
from pathlib import Path

from muster.__main__ import run
from tests.support.browser import opened
from tests.support.past import example_with_past

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {"overview": "", "clusters": "clusters", "cluster": "cluster/prod-eu-1", "placement": "placement/shop/web"}


def main() -> None:
    """Take them."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "site"
        repo = example_with_past(Path(directory))
        assert (
            run(["site", str(folder), "--repo", str(repo.path), "--now", "2026-01-01T12:10:00Z", "--forecast", "1h"])
            == 0
        )
        with opened(folder) as page:
            for name, path in PICTURES.items():
                page.set_viewport_size({"width": 1200, "height": 1000 if name == "overview" else 760})
                page.evaluate("path => { location.hash = `#/${path}`; }", path)
                page.wait_for_timeout(500)
                page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
