"""The fleet as a page, in a real browser, from the disk: every page is opened, filtered and followed."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from muster.commandline import run
from muster.features.history.history import FleetHistory
from muster.features.page.pages import FleetSite
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.features.page.test_pages import HOSTILE, ROLLOUT
from tests.features.pulses.test_walkthrough import cluster
from tests.features.watch.test_live import NOW as WATCHED_AT
from tests.features.watch.test_live import serving
from tests.support.browser import chromium, needs_chromium, opened_at
from tests.support.example import NOON
from tests.support.living import lease
from tests.support.past import example_with_past

pytestmark = [needs_chromium, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
PAGES = (
    "",
    "clusters",
    "cluster/prod-eu-1",
    "clusters?view=map&by=env",
    "rollout/shop/web",
    "rollouts",
    "placements",
    "placement/shop/web",
    "pools",
    "remedies",
    "adapters",
    "findings",
    "drills",
    "tried",
)
WIDE = ["Name", "Status", "Since", "Reason", "Region", "Set", "Version"]
DERIVED = "derived/managedclusters/prod-eu-1.yaml"
MARKUP = "<img src=x onerror=alert(1)> is unknown"

#: Two rows of a setting that was tried on the past.
ROWS = [
    {"value": None, "found": 3, "falseAlarms": 1, "moves": 2, "held": 0, "earlierSeconds": None},
    {"value": 2, "found": 8, "falseAlarms": 6, "moves": 5, "held": 1, "earlierSeconds": 180},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = example_with_past(tmp_path_factory.mktemp("example"))
    repo.commit({"clusters/hostile.yaml": HOSTILE, "placements/rollout.yaml": ROLLOUT, "drills/clusters.yaml": None})
    drill = (repo.path / "drills/regions.yaml").read_text()
    forbidden = f"  - {{name: hostile, expression: \"placement.name == 'web' || placement.name == '{MARKUP}'\"}}\n"
    repo.commit({"drills/regions.yaml": drill.replace("  never:\n", f"  never:\n{forbidden}").replace("1h", "5m")})
    told = (repo.path / DERIVED).read_bytes()
    available = b'type: ManagedClusterConditionAvailable\n    status: "True"'
    assert available in told
    repo.commit_run(
        {DERIVED: told.replace(available, available.replace(b"True", b"Unknown"))}, MARKUP, now="2026-01-01T11:50:00Z"
    )
    repo.commit_run({DERIVED: told}, "Told", now="2026-01-01T12:00:00Z")
    folder = tmp_path_factory.mktemp("site") / "fleet"
    tried = tmp_path_factory.mktemp("tried") / "grace.json"
    tried.write_text(json.dumps({"set": f"fleet.spec.{MARKUP}", "rows": ROWS}))
    shown = ("--forecast", "1h", "--replay", str(tried))
    assert run(["site", str(folder), "--repo", str(repo.path), "--now", "2026-01-01T12:10:00Z", *shown]) == 0
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    with opened_at(browser, folder.as_uri()) as page:
        yield page


def test_every_page_can_be_opened_and_is_accessible(page: Page) -> None:
    _look_at(page, PAGES)
    page.emulate_media(color_scheme="dark")
    _look_at(page, PAGES[:4], "color-contrast")


def _look_at(page: Page, paths: Sequence[str], *rules: str) -> None:
    """Open pages, and have them looked at by axe: by all of its rules, or by some."""
    only = {"runOnly": list(rules)} if rules else {}
    for path in paths:
        page.evaluate("path => { location.hash = `#/${path}`; }", path)
        expect(page.locator("main h2")).not_to_be_empty()
        expect(page.locator("main")).not_to_contain_text("Reading")
        found = Axe().run(page, options={"preload": False, **only})
        assert found.violations_count == 0, (path, found.generate_report())


def test_a_setting_that_was_tried_on_the_past(page: Page) -> None:
    page.get_by_role("link", name="Tried settings").click()
    expect(page.locator("h3 code")).to_have_text(f"fleet.spec.{MARKUP}")
    expect(page.get_by_role("img", name="8 outages, 6 of them false alarms")).to_be_visible()
    expect(page.locator("tbody tr").nth(0)).to_contain_text("as it was")
    expect(page.locator("tbody tr").nth(1)).to_contain_text("3 min")


def test_drills_show_which_cells_are_broken(page: Page) -> None:
    page.get_by_role("link", name="Drills", exact=True).click()
    region = page.get_by_role("region", name="Drill regions")
    broken = region.get_by_role("row", name=re.compile("^region=us")).locator("td.broken")
    expect(broken).to_contain_text("✗ hostile from")
    expect(page.locator("main")).to_contain_text(MARKUP)
    assert page.locator("main img").count() == 0
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Drill regions").click()
    region.get_by_role("link", name="shop/web").click()
    expect(page.locator("h2")).to_have_text("shop/web")


def test_clusters_are_filtered_sorted_and_followed(page: Page) -> None:
    page.get_by_role("link", name="Clusters", exact=True).click()
    rows = page.locator("tbody tr:not(.space)")
    page.keyboard.press("/")
    page.keyboard.type("status:unknown region:eu -stage")
    expect(page.locator("#count")).to_have_text("4 of 18 clusters")
    assert "q=status" in page.url, "what is filtered can be linked to"
    page.reload()
    expect(rows).to_have_count(4)
    for _ in range(2):
        page.get_by_role("button", name="Name").click()
    expect(rows.first).to_contain_text("prod-eu-3")
    assert "sort=-Name" in page.url
    page.locator("#filter").fill("eu")
    page.keyboard.press("Escape")
    page.locator('[id="state=True"]').check()
    expect(page.locator('[id="state=Unknown"]')).to_be_visible()
    expect(page.locator("#count")).to_have_text("1 of 18 clusters")
    page.get_by_role("link", name="Show all").click()
    expect(rows.first).to_contain_text("Unknown")
    page.get_by_label("Narrow by a label").select_option("env")
    page.get_by_role("group", name="env").get_by_label("edge").check()
    page.reload()
    expect(page.locator("#count")).to_have_text("2 of 18 clusters")
    page.get_by_text("Columns").click()
    page.get_by_label("Since").uncheck()
    expect(page.get_by_role("columnheader", name="Since")).to_have_count(0)
    page.get_by_role("button", name="Map").click()
    expect(page.get_by_role("img", name="eu: 1 unknown")).to_be_visible()
    page.get_by_role("img", name="eu: 1 unknown").hover(position={"x": 6, "y": 6})
    expect(page.locator("#tip")).to_contain_text("edge-eu-1")
    page.get_by_role("img", name="eu: 1 unknown").click(position={"x": 6, "y": 6})
    expect(page.locator("h2")).to_have_text("edge-eu-1")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("the next row")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_visible()
    for key in "jjkj":
        page.keyboard.press(key)
    expect(rows.nth(1).get_by_role("link")).to_be_focused()
    page.keyboard.press("k")
    page.locator("#filter").fill("prod-eu-3")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h2")).to_have_text("prod-eu-3")
    expect(page.locator("main")).to_contain_text("lease.spec.renewTime <= now - variables.grace")
    expect(page.locator("main")).to_contain_text("ConditionPolicy/managed-cluster-available#lease-expired")
    expect(page.locator("main")).to_contain_text("clusters/eu/prod-eu-3/cluster.yaml")


def test_the_overview_leads_to_what_it_counts(page: Page) -> None:
    expect(page.get_by_role("row", name=re.compile(r"^default \d+ disrupted, 6 allowed"))).to_be_visible()
    page.get_by_role("link", name=re.compile("unknown$")).click()
    expect(page.get_by_role("checkbox", name="Unknown")).to_be_checked()
    page.go_back()
    page.get_by_text(re.compile("^in 1m: .*ci-5 broken")).click()
    expect(page.get_by_text("ClusterDeployment/ci-5/ci-5: bucket resuming -> broken")).to_be_visible()
    expect(page.locator(".todo")).to_contain_text("1 cluster waits to be let in: joining-ap-1")
    expect(page.locator(".stages [aria-current]")).to_contain_text("canary")
    page.get_by_role("link", name="shop/web", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("^prod-"))).not_to_have_count(0)
    page.go_back()
    page.get_by_role("link", name="eu", exact=True).click()
    expect(page.get_by_role("checkbox", name="eu")).to_be_checked()
    expect(page.locator("#count")).to_have_text("7 of 18 clusters")


def test_the_overview_shows_when_regions_and_sets_were_less_available(page: Page) -> None:
    eu = page.get_by_role("row", name=re.compile("^eu "))
    chart = eu.get_by_role("img")
    expect(page.get_by_role("row", name=re.compile("^edge ")).get_by_role("img").first).to_have_accessible_name(
        "edge, last 24 hours: 50 % throughout"
    )
    expect(chart).to_have_accessible_name(
        re.compile(r"^eu, last 24 hours: .* lowest 0 % \(0 of 6, 6 unknown\) at 04:00 for 1h25m")
    )
    expect(page.locator("#over .switch button")).to_have_text(["24h", "7d", "30d", re.compile("^all, 40d")])
    page.get_by_role("button", name="30d").click()
    expect(page.get_by_role("button", name="30d")).to_be_focused()
    page.reload()
    expect(chart).to_have_accessible_name(re.compile(r"^eu, last 30 days: .* at 01-01 04:00 for 1h25m"))
    expect(page.get_by_role("table", name="").filter(has=eu).get_by_role("row")).to_have_count(4)
    chart.hover()
    expect(page.locator("#tip")).to_contain_text("eu")
    page.mouse.move(0, 0)
    expect(page.locator("#tip")).to_have_count(0)
    page.get_by_text(re.compile("The latest .* changes of availability")).click()
    told = page.get_by_role("row", name=re.compile("^2026-01-01T11:50:00Z"))
    expect(told).to_contain_text(f"{MARKUP} ")
    expect(told).to_contain_text("region eu: 4 → 3 of 6")
    assert page.locator("main img").count() == 0


def test_what_is_widest_fits(browser: Browser, folder: Path) -> None:
    for width in (390, 1200):
        with opened_at(browser, folder.as_uri(), width=width) as page:
            expect(page.locator(".chart").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") == width
            if width == 390:
                _look_at(page, ("", "cluster/prod-eu-1", "drills"))
                assert page.evaluate("document.documentElement.scrollWidth") == width
            page.get_by_role("link", name="Clusters", exact=True).click()
            rows = page.locator(".rows")
            assert rows.evaluate("box => box.scrollWidth <= box.clientWidth")
            expect(rows.get_by_role("columnheader")).to_have_text(WIDE if width == 1200 else WIDE[:3])
            page.locator("#filter").fill("held:taint")
            expect(page.locator("#count")).not_to_have_text(re.compile("^(0|18) of"))


def test_a_placement_names_those_it_did_not_choose_and_why(page: Page) -> None:
    page.get_by_role("link", name="Placements").click()
    page.get_by_role("link", name="shop/web").click()
    expect(page.locator("main")).to_contain_text("its taint fleet.example.com/unhealthy:NoSelect")
    titles = page.locator("table").last.locator("th")
    assert titles.all_text_contents() == ["cluster", "why not"], "a column without anything in it is not shown"


def test_hostile_names_are_text(page: Page) -> None:
    page.evaluate("location.hash = '#/cluster/hostile'")
    expect(page.locator("main")).to_contain_text("onerror=alert(1)")
    assert page.locator("main img, main script").count() == 0


def test_a_thousand_clusters_scroll_with_few_rows_in_the_document(browser: Browser, tmp_path: Path) -> None:
    texts = {
        f"clusters/{number}.yaml": "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: c{number:04}, labels: {{region: r{number % 7}}}}}\nspec: {{hubAcceptsClient: true}}\n"
        for number in range(1000)
    }
    many = settle(MemorySnapshot(texts), NOON).last
    site = FleetSite(many, "many", None, FleetHistory)
    for path in site.paths():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(site.read(path))
    with opened_at(browser, tmp_path.as_uri()) as page:
        page.evaluate("location.hash = '#/clusters'")
        rows = page.locator("tbody tr:not(.space)")
        expect(page.locator("#count")).to_have_text("1000 of 1000 clusters")
        assert rows.count() < 60
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert rows.count() == 1000
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert rows.count() < 60
        page.locator(".rows").focus()
        page.keyboard.press("End")
        expect(rows.last).to_contain_text("c0999")
        page.locator("#filter").fill("region:r3 c07")
        expect(page.locator("#count")).to_have_text(re.compile(r"^14 of"))
        rows.first.get_by_role("link").click()
        expect(page.locator("h2")).to_have_text(re.compile("^c07"))


def test_a_page_that_is_served_follows_the_fleet_where_its_reader_is(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.watcher.look()
        with opened_at(browser, it.server.url) as page:
            expect(page.locator("#live")).to_have_text("live")
            page.get_by_role("link", name="Clusters", exact=True).click()
            name = page.locator("th", has_text=re.compile("^Name$"))
            name.get_by_role("button").click()
            expect(name).to_have_attribute("aria-sort", "ascending")
            page.locator("#filter").fill("-zzz")
            expect(page.locator("#count")).to_have_text("1 of 1 clusters")
            it.repo.commit({"clusters/b.yaml": cluster("b")})
            it.watcher.look()
            expect(page.locator("#count")).to_have_text("2 of 2 clusters")
            expect(page.locator("#filter")).to_be_focused()
            expect(page.locator("#filter")).to_have_value("-zzz")
            expect(name).to_have_attribute("aria-sort", "ascending")
            page.get_by_role("link", name="b", exact=True).click()
            expect(page.locator("main")).to_contain_text("clusters/b.yaml")
            it.repo.commit({"clusters/b.yaml": cluster("b").replace("b}", "b, labels: {region: mars}}")})
            it.watcher.look()
            expect(page.locator("main")).to_contain_text("mars", timeout=10_000)
            expect(page.locator("#date")).to_contain_text(it.repo.git("rev-parse", "--short=12", "main"))


def test_a_page_that_is_served_asks_the_api_what_comes_next(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as it:
        it.repo.commit({"clusters/b.yaml": cluster("b"), "clusters/b-lease.yaml": lease("b", WATCHED_AT)})
        it.watcher.look()
        with opened_at(browser, it.server.url) as page:
            page.get_by_role("button", name="Look 8 hours ahead").click()
            moments = page.get_by_role("heading", name="What happens next").locator("..").locator("details")
            expect(moments.first).to_contain_text("Unknown")
            moments.first.locator("summary").click()
            expect(moments.first).to_contain_text("ManagedCluster/b")
