"""Leases: which one is a cluster's.

A cluster's Lease has the label `open-cluster-management.io/cluster-name`, or is named `managed-cluster-lease` in the
namespace with the cluster's name (seed 000; upstream uses the label alone). Karmada's agents renew one named after the
cluster in the namespace `karmada-cluster`.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, CONDITION_POLICY, KARMADA_CLUSTER, LEASE, Kind, kind_of
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.view import View

CLUSTER_NAME = "open-cluster-management.io/cluster-name"
KARMADA_NAMESPACE = "karmada-cluster"
LEASE_NAME = "managed-cluster-lease"
#: The lease duration that muster decides, if it is longer than the cluster's own.
LEASE_SECONDS = ("status", "muster", "leaseDurationSeconds")
#: The cluster's own duration, if it is not the default, for its agent to read.
DURATION = "muster.dev/lease-duration-seconds"
#: Since when the lease is shorter, while its agent may not know that yet.
SHORTENED = "muster.dev/lease-shortened"
#: How long an agent may still read the old duration after a run: committing and pushing takes time.
LEARNING = timedelta(seconds=60)
#: The hub waits for this many durations, unless its policy overrides it (seed 000: 5 minutes by default).
GRACE_FACTOR = 5
#: The policy and its parameter.
_AVAILABILITY, _FACTOR = "managed-cluster-available", "graceFactor"
DEFAULT_SECONDS = 60
#: The longest lease, for the hub and its agents: a cluster heard of less often is not watched.
LONGEST_SECONDS = 24 * 3600
#: The last renewal before its lease was made longer.
RENEWAL = ("status", "muster", "renewal")
#: The last change in the reports of an agent without a Lease.
SIGHT = ("status", "muster", "sight")
#: The last sign of life before a cluster fell silent.
SILENT_AFTER = ("status", "muster", "silentAfter")
_MOST_DIGITS = 8


def _is_positive(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and text[0] != "0"


def lease_id(cluster: str) -> ObjectId:
    """Return the id under which muster derives a cluster's Lease."""
    return LEASE.id(LEASE_NAME, cluster)


def leased_cluster(lease: Object) -> str:
    """Return the name of the Lease's cluster; empty if it has none."""
    label = lease.labels.get(CLUSTER_NAME)
    labelled = label if isinstance(label, str) else ""  # in a broken object it may have any type
    if lease.id.name == LEASE_NAME:
        return labelled or lease.id.namespace
    return labelled or (lease.id.name if lease.id.namespace == KARMADA_NAMESPACE else "")


def leases_by_cluster(view: View) -> Mapping[str, Tree]:
    """Return each cluster's Lease from the inputs, by the cluster's name.

    One with the standard name wins over one found by its label alone.
    """
    return view.once(_bodies_by_cluster)


def _bodies_by_cluster(view: View) -> Mapping[str, Tree]:
    return {cluster: obj.body for cluster, obj in view.once(_leases_by_cluster).items()}


def _leases_by_cluster(view: View) -> Mapping[str, Object]:
    leases: dict[str, Object] = {}
    for obj in view.of(LEASE):
        cluster = leased_cluster(obj)
        if obj.id.name == LEASE_NAME:
            leases[cluster] = obj
        elif cluster:
            leases.setdefault(cluster, obj)
    return leases


def counting_lease(view: View, cluster: str) -> ObjectId:
    """Return the id of the Lease that counts as a cluster's heartbeat: that of `effective_leases`, else the one that
    muster would derive."""
    lease = view.once(_leases_by_cluster).get(cluster)
    return lease_id(cluster) if lease is None else lease.id


def effective_leases(view: View) -> Mapping[str, Tree]:
    """Return each cluster's Lease: the agent's own, else the one derived in this run."""
    derived = {
        id_.namespace: {"spec": {path[1]: d.value for path, d in decisions.items() if path[0] == "spec"}}
        for id_, decisions in view.decided.items()
        if LEASE.has(id_) and id_.name == LEASE_NAME
    }
    return {**derived, **leases_by_cluster(view)}


