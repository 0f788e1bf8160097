"""The fields decided in a pass, by object; a later decision about a field replaces an earlier one.

Manifests are decided again in every run (`muster.rules.pools.manifest`), so the reasons for carried fields are made
from their content: a time in it is when the field got its value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Final

from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Input, Path, Wake
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_POOL, kind_of
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.merge import leaf_at
from muster.fleet.view import View
from muster.rules.pools.manifest import TO_HIBERNATING, TO_RUNNING
from muster.rules.pools.model import Cluster
from muster.rules.stages import ObjectTerm

_DELETED: Final[Path] = ("metadata", "deletionTimestamp")
_CREATED: Final[Path] = ("metadata", "creationTimestamp")
_POOL_REF: Final[Path] = ("spec", "clusterPoolRef")
_POWER: Final[Path] = ("spec", "powerState")
_BROKEN: Final[Path] = ("status", "conditions", ("Broken",))
_ASSIGNED: Final[Path] = ("spec", "namespace")
#: Bookkeeping for the next run.
NOTED: Final = Because("pools", OF_ITSELF, "what the next run has to know of the cluster")
#: About a claim that is no longer declared.
AWAITED: Final = Because(
    "claims", OF_ITSELF, "no file declares the claim any more; it is kept until its cluster can be released"
)


def of_cluster(
    cluster: Cluster, path: Path, value: Tree, conditions: Mapping[str, Tree], requested: datetime
) -> Because:
    """Why a field of a pool's cluster is carried over. `conditions`: those of the last run; `requested`: when the power
    state last changed."""
    key = cluster.pool
    rule = f"ClusterPool/{key.namespace}/{key.name}" if key is not None else "pools"
    if path == _DELETED:
        return _deleted(rule, cluster, value, conditions)
    if path[-1] in (TO_RUNNING, TO_HIBERNATING) and key is not None:
        return Because(rule, (Input(("spec",), CLUSTER_POOL.id(key.name, key.namespace)),), "its pool's setting")
    if path == _POOL_REF and (claim := dig(value, "claimName")):
        claimed_at = dig(value, "claimedTimestamp")
        return Because(rule, (Input((*_POOL_REF, "claimName")),), f"it was given to claim {claim} at {claimed_at}")
    if path == _POWER:
        return Because(rule, (Input(_POWER),), f"the power state that was asked for at {format_time(requested)}")
    text = "as created: a cluster keeps the template of that time"
    return Because(rule, OF_ITSELF, text if key is not None else "as decided before: nothing has changed it since")


def _deleted(rule: str, cluster: Cluster, value: Tree, conditions: Mapping[str, Tree]) -> Because:
    text = f"its deletion was asked for at {value}, and that is never taken back"
    if dig(conditions.get("Broken"), "status") == "True":
        return Because(rule, (Input(_BROKEN),), f"{text}; it is broken")
    if cluster.marked:
        return Because(rule, (Input(("metadata", "annotations")),), f"{text}; it is marked for removal from its pool")
    return Because(rule, (Input(_DELETED),), text)


def of_claim(path: Path, value: Tree) -> Because:
    """Why a field of a claim is carried over."""
    if path == _ASSIGNED and isinstance(value, str):
        assignment = Input(_POOL_REF, CLUSTER_DEPLOYMENT.id(value, value))
        return Because("claims", (assignment,), "the claim was given this cluster, and keeps it until it ends")
    if path == _DELETED:
        return Because("claims", OF_SPEC, f"the claim ended at {value}, and that is never taken back")
    if path == _CREATED:
        return Because("claims", OF_ITSELF, "when the claim was first seen")
    return Because("claims", OF_SPEC, "as decided before: nothing has changed it since")


def of_condition(before: Tree) -> Because:
    """Why a claim's condition is unchanged."""
    return Because("claims", OF_SPEC, f"it is so since {dig(before, 'lastTransitionTime')}: nothing has changed it")


_NEXT_PASS = Because("pools", OF_ITSELF, "another pass may go on from here")
_KINDS = frozenset((CLUSTER_CLAIM.name, CLUSTER_DEPLOYMENT.name))


