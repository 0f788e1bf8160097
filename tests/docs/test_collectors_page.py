"""docs/collectors.md: its lines run against a relay, and the fleet has what they report."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import yaml

from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run, muster
from tests.support.git import clone, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

__all__ = ["muster"]  # a fixture
PAGE = (Path(__file__).parents[2] / "docs" / "collectors.md").read_text(encoding="utf-8")
LINES = [block for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) if block.startswith("curl")]
(FLEET,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
NOW = "2026-01-01T00:01:00Z"


def test_the_lines(tmp_path: Path, muster: Run) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": FLEET, "clusters/edge-1.yaml": cluster("edge-1")})
    person.git("push", "--quiet", "origin", "main")
    assert muster("reconcile", "--repo", str(hub.path), "--now", "2026-01-01T00:00:30Z")[0] == 0
    repo, tokens = new_repository(tmp_path / "relay.git", bare=True), tmp_path / "tokens"
    tokens.write_text(f"alertmanager {hashlib.sha256(b'secret').hexdigest()} edge-*,lab-1\n")
    options = next(line for line in PAGE.splitlines() if line.startswith("muster relay")).split("--name")[1].split()
    options[options.index("--listen") + 1], options[options.index("--tokens") + 1] = "127.0.0.1:0", str(tokens)
    with running(
        "relay",
        "--repo",
        str(repo.path),
        "--remote",
        str(hub.path),
        "--every",
        "0.2",
        "--name",
        *options,
        environ={**hub.environ, "PYTHONUNBUFFERED": "1"},
    ) as relay:
        relay.wait_for("listening on")
        url = next(match[0] for line in relay.lines if (match := re.search(r"http://\S+", line)))
        environ = {**hub.environ, "RELAY": url, "TOKEN": "secret"}
        for block in LINES:
            done = subprocess.run(["bash", "-ec", block], env=environ, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert 'ignored": []' in done.stdout

        def listed() -> str:
            return hub.git("grep", "-l", "-e", "type: APIServerReachable", "relays/edge", check=False)

        wait_until(lambda: bool(listed()), lambda: str(relay.lines))
    code, out, err = muster("get", "managedcluster/edge-1", "--repo", str(hub.path), "-o", "json", "--now", NOW)
    assert code == 0, err
    body = json.loads(out)
    found = {one["type"]: one["status"] for one in body["status"]["conditions"]}
    assert found["APIServerReachable"] == "False"
    assert "example.com/GatewayReady" not in found  # it was withdrawn
    report = hub.git("show", next(path for path in _paths(hub.git("ls-tree", "-r", "--name-only", "relays/edge"))))
    assert yaml.safe_load(report)["spec"]["adapter"] == "dns"


def _paths(listing: str) -> list[str]:
    return [f"relays/edge:{path}" for path in listing.split() if "/reports/" in path]