def renew_time(lease: Tree) -> str | None:
    """The time of the last renewal as written, or None."""
    value = dig(lease, "spec", "renewTime")
    return value if isinstance(value, str) else None


def stated_seconds(lease: Tree) -> int | None:
    """The duration by which its agent renews a Lease, as written there; None if it is missing or invalid."""
    value = dig(lease, "spec", "leaseDurationSeconds")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def is_later(sign: str | None, last: str) -> bool:
    """Is a sign of life newer than the last known one?"""
    instant, before = try_time(sign), try_time(last)
    return instant is not None and (before is None or instant > before)


def grace_factor(fleet: Fleet) -> int:
    """How many lease durations a ManagedCluster may be silent, by the policy in force."""
    policies = (obj for obj in fleet.policies(CONDITION_POLICY) if obj.id.name == _AVAILABILITY)
    factor = next((dig(obj.spec, "params", _FACTOR) for obj in policies), None)
    return factor if isinstance(factor, int) and not isinstance(factor, bool) and factor > 0 else GRACE_FACTOR


@dataclass(frozen=True, slots=True)
class Shortened:
    """A Lease lasted `seconds` until `since` and is shorter now. Its agent learns this at the renewal due by the old
    duration, so it is not silent before. `factor`: how many durations it may be silent."""

    seconds: int
    since: datetime
    factor: int

    def __str__(self) -> str:
        return f"{self.seconds}s until {format_time(self.since)}"

    @classmethod
    def parse(cls, text: Tree, factor: int) -> "Shortened | None":
        """Parse the result of `str`; None for anything else."""
        parts = text.split("s until ") if isinstance(text, str) else []
        since = try_time(parts[1]) if len(parts) == 2 else None
        if since is None or not _is_positive(parts[0]):
            return None
        return cls(min(int(parts[0]), LONGEST_SECONDS), since, factor)

    def known_to(self, lease: Tree) -> bool:
        """Was the Lease renewed by an agent that must know the new duration?"""
        renewed = try_time(renew_time(lease))
        return renewed is not None and renewed >= self.since + LEARNING

    def allowed(self, seconds: int) -> int:
        """How long a Lease renewed before lasts if it lasts `seconds` now: until the old renewal was due, plus its
        grace."""
        return seconds + -(-self.seconds // self.factor)

    def lasts(self, seconds: int, lease: Tree, renewal: "Renewal | None") -> int:
        """How long this Lease lasts if it lasts `seconds` now. A duration that its agent never learned does not count:
        the Lease says what its agent knew, and so does the last `renewal` before it became longer."""
        learned = replace(self, seconds=self.learned(lease, renewal))
        return seconds if self.known_to(lease) or not learned.matters(seconds) else learned.allowed(seconds)

    def learned(self, lease: Tree, renewal: "Renewal | None") -> int:
        """The longest duration by which the Lease's agent may renew it."""
        learned = min(self.seconds, stated_seconds(lease) or self.seconds)
        return min(learned, renewal.seconds) if renewal is not None and renewal.covers(lease) else learned

    def matters(self, seconds: int) -> bool:
        """Could an agent that renews by the old duration seem silent by the new one?"""
        return self.seconds > (self.factor - 1) * seconds > 0

    def end(self, seconds: int) -> datetime:
        """When a Lease renewed before must have expired."""
        return self.since + LEARNING + timedelta(seconds=self.factor * self.allowed(seconds))


@dataclass(frozen=True, slots=True)
class Renewal:
    """A lease was made longer after its renewal at `time`: that renewal still lasts `seconds`. The longer duration
    applies from the next renewal on, when its agent learns it, so it neither delays a timeout nor revives a cluster."""

    time: str
    seconds: int

    @classmethod
    def parse(cls, entry: Tree) -> "Renewal | None":
        """Parse the result of `entry`; None for anything else."""
        time, seconds = dig(entry, "time"), dig(entry, "seconds")
        if try_time(time) is None or not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1:
            return None
        return cls(str(time), seconds)

    @property
    def entry(self) -> Tree:
        """The form stored in the derived part."""
        return {"time": self.time, "seconds": self.seconds}

    def covers(self, lease: Tree) -> bool:
        """Has the Lease not been renewed since?"""
        return not is_later(renew_time(lease), self.time)


def own_lease_seconds(cluster: Object) -> int:
    """The ManagedCluster's own lease duration: 60 s if missing or 0, at most a day."""
    value = cluster.spec.get("leaseDurationSeconds")
    seconds = value if isinstance(value, int) and not isinstance(value, bool) and value else DEFAULT_SECONDS
    return min(seconds, LONGEST_SECONDS)


def derived_lease_seconds(derived: Tree) -> int:
    """The lease duration in a derived part: what agents read, and what holds while the cluster is broken."""
    stretched = dig(derived, *LEASE_SECONDS)
    if isinstance(stretched, int) and not isinstance(stretched, bool):
        return min(stretched, LONGEST_SECONDS)
    announced = mapping_at(derived, "metadata", "annotations").get(DURATION)
    try:
        return min(int(announced), LONGEST_SECONDS) if isinstance(announced, str) else DEFAULT_SECONDS
    except ValueError:
        return DEFAULT_SECONDS


def lease_seconds(view: View, cluster: Object, lease: Tree = None, factor: int = GRACE_FACTOR) -> int:
    """The lease duration of a ManagedCluster: as this run stretched it, else the cluster's own.

    With a `lease`, the duration of that one: shorter if it was renewed before leases became longer, longer if its agent
    cannot know yet that they became shorter; `factor` is the fleet's `grace_factor`. A broken cluster keeps the last
    run's values.
    """
    if cluster.id in view.broken:
        before = view.previous.get(cluster.id)
        seconds, entry = derived_lease_seconds(before), dig(before, *RENEWAL)
    else:
        value, entry = view.now(cluster.id, *LEASE_SECONDS), view.now(cluster.id, *RENEWAL)
        seconds = value if isinstance(value, int) else own_lease_seconds(cluster)
    if lease is None:
        return seconds
    renewal = Renewal.parse(entry)
    if renewal is not None and renewal.covers(lease):
        seconds = min(seconds, renewal.seconds)
    annotations = view.now(cluster.id, "metadata", "annotations")
    shortened = Shortened.parse(mapping_at(annotations).get(SHORTENED), factor)
    return shortened.lasts(seconds, lease, renewal) if shortened else seconds


def last_sign(view: View, id_: ObjectId, lease: Tree) -> str | None:
    """The time of a cluster's last sign of life, as written: its Lease's renewal. Without a Lease, a change in a
    Karmada cluster's reports counts too (upstream's monitor, `muster.rules.heartbeats.silence`)."""
    renewed = renew_time(lease)
    if renewed is None and kind_of(id_) is KARMADA_CLUSTER:
        changed = mapping_at(view.now(id_, *SIGHT) or view.before(id_, *SIGHT)).get("at")
        return changed if try_time(changed) is not None else None
    return renewed


def silent_after(view: View, id_: ObjectId) -> str | None:
    """The last sign of life before a cluster fell silent, by this run, else by the last one."""
    decided = view.decisions(id_).get(SILENT_AFTER)
    value = view.before(id_, *SILENT_AFTER) if decided is None else decided.value
    return value if isinstance(value, str) else None


def is_silent(view: View, id_: ObjectId, leases: Mapping[str, Tree], now: datetime) -> bool:
    """Did the cluster fall silent by `now`, without a sign of life since? `leases`: the agents' own, by cluster,
    without derived ones."""
    since = silent_after(view, id_)
    if since is None or is_later(last_sign(view, id_, leases.get(id_.name)), since):
        return False
    began = try_time(dig(view.conditions_before(id_).get(kind_of(id_).headline), "lastTransitionTime"))
    # A run at an earlier time must not know of a later silence.
    return began is None or began <= now


def cluster_named(view: View, name: str, kind: Kind) -> ObjectId | None:
    """The id of the cluster of this name, of `kind` if there are several; None if there is none."""
    ids = [kind_.id(name) for kind_ in sorted(CLUSTERS, key=lambda kind_: kind_ is not kind)]
    return next((id_ for id_ in ids if id_ in view.objects or id_ in view.previous), None)
