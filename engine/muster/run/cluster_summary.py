"""The summary of a cluster: what is known of it, as `describe` and the page show it.

`muster get`, metrics and notifications show a part, `ClusterState`, which is read in the same way. `explain` says more
of the same decisions. So nothing is said of a cluster in two ways.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import LEASE, MANAGED_CLUSTER, kind_of
from muster.data.source import SourceFile
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.clusters import ClusterState
from muster.fleet.leases import counting_lease, leased_cluster, own_lease_seconds, renew_time, stated_seconds
from muster.fleet.objects import by_type
from muster.rules.remedies.grounds import ORIGINS
from muster.rules.taints.keys import TAINT_RECORDS
from muster.run.run import Run


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """A condition, and the decision behind it: None if it is only reported."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class TaintSummary:
    """A taint: the decision behind it and the policy, or the file of a person."""

    key: str
    value: str
    effect: str
    since: str
    decision: Decision | None
    policy: str
    file: SourceFile | None

    def __str__(self) -> str:
        """Return `key=value:effect`."""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class LeaseSummary:
    """A Lease in a cluster's place: `seconds` between renewals, and whether it `counts` as the cluster's heartbeat."""

    id: ObjectId
    renewed: str
    seconds: int | None
    counts: bool


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """What is known of a cluster.

    `body` is the whole object. `expires`: when its headline condition changes without another heartbeat. `leases`: the
    one that counts comes first.
    """

    id: ObjectId
    body: Tree
    state: ClusterState
    version: str
    expires: datetime | None
    leases: tuple[LeaseSummary, ...]
    taints: tuple[TaintSummary, ...]
    remedies: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, run: Run, id_: ObjectId) -> "ClusterSummary":
        """Return the summary of a cluster after a run."""
        body, kind = run.fleet.whole(id_) or {}, kind_of(id_)
        headline = run.fleet.decisions(id_).get(("status", "conditions", (kind.headline,)))
        return cls(
            id_,
            body,
            cluster_state(id_, body),
            version_of(body),
            None if headline is None else headline.horizon,
            tuple(sorted(_leases(run, id_), key=lambda lease: (not lease.counts, lease.id))),
            tuple(_taints(run, id_, body)),
            tuple((str(row.get("action")), str(row.get("remedy"))) for row in mappings_at(body, *map(str, ORIGINS))),
        )

    @property
    def lease(self) -> LeaseSummary | None:
        """The Lease that counts; None if there is none."""
        return next((lease for lease in self.leases if lease.counts), None)


def cluster_state(id_: ObjectId, body: Tree) -> ClusterState:
    """Return how a whole cluster is."""
    return ClusterState.of(kind_of(id_), by_type(mappings_at(body, "status", "conditions")))


def version_of(body: Tree) -> str:
    """The version of Kubernetes that a cluster reports; empty if it reports none."""
    return str(dig(body, "status", "version", "kubernetes") or dig(body, "status", "kubernetesVersion") or "")


def conditions_of(run: Run, id_: ObjectId, body: Tree) -> Iterator[ConditionSummary]:
    """Yield the conditions of a whole object, in its order."""
    decided = run.fleet.decisions(id_)
    for condition in mappings_at(body, "status", "conditions"):
        type_ = str(condition.get("type"))
        status, reason, message, since = (
            str(condition.get(name) or "") for name in ("status", "reason", "message", "lastTransitionTime")
        )
        yield ConditionSummary(type_, status, reason, message, since, decided.get(("status", "conditions", (type_,))))


def _leases(run: Run, id_: ObjectId) -> Iterator[LeaseSummary]:
    """The Leases for a cluster or in the namespace of its name, such as a detector's."""
    counts, cluster = counting_lease(run.fleet, id_.name), run.fleet.objects.get(id_)
    ids = {obj.id for obj in run.fleet.of(LEASE) if id_.name in (leased_cluster(obj), obj.id.namespace)}
    for lease in ids | {counts}:
        if (body := run.fleet.whole(lease)) is not None:
            leased = own_lease_seconds(cluster) if cluster is not None and cluster.kind is MANAGED_CLUSTER else None
            seconds = stated_seconds(body) or (leased if lease == counts else None)
            yield LeaseSummary(lease, renew_time(body) or "", seconds, lease == counts)


def _taints(run: Run, id_: ObjectId, body: Tree) -> Iterator[TaintSummary]:
    obj = run.fleet.objects.get(id_)
    declared = {
        (taint.get("key"), taint.get("effect")): part.source
        for part in (() if obj is None else obj.parts)
        for taint in mappings_at(part.body, "spec", "taints")
    }
    records = reversed(mappings_at(body, *map(str, TAINT_RECORDS)))  # of several policies the first decides
    policies = {(record.get("key"), record.get("effect")): str(record["policy"]) for record in records}
    rules = dict(_taint_rules(run.fleet.decisions(id_)))
    for taint in mappings_at(body, "spec", "taints"):
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        file = declared.get((key, effect))
        yield TaintSummary(
            key,
            str(taint.get("value") or ""),
            effect,
            str(taint.get("timeAdded") or ""),
            None if file else rules.get((key, effect)),
            "" if file else policies.get((key, effect), ""),
            file,
        )


def _taint_rules(decisions: Mapping[Path, Decision]) -> Iterator[tuple[tuple[str, ...], Decision]]:
    for path, decision in decisions.items():
        if path[:2] == ("spec", "taints") and isinstance(path[-1], tuple):
            yield path[-1][:2], decision