@dataclass(frozen=True, slots=True)
class ClusterStatement(ObjectTerm):
    """The statements of a ClusterDeployment and of policies about it, for its pool. `wakes`: when time alone would
    change a field, unless the pool does."""

    decisions: tuple[Decision, ...]
    wakes: Mapping[Path, Wake]


@dataclass(slots=True)
class Ledger:
    """The decisions of a pass so far."""

    entries: dict[ObjectId, dict[Path, Decision]] = field(default_factory=dict)
    wakes: dict[ObjectId, dict[Path, Wake]] = field(default_factory=dict)

    def set(self, id_: ObjectId, path: Path, value: Tree, because: Because, horizon: datetime | None = None) -> None:
        """Decide a field; None: it is absent."""
        self.add(Decision(id_, path, value, because, horizon))

    def set_all(self, id_: ObjectId, fields: Mapping[Path, Tree], because: Because) -> None:
        """Decide several fields of an object for one reason."""
        for path, value in fields.items():
            self.set(id_, path, value, because)

    def add(self, decision: Decision) -> None:
        """Add a decision as it is."""
        self.wakes.get(decision.object, {}).pop(decision.path, None)
        self.entries.setdefault(decision.object, {})[decision.path] = decision

    def stated(self, id_: ObjectId) -> ClusterStatement:
        """Return the decisions about an object so far, for another ledger."""
        return ClusterStatement(id_, tuple(self.entries.get(id_, {}).values()), self.wakes.get(id_, {}))

    def take(self, stated: ClusterStatement) -> None:
        """Start from the statements about an object."""
        for decision in stated.decisions:
            self.add(decision)
        self.wakes[stated.object] = dict(stated.wakes)

    def wake(self, id_: ObjectId, path: Path, because: Because, horizon: datetime | None) -> None:
        """Evaluate the object again when time alone would change a field, unless that is decided otherwise."""
        if horizon is not None:
            self.wakes.setdefault(id_, {})[path] = Wake(id_, because, horizon)

    def value(self, id_: ObjectId, path: Path) -> Tree:
        """The value decided for a field so far, or None."""
        decision = self.entries.get(id_, {}).get(path)
        return None if decision is None else decision.value

    def forget(self, id_: ObjectId) -> None:
        """Drop all decisions about an object."""
        self.entries.pop(id_, None)
        self.wakes.pop(id_, None)

    def outcomes(self, view: View, now: datetime) -> Iterator[Decision | Wake]:
        """Yield every decision, by object and path, and every wake.

        If a decision changes the last run's result, or part of that is not decided again, another pass at the same
        instant may continue: then one wake is `now`.
        """
        changed = self._drops(view)
        for id_, by_path in sorted(self.entries.items()):
            before, list_keys = view.previous.get(id_), kind_of(id_).list_keys
            for decision in by_path.values():
                changed = changed or _differs(before, decision, list_keys)
                yield decision
        if changed and self.entries:
            yield Wake(min(self.entries), _NEXT_PASS, now)
        for wakes in self.wakes.values():
            yield from wakes.values()

    def _drops(self, view: View) -> bool:
        """Is something that the last run derived for a cluster or claim not decided again?"""
        for id_, before in view.previous.items():
            if id_.kind not in _KINDS or id_ in view.broken:
                continue
            decided = {*self.entries.get(id_, ()), *view.decisions(id_)}
            paths: list[Path] = [("spec", name) for name in mapping_at(before, "spec")]
            paths += [("status", "conditions", (type_,)) for type_ in view.conditions_before(id_)]
            if not decided.issuperset(paths):
                return True
        return False


def _differs(before: Tree, decision: Decision, list_keys: Mapping[str, tuple[str, ...]]) -> bool:
    present, value = leaf_at(before, decision.path, list_keys) if before is not None else (False, None)
    if not present or decision.value is None:
        return present or decision.value is not None
    if isinstance(decision.path[-1], tuple) and isinstance(value, dict):
        fields = list_keys[".".join(step for step in decision.path if isinstance(step, str))]
        value = {name: part for name, part in value.items() if name not in fields}
        return bool(value != {name: part for name, part in decision.value.items() if name not in fields})
    return bool(value != decision.value)
