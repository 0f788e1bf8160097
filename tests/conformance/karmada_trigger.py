"""Karmada's queue: which clusters an event wakes, and what of that can be seen where every run looks at every cluster.

An event of a Remedy wakes exactly the clusters that it changes if the Remedy acted at once and did one thing before the
event and another after it: so it is made to, and the clusters whose actions changed are what `reconcile` says.

For the event of a cluster upstream wakes that cluster or none, and lets a Remedy wait; here none waits (a decided
difference: no cluster stands otherwise than a fresh evaluation says). So what the case says is held to upstream's rule
for it, and muster to its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import muster
from muster.data.tree import dig
from tests.conformance.karmada_world import World, cluster, key_of

Json = Any


def trigger(world: World, given: Mapping[str, Json], expected: list[str]) -> Iterator[tuple[Json, Json]]:
    """Yield what differs between the clusters that a case says are woken, and those that are."""
    event, now = given["event"], given["now"]
    after, before = event["object"], event.get("oldObject")
    if event["type"] == "Delete":
        after, before = None, before or event["object"]
    if event["object"]["kind"] == "Remedy":
        yield from _differs(sorted(expected), _changed(world, now, before, after))
        return
    yield from _differs(sorted(expected), _woken(before, after))
    for body in (before, after):
        if body is None:
            world.drop(event["object"])
        else:
            world.put(body)
        stands = _actions(world.evaluate(now))
    yield from _differs(_actions(World(inputs=dict(world.inputs)).evaluate(now)), stands)


def _changed(world: World, now: str, before: Json, after: Json) -> list[str]:
    """The clusters whose actions an event of a Remedy changes."""
    for name in sorted({name for body in (before, after) for name in _named(body) or ()}):
        if ("Cluster", "", name) not in world.inputs:
            world.put(cluster(name))
    stood: list[dict[str, Json]] = []
    for body, action in ((before, "Before"), (after, "After")):
        if body is None:
            world.drop(before or after)
        else:
            spec = {key: value for key, value in (body.get("spec") or {}).items() if key != "decisionMatches"}
            world.put({**body, "spec": {**spec, "actions": [action]}})
        stood.append(_actions(world.evaluate(now)))
    return sorted(name for name in stood[1] if stood[0].get(name, []) != stood[1][name])


def _named(body: Json) -> Json:
    return dig(body, "spec", "clusterAffinity", "clusterNames")


def _woken(before: Json, after: Json) -> list[str]:
    """Upstream's rule: an update of conditions, or of the set of actions."""
    if before is None or after is None:
        return []
    conditions = dig(before, "status", "conditions") != dig(after, "status", "conditions")
    sets = [set(dig(body, "status", "remedyActions") or ()) for body in (before, after)]
    return [key_of(after)[2]] if conditions or sets[0] != sets[1] else []


def _actions(run: muster.Run) -> dict[str, Json]:
    clusters = (body for body in run.objects if body["kind"] == "Cluster")
    return {body["metadata"]["name"]: dig(body, "status", "remedyActions") or [] for body in clusters}


def _differs(expected: Json, actual: Json) -> Iterator[tuple[Json, Json]]:
    if expected != actual:
        yield expected, actual
