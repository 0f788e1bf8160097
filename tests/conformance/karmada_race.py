"""Two writers at one time, on a real repository: what becomes of the write that comes second.

Karmada's controllers write with an optimistic lock: the second write fails with a conflict and is tried again on what
the first one left. Here another person's commit lands while the branch's head is evaluated.
"""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from muster.data.times import parse_time
from muster.data.tree import mappings_at
from muster.features.reconcile.reconcile import reconcile
from muster.git.repository import open_repository
from tests.conformance.karmada_world import World, found
from tests.conformance.reading import as_yaml
from tests.support.git import new_repository

Json = Any


def race(world: World, case: Mapping[str, Json]) -> Iterator[tuple[Json, Json]]:
    """Yield what differs: the error of the first write, whether it was tried again, and the taints of both writers."""
    write, now = case["given"]["concurrentWrite"], parse_time(case["given"]["now"])
    name = next(body["metadata"]["name"] for body in case["given"]["objects"] if body["kind"] == "Cluster")
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        repo = new_repository(Path(folder) / "fleet")
        repo.commit(world.tree())
        path = next(p for p in repo.paths() if _is_cluster(repo.show(p), name))

        def clock() -> datetime:
            """The instant of an attempt. The first is asked for after the head was read: then the other commits."""
            nonlocal asked
            asked += 1
            if asked == 1:
                body = yaml.safe_load(repo.show(path))
                body["spec"]["taints"] = [*body["spec"].get("taints", ()), write["appendTaint"]]
                repo.commit({path: as_yaml(body)})
            return now

        done = reconcile(open_repository(repo.path, repo.environ), clock, branch="main", attempts=range(4))
        landed = repo.tip() == done.commit
        kept = World(files={path: repo.show(path) for path in repo.paths()}).evaluate(case["given"]["now"])
    error = {"type": "conflict", "retry": landed} if asked > 1 else None
    if case["expect"].get("error") != error:
        yield case["expect"].get("error"), error
    have = {(taint["key"], taint["effect"]) for taint in mappings_at(found(kept, "Cluster", name), "spec", "taints")}
    policies = [body for body in case["given"]["objects"] if body["kind"] == "ClusterTaintPolicy"]
    taints = [write["appendTaint"], *(taint for policy in policies for taint in policy["spec"]["taints"])]
    if have != (both := {(taint["key"], taint["effect"]) for taint in taints}):
        yield both, have


def _is_cluster(text: str, name: str) -> bool:
    return any(body.get("kind") == "Cluster" and body["metadata"]["name"] == name for body in yaml.safe_load_all(text))
