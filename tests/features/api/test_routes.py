"""The API of a watch: what the verbs print, as of the last run; ETags, pages and tokens; and its OpenAPI document,
which schemathesis holds the server to."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
import urllib3

from muster.data.times import format_time
from muster.features.api import routes
from muster.features.watch.http import Access, LiveServer, token_of
from muster.features.watch.live import Live, _Seen
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.net.serving.http11 import HttpRequest, Response
from muster.net.serving.server import served
from muster.net.serving.tokens import ReloadedFile
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.examples import often
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, 12, 2, tzinfo=UTC)
TOKEN = "a-token-of-this-test"
SCHEMATHESIS = """\
[parameters]
"path.kind" = "managedclusters"
"path.name" = "prod-eu-1"
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 410, 421, 431]
"""


@dataclass
class Desk:
    """A served fleet."""

    repo: Repo
    url: str

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        given = {
            "Authorization": f"Bearer {TOKEN}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return urllib3.request("GET", f"{self.url}/api/v1/{path}", headers=given, retries=False, timeout=60)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The example fleet, as if a watch had decided it at 12:02."""
    folder = tmp_path_factory.mktemp("api")
    repo = new_repository(folder / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in sorted(EXAMPLE.rglob("*.yaml"))})
    with watched(folder, repo) as found:
        yield found


@contextmanager
def watched(folder: Path, repo: Repo) -> Iterator[Desk]:
    """Serve what a run would have decided."""
    repository = open_repository(repo.path, repo.environ)
    live = Live(repository, "example", None)
    live._last = _Seen(repo.git("rev-parse", "HEAD"), local_agent_refs(repository), NOW)
    token = folder / "token"
    token.write_text(TOKEN)
    server = LiveServer(("127.0.0.1", 0), live, None, Access(ReloadedFile(token, token_of)))
    with served(server, "api"):
        yield Desk(repo, server.url)


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("objects/clusters", ("get", "clusters", "-o", "json")),
        ("objects/managedclusters?selector=env%3Dprod", ("get", "managedclusters", "-l", "env=prod", "-o", "json")),
        ("objects/placements?namespace=shop", ("get", "placements", "-n", "shop", "-o", "json")),
        ("objects/placement/web?namespace=shop", ("get", "placement/shop/web", "-o", "json")),
        ("explain/cluster/prod-ap-2", ("explain", "cluster/prod-ap-2", "-o", "json")),
        ("explain/cluster/prod-ap-2?field=taints", ("explain", "cluster/prod-ap-2", "taints", "-o", "json")),
        ("history/cluster/prod-eu-1?since=90d", ("history", "cluster/prod-eu-1", "--since", "90d", "-o", "json")),
        ("forecast?for=4m", ("forecast", "--for", "4m", "-o", "json")),
        ("plan", ("plan", "-o", "json")),
    ],
)
def test_answers_are_what_the_verbs_print(desk: Desk, muster: Run, path: str, command: tuple[str, ...]) -> None:
    _, out, _ = muster(*command, "--repo", desk.repo.path, "--now", format_time(NOW))
    answer = desk.get(path)
    assert (answer.status, answer.data.decode()) == (200, out)
    assert answer.headers["Muster-Commit"] == desk.repo.git("rev-parse", "HEAD")
    assert answer.headers["Muster-Now"] == format_time(NOW)


def test_etags_pages_and_tokens(desk: Desk) -> None:
    whole = desk.get("objects/managedclusters")
    again = desk.get("objects/managedclusters", If_None_Match=whole.headers["ETag"])
    assert (again.status, again.data) == (304, b"")
    items, path, pages = [], "objects/managedclusters?limit=5", 0
    while path:
        page = desk.get(path).json()
        items += page["items"]
        pages += 1
        more = page["metadata"].get("continue")
        path = f"objects/managedclusters?limit=5&continue={quote(more)}" if more else ""
    assert (items, pages) == (whole.json()["items"], 3)
    assert desk.get(f"objects/managedclusters?continue={'0' * 40}%3A5").status == 410
    assert desk.get("plan", Authorization="Bearer wrong").status == 401
    assert desk.get("plan", Authorization="").status == 401


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("objects/clutsers", 400),
        ("objects/managedclusters/nope", 404),
        ("explain/managedcluster/nope", 404),
        ("explain/managedcluster/prod-eu-1?field=nope", 400),
        ("history/managedcluster/nope", 404),
        ("nothing", 404),
        ("objects/managedclusters?selector=a%3D%3D%3D", 400),
        ("objects/managedclusters?limit=0", 400),
        ("objects/managedclusters?limit=5&limit=6", 400),
        ("objects/managedclusters?x=1", 400),
        ("forecast?for=99999d", 400),
        ("forecast?for=60d", 400),
        ("objects/managedclusters/%ff", 400),
        ("objects/managedclusters/a%2Fb", 400),
        ("objects/all/web", 400),
        ("objects/managedclusters?continue=x", 400),
        ("plan?x", 400),
        ("plan?", 200),
        ("objects/" + "a" * 5000, 400),
        ("objects/..%2f..%2fetc", 400),
    ],
)
def test_what_cannot_be_answered(desk: Desk, path: str, status: int) -> None:
    answer = desk.get(path)
    assert answer.status == status, answer.data
    assert status == 200 or answer.json()["error"]


def test_the_document_is_served_and_kept_to(tmp_path: Path) -> None:
    """schemathesis asks everything that the document allows and much that it forbids, and compares the answers."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"cluster.yaml": cluster("prod-eu-1")})
    with watched(tmp_path, repo) as desk:
        _keeps_to_the_document(desk, tmp_path)


def _keeps_to_the_document(desk: Desk, tmp_path: Path) -> None:
    assert desk.get("openapi.json").data == routes.document()
    (tmp_path / "schemathesis.toml").write_text(SCHEMATHESIS)
    (tmp_path / "openapi.json").write_bytes(routes.document())
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from schemathesis.cli import schemathesis; schemathesis()",
            "run",
            "openapi.json",
            "--url",
            desk.url,
            "--header",
            f"Authorization: Bearer {TOKEN}",
            "--max-examples",
            str(often(2)),
            "--phases",
            "examples,coverage",
            "--checks",
            "all",
            "--seed",
            "1",
            "--no-color",
            "--exclude-checks",
            "positive_data_acceptance,missing_required_header",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_before_the_first_run_it_says_so() -> None:
    api = routes.FleetApi(lambda: None, {})
    assert json.loads(_ask(api, "plan").body)["error"] == "no run has completed yet"


def _ask(api: routes.FleetApi, path: str) -> Response:
    return api.answer(HttpRequest("GET", routes.PREFIX + path, {}))
