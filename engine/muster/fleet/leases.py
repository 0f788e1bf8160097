"""Leases: which one is a cluster's.

A cluster's Lease carries the label `open-cluster-management.io/cluster-name`, or is named `managed-cluster-lease`
in the namespace of the cluster's name (seed 000; upstream looks at the label alone). Karmada's agents renew one that
is named after the cluster, in the namespace `karmada-cluster`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.data.ids import ObjectId
from muster.data.kinds import CONDITION_POLICY, LEASE
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.view import View

CLUSTER_NAME = "open-cluster-management.io/cluster-name"
KARMADA_NAMESPACE = "karmada-cluster"
LEASE_NAME = "managed-cluster-lease"
#: Where muster says how long a cluster's lease lasts, if that is longer than the cluster itself says.
LEASE_SECONDS = ("status", "muster", "leaseDurationSeconds")
#: Where the last run told the agent of a duration that is the cluster's own and not the default.
DURATION = "muster.dev/lease-duration-seconds"
#: Since when the lease is shorter than it was, while its agent may not know that yet.
SHORTENED = "muster.dev/lease-shortened"
#: How long after a run has decided it an agent may still read the old duration: committing and pushing takes a while.
LEARNING = timedelta(seconds=60)
#: The hub waits for this many durations (seed 000: 5 minutes, by default), where its policy says nothing else.
GRACE_FACTOR = 5
#: The policy that says it, as a parameter.
_AVAILABILITY, _FACTOR = "managed-cluster-available", "graceFactor"
DEFAULT_SECONDS = 60
#: No lease lasts longer, for the hub as for its agents: a cluster that is heard of less often is not watched.
LONGEST_SECONDS = 24 * 3600
#: Where the last renewal is remembered that came before its lease was made longer.
RENEWAL = ("status", "muster", "renewal")
_WHOLE = re.compile(r"[1-9][0-9]{0,7}", re.ASCII)


def lease_id(cluster: str) -> ObjectId:
    """Return the id under which muster derives a cluster's Lease."""
    return LEASE.id(LEASE_NAME, cluster)


def leased_cluster(lease: Object) -> str:
    """Return the name of the cluster that a Lease is of; empty where it is of none."""
    label = lease.labels.get(CLUSTER_NAME)
    labelled = label if isinstance(label, str) else ""  # of a broken one it may be anything
    if lease.id.name == LEASE_NAME:
        return labelled or lease.id.namespace
    return labelled or (lease.id.name if lease.id.namespace == KARMADA_NAMESPACE else "")


def leases_by_cluster(view: View) -> Mapping[str, Tree]:
    """Return each cluster's Lease from the inputs, by the cluster's name.

    One that is named after the rule goes before one that is found by its label alone.
    """
    return view.once(_leases_by_cluster)


def _leases_by_cluster(view: View) -> Mapping[str, Tree]:
    found: dict[str, Tree] = {}
    for obj in view.of(LEASE):
        cluster = leased_cluster(obj)
        if obj.id.name == LEASE_NAME:
            found[cluster] = obj.body
        elif cluster:
            found.setdefault(cluster, obj.body)
    return found


def effective_leases(view: View) -> Mapping[str, Tree]:
    """Return each cluster's Lease: the agent's own, else the one that this run derives."""
    derived = {
        id_.namespace: {"spec": {path[1]: d.value for path, d in decisions.items() if path[0] == "spec"}}
        for id_, decisions in view.decided.items()
        if LEASE.has(id_) and id_.name == LEASE_NAME
    }
    return {**derived, **leases_by_cluster(view)}


def renew_time(lease: Tree) -> str | None:
    """The time of the last renewal as written; None where there is none."""
    value = dig(lease, "spec", "renewTime")
    return value if isinstance(value, str) else None


def is_later(sign: str | None, known: str) -> bool:
    """Whether a sign of life is news, compared with the last one that is known."""
    instant, before = try_time(sign), try_time(known)
    return instant is not None and (before is None or instant > before)


def grace_factor(fleet: Fleet) -> int:
    """For how many durations of its lease a ManagedCluster may be silent, by the policy in force."""
    policies = (obj for obj in fleet.policies(CONDITION_POLICY) if obj.id.name == _AVAILABILITY)
    factor = next((dig(obj.spec, "params", _FACTOR) for obj in policies), None)
    return factor if isinstance(factor, int) and not isinstance(factor, bool) and factor > 0 else GRACE_FACTOR


@dataclass(frozen=True, slots=True)
class Shortened:
    """A Lease lasted `seconds` until `since`, and lasts shorter now. Its agent learns that with the renewal that is due
    by the old duration: until then it is no less alive. `factor`: for how many durations it may be silent."""

    seconds: int
    since: datetime
    factor: int

    def __str__(self) -> str:
        return f"{self.seconds}s until {format_time(self.since)}"

    @classmethod
    def parse(cls, text: Tree, factor: int) -> "Shortened | None":
        """Read what `str` gives; None for anything else."""
        words = text.split("s until ") if isinstance(text, str) else []
        since = try_time(words[1]) if len(words) == 2 else None
        if since is None or not _WHOLE.fullmatch(words[0]):
            return None
        return cls(min(int(words[0]), LONGEST_SECONDS), since, factor)

    def known_to(self, lease: Tree) -> bool:
        """Whether a Lease was renewed by an agent that must have known."""
        renewed = try_time(renew_time(lease))
        return renewed is not None and renewed >= self.since + LEARNING

    def allowed(self, seconds: int) -> int:
        """How long a Lease from before lasts, that lasts `seconds` now: to the renewal that was due, and its grace."""
        return seconds + -(-self.seconds // self.factor)

    def matters(self, seconds: int) -> bool:
        """Whether an agent that renews by the old duration could be taken for silent by the new one."""
        return self.seconds > (self.factor - 1) * seconds > 0

    def end(self, seconds: int) -> datetime:
        """When no Lease from before can be fresh any more."""
        return self.since + LEARNING + timedelta(seconds=self.factor * self.allowed(seconds))


@dataclass(frozen=True, slots=True)
class Renewal:
    """A lease was made longer after its renewal at `time`: that renewal lasts for `seconds`, as it did before. The
    longer duration counts from the next renewal on, so it postpones nothing and revives nobody."""

    time: str
    seconds: int

    @classmethod
    def parse(cls, entry: Tree) -> "Renewal | None":
        """Read what `entry` gives; None for anything else."""
        time, seconds = dig(entry, "time"), dig(entry, "seconds")
        if try_time(time) is None or not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1:
            return None
        return cls(str(time), seconds)

    @property
    def entry(self) -> Tree:
        """The renewal as the derived part has it."""
        return {"time": self.time, "seconds": self.seconds}

    def covers(self, lease: Tree) -> bool:
        """Whether a Lease has not been renewed since."""
        return not is_later(renew_time(lease), self.time)


def own_lease_seconds(cluster: Object) -> int:
    """How long the lease of a ManagedCluster lasts by its own word: 60 s where that is nothing, or 0; a day at most."""
    value = cluster.spec.get("leaseDurationSeconds")
    seconds = value if isinstance(value, int) and not isinstance(value, bool) and value else DEFAULT_SECONDS
    return min(seconds, LONGEST_SECONDS)


def standing_seconds(derived: Tree) -> int:
    """How long the lease lasts by a derived part: what agents read, and what stands while the cluster is broken."""
    stretched = dig(derived, *LEASE_SECONDS)
    if isinstance(stretched, int) and not isinstance(stretched, bool):
        return min(stretched, LONGEST_SECONDS)
    own = mapping_at(derived, "metadata", "annotations").get(DURATION)
    try:
        return min(int(own), LONGEST_SECONDS) if isinstance(own, str) else DEFAULT_SECONDS
    except ValueError:
        return DEFAULT_SECONDS


def lease_seconds(view: View, cluster: Object, lease: Tree = None, factor: int = GRACE_FACTOR) -> int:
    """How long the lease of a ManagedCluster lasts: as this run stretched it, else by the cluster's own word.

    With a Lease, how long that one lasts: not as long if it was renewed before leases became longer, and longer if its
    agent cannot know yet that they have become shorter; `factor` is the fleet's `grace_factor`.
    Where the cluster is broken, all is as the last run had it.
    """
    if cluster.id in view.broken:
        before = view.previous.get(cluster.id)
        seconds, entry = standing_seconds(before), dig(before, *RENEWAL)
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
    return shortened.allowed(seconds) if shortened and not shortened.known_to(lease) else seconds
