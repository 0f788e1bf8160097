"""Checks of ManifestWorkReplicaSets: what the webhook of Open Cluster Management refuses, and rollout strategies.

Source: ocm `pkg/work/webhook/common/validator.go`. The webhook does not look at strategies; muster does.
"""

import json
from collections.abc import Iterator
from typing import Final

from muster.data.finding import Finding
from muster.data.kinds import MANIFEST_WORK_REPLICA_SET, PLACEMENT
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.rules.progress.strategy import ALL, BODIES, Strategy, StrategyError, read_strategy
from muster.rules.works import messages
from muster.rules.works.work import has_progressing_rule, is_valid_owner, owner_label

_MOST_BYTES: Final = 500 * 1024


def refusals(obj: Object) -> Iterator[Finding]:
    """Yield an error for each reason for which the webhook refuses a set."""
    manifests = messages.manifests_of(obj)
    if not manifests:
        hint = "add the objects that every cluster gets"
        yield messages.refused_manifests(obj, (), "Workload manifests should not be empty", hint)
    size = sum(len(json.dumps(manifest, separators=(",", ":"), default=str).encode()) for manifest in manifests)
    if size > _MOST_BYTES:
        message = f"the size of manifests is {size} bytes which exceeds the {_MOST_BYTES} limit"
        yield messages.refused_manifests(obj, (), message, "split the set into several")
    keys: set[tuple[str, ...]] = set()
    for number, manifest in enumerate(manifests):
        yield from _manifest(obj, number, manifest, keys)


def _manifest(obj: Object, number: int, manifest: Tree, keys: set[tuple[str, ...]]) -> Iterator[Finding]:
    at = (number, "metadata")
    metadata = mapping_at(manifest, "metadata")
    if not metadata.get("name"):
        yield messages.refused_manifests(obj, at, "name must be set in manifest", "give each manifest a name")
    if metadata.get("generateName"):
        yield messages.refused_manifests(
            obj, (*at, "generateName"), "generateName must not be set in manifest", "write a name instead"
        )
    parts = (dig(manifest, "apiVersion"), dig(manifest, "kind"), metadata.get("namespace"), metadata.get("name"))
    api_version, kind, namespace, name = key = tuple("" if part is None else str(part) for part in parts)
    if key in keys and name:
        message = f"duplicate manifest for resource {namespace}/{name} with resource type {api_version}.{kind}"
        yield messages.refused_manifests(obj, (number,), message, "remove one of the two")
    keys.add(key)


def strategy_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield findings about valid sets that do not break them: a condition says why they hold their rollout."""
    for obj in fleet.of(MANIFEST_WORK_REPLICA_SET):
        if not is_valid_owner(owner_label(obj.id)):
            yield messages.too_long(obj, owner_label(obj.id))
        staged = False
        for number, ref in enumerate(mappings_at(obj.spec, "placementRefs")):
            try:
                strategy = read_strategy(mapping_at(ref, "rolloutStrategy"))
            except StrategyError as error:
                yield messages.no_such_strategy(obj, number, error)
                continue
            staged = staged or strategy.type != ALL
            body = BODIES[strategy.type]
            if dig(ref, "rolloutStrategy", body, "maxConcurrency") in (0, "0%"):
                yield messages.no_limit(obj, number, body)
            yield from _unknown_groups(fleet, obj, number, str(ref["name"]), strategy)
        if staged and not has_progressing_rule(dig(obj.spec, "manifestWorkTemplate")):
            yield messages.no_progressing_rule(obj)


def _unknown_groups(fleet: Fleet, obj: Object, number: int, name: str, strategy: Strategy) -> Iterator[Finding]:
    """A mandatory group that the Placement does not declare. A declared one that selects nothing is found at run
    time."""
    placement = fleet.objects.get(PLACEMENT.id(name, obj.id.namespace))
    if placement is None or placement.id in fleet.broken:
        return
    declared = messages.declared_groups(placement)
    for position, key in enumerate(strategy.mandatory):
        if key.name and key.name not in declared:
            yield messages.unknown_group(obj, number, (BODIES[strategy.type], position), key.name, declared)
