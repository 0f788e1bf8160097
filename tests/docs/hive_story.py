"""The morning that docs/hive.md tells, played on the example's own pool: what muster commits at each point."""

from datetime import datetime

from muster.cli.columns import rows
from muster.cli.table import table_text
from muster.data.times import format_time
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from muster.run.transitions.transitions import commit_message
from tests.support.pool_story import at, story

FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: example}
spec: {pools: {externalDependencies: [Secret/pools/aws-credentials]}}
"""
NOON = at("12:00")


def played() -> dict[str, str]:
    """Return what muster says, by the time of day: its commit messages, and at noon the pool and the claims."""
    files = {"fleet.yaml": FLEET}
    commits = [(at(clock), changed) for clock, changed in story()]
    told: dict[str, str] = {}
    now = commits[0][0]
    while now < NOON:
        for path, text in (item for instant, changed in commits if instant == now for item in changed.items()):
            _put(files, path, text)
        settled = settle(MemorySnapshot(dict(files)), now)
        if settled.files:
            message = commit_message(settled.last, settled.changes).partition("\n\nMuster-Now")[0]
            told[format_time(now)[11:16]] = message + "\n"
        for path, text in settled.files.items():
            _put(files, path, text)
        following = [instant for instant, _ in commits if instant > now]
        now = min([*following, settled.last.horizon or NOON, NOON])
    told.update(_tables(files, NOON))
    return told


def _put(files: dict[str, str], path: str, text: str | None) -> None:
    if text is None:
        del files[path]
    else:
        files[path] = text


def _tables(files: dict[str, str], now: datetime) -> dict[str, str]:
    run = settle(MemorySnapshot(files), now).last
    tables = {}
    for title, kind in (("the pool at noon", "ClusterPool"), ("the claims at noon", "ClusterClaim")):
        headings, cells = rows(kind, [body for body in run.objects if body["kind"] == kind], now, namespaced=True)
        tables[title] = table_text([heading.text for heading in headings], cells) + "\n"
    return tables
