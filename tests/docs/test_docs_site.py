"""The documentation as pages of a forge and as a site: every link and anchor leads somewhere in both, every page is in
the navigation, and search finds."""

import posixpath
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from playwright.sync_api import expect, sync_playwright

from tests.support.browser import BINARY, needs_chromium
from tests.support.docs_site import ROOT, anchors, build, links, pages, path_of
from tests.support.patience import PATIENCE_SECONDS

PAGES = pages()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("docs"))


def test_links_lead_somewhere_on_a_forge() -> None:
    for page, text in PAGES.items():
        for link in links(text):
            path, anchor = path_of(page, link), link.partition("#")[2]
            assert (ROOT / path).exists(), f"{page}: {link}"
            assert not anchor or anchor in anchors(PAGES[path]), f"{page}: {link}"
    assert sum(1 for text in PAGES.values() for _ in links(text)) > 150


class Read(HTMLParser):
    """A page's ids, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.leads = set[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                self.leads.add(value)


def test_links_lead_somewhere_on_the_site(site: Path) -> None:
    """Whatever made it: its own navigation, styles and scripts, too. No page needs another host."""
    read = {path: Read(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(read) > len(PAGES)
    for path, page in read.items():
        for lead in page.leads:
            parts = urlsplit(lead)
            if parts.scheme or parts.netloc:
                continue
            target = Path(posixpath.normpath(path.parent / unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.relative_to(site)}: {lead}"
            assert not parts.fragment or target not in read or unquote(parts.fragment) in read[target].ids | {""}, lead


def test_the_site_shows_no_literal_fence(site: Path) -> None:
    assert [path.relative_to(site) for path in site.rglob("*.html") if "```" in path.read_text(encoding="utf-8")] == []


def test_blocks_name_their_file_or_their_command(site: Path) -> None:
    rollouts = (site / "docs/rollouts.html").read_text(encoding="utf-8")
    assert '<span class="filename">09:00 muster reconcile</span>' in rollouts
    assert '<span class="filename">placements/web.yaml</span>' in (site / "docs/first-fleet.html").read_text()


def test_codes_in_tables_show_bars_and_break_between_words(site: Path) -> None:
    assert "== 1) || true</code>" in unescape((site / "docs/cel.html").read_text(encoding="utf-8"))
    assert "<code>muster_<wbr>build_<wbr>info</code>" in (site / "docs/monitoring.html").read_text(encoding="utf-8")


def test_the_navigation_has_every_page() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text().replace("!!python/object/apply:", "#"))
    named: list[str] = []

    def walk(entry: object) -> None:
        if isinstance(entry, str):
            named.append(entry)
        elif isinstance(entry, dict):
            for inner in entry.values():
                walk(inner)
        elif isinstance(entry, list):
            for inner in entry:
                walk(inner)

    walk(settings["nav"])
    single = {page for page in PAGES if page.startswith("docs/kinds/") and not page.endswith("README.md")}
    elsewhere = {"fleet-repo-example/README.md", "README.md", "docs/index.md"}
    assert sorted(named) == sorted((PAGES.keys() - single - elsewhere) | {"index.md"})


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@needs_chromium
def test_search_finds_and_nothing_is_asked_of_another_host(served: str) -> None:
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BINARY, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.on("request", lambda request: asked.append(request.url))
            page.goto(f"{served}/docs/quick-start.html")
            page.keyboard.press("/")
            box = page.get_by_role("textbox", name="Search").or_(page.get_by_role("combobox", name="Search"))
            box.fill("large fleets")  # what is typed before it has opened is typed into nothing
            expect(page.get_by_role("option", name="Large fleets").first).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
        finally:
            browser.close()
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []
