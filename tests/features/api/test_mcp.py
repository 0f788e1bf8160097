"""`muster mcp`, asked by the package's own client over standard input and output: it says why, and writes nothing."""

import asyncio
import json
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from muster.data.times import format_time
from muster.features.api.mcp import server
from tests.features.api.test_routes import NOW
from tests.support.commandline import Run
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, clone, new_repository
from tests.support.living import lease, observed

ACCEPTED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1}
spec: {hubAcceptsClient: true}
"""
CONDITION = "ManagedClusterConditionAvailable"


def test_an_assistant_asks_why(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in sorted(EXAMPLE.rglob("*.yaml"))})
    muster("reconcile", "--repo", repo.path, "--now", format_time(NOW))
    before = (repo.git("for-each-ref"), repo.git("status", "--porcelain"))
    answers = asyncio.run(_asked(repo))
    names = {tool.name: tool for tool in answers["tools"]}
    assert names.keys() == {"get", "explain", "forecast", "history", "plan", "replay"}
    assert all(tool.annotations.read_only_hint for tool in names.values())
    (explained,) = json.loads(answers["explain"].content[0].text)["fields"]
    assert explained["field"] == f"status.conditions[{CONDITION}]"
    assert explained["rule"]["name"] == "ConditionPolicy/managed-cluster-available#lease-expired"
    assert json.loads(answers["get"].content[0].text)["metadata"]["name"] == "prod-ap-2"
    for wrong, message in (
        ("missing", "there is no"),
        ("kind", "clutsers"),
        ("span", "not a duration"),
        ("ages", "at most 30 days"),
        ("range", "not a range"),
        ("unknown", "nowhere"),
        ("argument", "rev\n  Extra inputs are not permitted"),
    ):
        assert answers[wrong].is_error
        assert message in answers[wrong].content[0].text
    assert json.loads(answers["replay"].content[0].text)["repeated"] == 1
    assert (repo.git("for-each-ref"), repo.git("status", "--porcelain")) == before
    code, out, _ = muster("history", "cluster/prod-eu-1", "--repo", repo.path, "-o", "json", "--now", format_time(NOW))
    assert (code, json.loads(answers["history"].content[0].text)["object"]) == (0, json.loads(out)["object"])


async def _asked(repo: Repo) -> dict[str, Any]:
    arguments = ["-m", "muster", "mcp", "--repo", str(repo.path)]
    process = StdioServerParameters(command=sys.executable, args=arguments, env=dict(repo.environ))
    async with Client(process, read_timeout_seconds=120) as client:
        return {
            "tools": (await client.list_tools()).tools,
            "get": await client.call_tool("get", {"kind": "cluster", "name": "prod-ap-2"}),
            "explain": await client.call_tool("explain", {"kind": "cluster", "name": "prod-ap-2", "field": CONDITION}),
            "history": await client.call_tool("history", {"kind": "cluster", "name": "prod-eu-1"}),
            "missing": await client.call_tool("explain", {"kind": "cluster", "name": "nope"}),
            "kind": await client.call_tool("get", {"kind": "clutsers"}),
            "argument": await client.call_tool("get", {"kind": "clusters", "rev": "HEAD~1"}),
            "span": await client.call_tool("forecast", {"span": "soon"}),
            "ages": await client.call_tool("forecast", {"span": "99999999d"}),
            "replay": await client.call_tool("replay", {"commits": "HEAD~1..HEAD"}),
            "range": await client.call_tool("replay", {"commits": "HEAD"}),
            "unknown": await client.call_tool("replay", {"commits": "nowhere..HEAD"}),
        }


def test_it_answers_with_what_agents_say_now_and_until_when_they_were_heard(tmp_path: Path) -> None:
    """A clone that nobody fetches into would soon say that the whole fleet is silent."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/c1.yaml": ACCEPTED})
    hub = clone(repo, tmp_path / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(hub.path))
    for at in (NOON, NOON + timedelta(minutes=20)):
        files = {"lease.yaml": lease("c1", at), "observed.yaml": observed("c1")}
        hub.commit_to("refs/heads/agents/c1", files, date=format_time(at))
        said = asyncio.run(_said(server(repo.path, None, partial(at.__add__, timedelta(seconds=30)))))
        assert f'"type": "{CONDITION}",\n        "status": "True"' in said[0]
        assert said[1] == f"agents heard until {format_time(at)} (30s ago)"


async def _said(of: MCPServer) -> list[str]:
    async with Client(of) as client:
        return [getattr(block, "text", "") for block in (await client.call_tool("get", {"name": "c1"})).content]
