"""`muster mcp`, asked by the package's own client over standard input and output: it says why, and writes nothing."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from muster.data.times import format_time
from tests.features.api.test_routes import NOW
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

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
            "span": await client.call_tool("forecast", {"span": "soon"}),
            "ages": await client.call_tool("forecast", {"span": "99999999d"}),
            "replay": await client.call_tool("replay", {"commits": "HEAD~1..HEAD"}),
            "range": await client.call_tool("replay", {"commits": "HEAD"}),
            "unknown": await client.call_tool("replay", {"commits": "nowhere..HEAD"}),
        }
