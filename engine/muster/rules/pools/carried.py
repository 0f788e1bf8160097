"""Why a field is carried from the last run: what was decided of it, and when.

A manifest is decided again in every run (`muster.rules.pools.manifest`), so what says why is made from what it holds:
an instant that it names is the one at which the field became what it is.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Input, Path
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTER_POOL
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.rules.pools.manifest import TO_HIBERNATING, TO_RUNNING
from muster.rules.pools.model import Cluster

_DELETED: Final[Path] = ("metadata", "deletionTimestamp")
_CREATED: Final[Path] = ("metadata", "creationTimestamp")
_POOL_REF: Final[Path] = ("spec", "clusterPoolRef")
_POWER: Final[Path] = ("spec", "powerState")
_BROKEN: Final[Path] = ("status", "conditions", ("Broken",))
_ASSIGNED: Final[Path] = ("spec", "namespace")
#: What a run notes for the next.
NOTED: Final = Because("pools", OF_ITSELF, "what the next run has to know of the cluster")
#: Of a claim that nobody declares any more.
AWAITED: Final = Because(
    "claims", OF_ITSELF, "no file declares the claim any more; it is remembered until its cluster can be let go"
)


def of_cluster(cluster: Cluster, path: Path, value: Tree, conditions: Mapping[str, Tree], asked: datetime) -> Because:
    """Say why a field of a pool's cluster is carried. `conditions` are those of the last run, `asked` is when the
    power state was last changed."""
    key = cluster.pool
    rule = f"pools {key.namespace}/{key.name}" if key is not None else "pools"
    if path == _DELETED:
        return _deleted(rule, cluster, value, conditions)
    if path[-1] in (TO_RUNNING, TO_HIBERNATING) and key is not None:
        return Because(rule, (Input(("spec",), CLUSTER_POOL.id(key.name, key.namespace)),), "what its pool says now")
    if path == _POOL_REF and (claim := dig(value, "claimName")):
        given = dig(value, "claimedTimestamp")
        return Because(rule, (Input((*_POOL_REF, "claimName")),), f"it was given to claim {claim} at {given}")
    if path == _POWER:
        return Because(rule, (Input(_POWER),), f"the power state that was asked for at {format_time(asked)}")
    made = "as it was made: a cluster keeps what its pool asked for then"
    return Because(
        rule, OF_ITSELF, made if key is not None else "as it was decided before: nothing has changed it since"
    )


def _deleted(rule: str, cluster: Cluster, value: Tree, conditions: Mapping[str, Tree]) -> Because:
    text = f"its deletion was asked for at {value}, and that is never taken back"
    if dig(conditions.get("Broken"), "status") == "True":
        return Because(rule, (Input(_BROKEN),), f"{text}; it is broken")
    if cluster.marked:
        return Because(rule, (Input(("metadata", "annotations")),), f"{text}; it is marked for removal from its pool")
    return Because(rule, (Input(_DELETED),), text)


def of_claim(path: Path, value: Tree) -> Because:
    """Say why a field of a claim is carried."""
    if path == _ASSIGNED and isinstance(value, str):
        given = Input(_POOL_REF, CLUSTER_DEPLOYMENT.id(value, value))
        return Because("claims", (given,), "the claim was given this cluster, and keeps it until it ends")
    if path == _DELETED:
        return Because("claims", OF_SPEC, f"the claim ended at {value}, and that is never taken back")
    if path == _CREATED:
        return Because("claims", OF_ITSELF, "when the claim was first seen")
    return Because("claims", OF_SPEC, "as it was decided before: nothing has changed it since")


def of_condition(before: Tree) -> Because:
    """Say why a condition of a claim stands about which a run has nothing new to say."""
    return Because("claims", OF_SPEC, f"it is so since {dig(before, 'lastTransitionTime')}: nothing has changed it")
