"""The Secrets that pools need: they stay on the hub, and muster has to be told that they are there.

A pool makes no clusters while a Secret that it names is missing, and muster sees none
(`muster.rules.pools.dependencies`). Those that the hub of an imported pool did not miss are named in a part of the
Fleet of its own.
"""

from collections.abc import Iterable
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_POOL, FLEET
from muster.data.source import Part
from muster.data.tree import mappings_at
from muster.data.yaml.emitter import emit
from muster.fleet.fleet import Fleet
from muster.rules.pools.dependencies import secrets_of
from muster.rules.pools.model import Pool

PATH: Final = "pools/secrets.yaml"
_HEADER: Final = "Secrets on the hub that pools need. muster reads no Secrets, so it is told that they are there."


def needed(fleet: Fleet, parts: Iterable[Part]) -> list[str]:
    """Return the Secrets, as `Secret/namespace/name`, that imported pools name and the Fleet does not."""
    known = fleet.settings.get("pools", "externalDependencies")
    told = set(known) if isinstance(known, list) else set[object]()
    found = {
        f"Secret/{part.id.namespace}/{name}"
        for part in parts
        if CLUSTER_POOL.has(part.id) and not _misses(part)
        for _, name in secrets_of(Pool.of(part.id, part.body, deleting=False))
    }
    return sorted(found - told)


def _misses(part: Part) -> bool:
    """Whether the hub said that something is missing."""
    said = mappings_at(part.body, "status", "conditions")
    return any((c.get("type"), c.get("status")) == ("MissingDependencies", "True") for c in said)


def fleet_part(fleet: Fleet, names: list[str]) -> str | None:
    """Return a file that names Secrets to muster; None where the Fleet has a list, which one file alone can hold."""
    if fleet.settings.get("pools", "externalDependencies"):
        return None
    own = next((id_ for id_ in sorted(fleet.objects) if FLEET.has(id_)), None)
    id_: ObjectId = own or FLEET.id("fleet")
    return emit(FLEET.body({"name": id_.name}, spec={"pools": {"externalDependencies": names}}), header=_HEADER)
