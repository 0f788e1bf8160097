"""Debian's Chromium, without a window, over the pages that muster writes (`make servers` installs it)."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

BINARY = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(BINARY is None, reason="chromium is not installed (make servers)")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, for as many pages as one likes."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BINARY, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(folder: Path, *, width: int = 1280, height: int = 800) -> Iterator[Page]:
    """The page that shows the site in a folder, from the disk, in a browser of its own."""
    with chromium() as browser, opened_at(browser, folder.as_uri(), width=width, height=height) as page:
        yield page


@contextmanager
def opened_at(browser: Browser, site: str, *, width: int = 1280, height: int = 800) -> Iterator[Page]:
    """Yield the page that shows a site, by its URL. AssertionError for whatever its console complains of, and for any
    request that is not for a file of the site."""
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": height})
    try:
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: _refuse_elsewhere(wrong, asked.url, site))
        page.goto(f"{site}/index.html")
        yield page
    finally:
        page.close()
    assert not wrong, wrong


def _refuse_elsewhere(wrong: list[str], url: str, site: str) -> None:
    if not url.startswith((f"{site}/", "data:,")):
        wrong.append(f"asked for {url}")
