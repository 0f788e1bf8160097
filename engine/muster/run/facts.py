"""Facts about an object, read from its derived part, with the words for them: what messages and plans show.

A stage that decides something new that people should see needs a reader here.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import timedelta
from itertools import chain
from typing import Final

from muster.data.groups import grouped
from muster.data.kinds import ACCEPTED, BY_NAME, FLEET, MANAGED_CLUSTER
from muster.data.times import format_duration
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.clusters import CLUSTER_SET, DENIED, NOT_JOINED, parse_members, state_of
from muster.fleet.leases import DEFAULT_SECONDS, derived_lease_seconds
from muster.fleet.objects import by_type
from muster.fleet.projected import entries_of
from muster.rules.effects.approval import HELD_BY
from muster.rules.effects.freeze import FROZEN_BY
from muster.rules.taints.keys import taint_key, taint_text


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about an object. Facts with the same `sort` and `name` (`condition`, `Ready`) are one thing at two times;
    `text` is its value in short, empty for none, and `note` says why, by whom or since when.

    `word` is what a subject line says of an object with this as a new fact, `gone` of one that lost it; empty if that
    is no news. Without `anew` it is news only if there was another value. `sentence` is the whole line of a commit
    message if the parts would read badly.
    """

    sort: str
    name: str = ""
    text: str = ""
    note: str = ""
    word: str = field(default="", compare=False)
    gone: str = field(default="", compare=False)
    anew: bool = field(default=True, compare=False)
    sentence: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """`condition Ready`."""
        return f"{self.sort} {self.name}".rstrip()


#: Facts that are shown only if no other fact of the object changed: fields, and muster's own notes.
UNTOLD: Final = frozenset(("field", "note"))

_READY: Final = {"True": "ready", "False": "not ready"}
_AVAILABLE: Final = {"True": "available", "False": "unavailable"}
#: Words for the headline condition of a cluster that the hub denied, or whose agent has not joined yet.
_APART: Final[Mapping[str, Mapping[str, str]]] = {
    DENIED: {"Unknown": "denied and silent", "True": "denied but heard", "False": "denied but heard"},
    NOT_JOINED: {"Unknown": "not joined"},
}
#: Words for a condition's status, by its type; a status without one is its own word.
_STATUS_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Ready": _READY,
    "Reconciled": {"True": "reconciled", "False": "not reconciled"},
    ACCEPTED: {"True": "accepted", "False": "denied", "Unknown": "denied"},
    "Frozen": {"True": "frozen", "False": "no longer frozen", "Unknown": "no longer frozen"},
    "DisruptionHeld": {"True": "exceeded", "False": "no longer exceeded", "Unknown": "no longer exceeded"},
}
#: The same for conditions of which only one kind has words, or none.
_STATUS_WORDS_OF: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("ManagedCluster", MANAGED_CLUSTER.headline): _AVAILABLE,
    ("AdapterReport", "Accepted"): {"True": "accepted", "False": "discarded"},
    ("ClusterDeployment", "Ready"): {},
    ("ClusterDeployment", "Broken"): {"True": "broken", "False": "no longer broken"},
    ("Rollout", "RolledOut"): {"True": "complete", "False": "started"},
    ("Placement", "PlacementSatisfied"): {"True": "", "False": "not satisfied"},
}
#: Why a Rollout is not complete, as far as it is news.
_ROLLOUT_REASONS: Final = {
    "Invalid": "invalid",
    "Waiting": "waiting",
    "Stopped": "stopped",
    "RollingBack": "rolling back",
    "RolledBack": "rolled back",
    "Paused": "paused",
}
#: States of a cluster in a rollout that are news.
_ROLLOUT_WORDS: Final = {
    "Progressing": "being updated",
    "Succeeded": "updated",
    "Failed": "failed to update",
    "TimeOut": "failed to update",
}
#: Buckets of a pool's cluster that are news.
_BUCKET_WORDS: Final = {"assignable": "assignable", "standby": "standing by", "broken": "broken"}


def facts_of(body: Tree) -> dict[str, Fact]:
    """Return the facts of a derived part (None: there is none) by label."""
    return {fact.label: fact for fact in chain.from_iterable(read(body) for read in READERS)}


def _conditions(body: Tree) -> Iterator[Fact]:
    conditions = mappings_at(body, "status", "conditions")
    managed = dig(body, "kind") == MANAGED_CLUSTER.name
    apart = _APART.get(state_of(MANAGED_CLUSTER, by_type(conditions)), {}) if managed else {}
    for condition in conditions:
        type_, status = str(condition.get("type")), str(condition.get("status"))
        status_words = _STATUS_WORDS_OF.get((dig(body, "kind"), type_), _STATUS_WORDS.get(type_, {}))
        word, reason = status_words.get(status, status if status_words else ""), str(condition.get("reason") or "")
        word = _ROLLOUT_REASONS.get(reason, word) if type_ == "RolledOut" else word
        gone = "no longer exceeded" if type_ == "DisruptionHeld" else ""
        anew = not (apart and type_ == MANAGED_CLUSTER.headline)
        word = word if anew else apart.get(status, "")
        # A Fleet with freezes has the condition from the start, mostly False.
        anew = anew and (type_, status) != ("Frozen", "False")
        yield Fact("condition", type_, status, reason, word=word, gone=gone, anew=anew)


def _taints(body: Tree) -> Iterator[Fact]:
    for taint in mappings_at(body, "spec", "taints"):
        key = taint_key(BY_NAME[body["kind"]], taint)
        # If the value is part of the key, it is in the name already.
        yield Fact("taint", taint_text(key), str((taint.get("value") if len(key) == 2 else "") or "present"))


def _generation(body: Tree) -> Iterator[Fact]:
    if (value := dig(body, "metadata", "generation")) is not None:
        yield Fact("generation", text=str(value))


def _set(body: Tree) -> Iterator[Fact]:
    """The set of a cluster that names none."""
    if dig(body, "kind") == MANAGED_CLUSTER.name and (name := mapping_at(body, "metadata", "labels").get(CLUSTER_SET)):
        yield Fact("set", text=str(name))


def _lease(body: Tree) -> Iterator[Fact]:
    """The duration of a lease, if it is not the default."""
    if dig(body, "kind") == MANAGED_CLUSTER.name and (seconds := derived_lease_seconds(body)) != DEFAULT_SECONDS:
        yield Fact("lease duration", text=format_duration(timedelta(seconds=seconds)))


def _members(body: Tree) -> Iterator[Fact]:
    """The number of clusters that a set selects."""
    if dig(body, "kind") == "ManagedClusterSet":
        for condition in mappings_at(body, "status", "conditions"):
            if condition.get("type") == "ClusterSetEmpty":
                yield Fact("clusters", text=str(parse_members(condition.get("message"))), word="resized", anew=False)


def _remedies(body: Tree) -> Iterator[Fact]:
    """Remedy actions, each with its Remedies."""
    entries = mappings_at(body, "status", "muster", "remedies")
    names = grouped((str(entry.get("action")), str(entry.get("remedy"))) for entry in entries)
    for action, remedies in names.items():
        yield Fact("remedy", action, "applied", ", ".join(remedies), word="applied", gone="lifted")


def _held(body: Tree) -> Iterator[Fact]:
    """Held effects."""
    for entry in mappings_at(body, "status", "muster", "held"):
        effect, by = str(entry.get("effect")), str(entry.get("heldBy") or "")
        word = "kept from removal" if effect == "removal" else ""
        word = {HELD_BY: "awaiting approval", FROZEN_BY: "frozen"}.get(by.partition(" ")[0], word)
        yield Fact("held", effect, "held", by, word=word)


def _freezes(body: Tree) -> Iterator[Fact]:
    """The freezes of the Fleet that are in force."""
    if dig(body, "kind") == FLEET.name:
        for name, entry in mapping_at(body, "status", "muster", "freezes").items():
            until, holds = dig(entry, "until"), ", ".join(map(str, dig(entry, "holds") or ()))
            yield Fact("freeze", name, "in force", f"holds {holds}{f' until {until}' if until else ''}")


def _pending(body: Tree) -> Iterator[Fact]:
    """Outcomes that must last before they are adopted."""
    for type_, entry in mapping_at(body, "status", "muster", "pending").items():
        if isinstance(entry, dict):
            yield Fact("pending", type_, str(entry.get("status")), f"since {entry.get('since')}")


def _rollouts(body: Tree) -> Iterator[Fact]:
    """The revisions that a cluster should have, and how it is doing with them."""
    for key, entry in mapping_at(body, "status", "muster", "rollouts").items():
        if isinstance(entry, dict):
            state, gate = str(entry.get("state")), entry.get("gate")
            text, note = f"{entry.get('revision')} {state}", f"stage {entry.get('stage')}"
            note += f", gate {gate}" if gate else ""
            yield Fact("rollout", key, text, note, word=_ROLLOUT_WORDS.get(state, ""), gone="out of a rollout")


def _scores(body: Tree) -> Iterator[Fact]:
    """The scores that policies derive for a cluster."""
    if dig(body, "kind") == "AddOnPlacementScore":
        for score in mappings_at(body, "status", "scores"):
            yield Fact("score", str(score.get("name")), str(score.get("value")))


def _rollout(body: Tree) -> Iterator[Fact]:
    """How the clusters of a Rollout are doing: `1 Progressing, 8 ToApply`."""
    if dig(body, "kind") == "Rollout":
        counts = Counter[str]()
        for stage in mappings_at(body, "status", "stages"):
            counts.update({name: number for name, number in stage.items() if name not in ("name", "clusters")})
        yield Fact("clusters", text=", ".join(f"{number} {state}" for state, number in counts.items()) or "none")


def _blocks(body: Tree) -> Iterator[Fact]:
    """Clusters without traffic."""
    for name in dig(body, "status", "trafficBlockClusters") or ():
        yield Fact("traffic", f"to {name}", "blocked", word="rerouted", gone="rerouted")


def _report(body: Tree) -> Iterator[Fact]:
    """The accepted report of an adapter."""
    accepted = dig(body, "status", "muster", "accepted")
    if isinstance(accepted, dict):
        available = (c.get("status") for c in mappings_at(accepted, "conditions") if c.get("type") == "Available")
        note = f"generation {accepted.get('observed_generation')}, Available={next(available, '-')}"
        yield Fact("report", text=str(accepted.get("observed_time")), note=note, word="accepted")


def _agent_ref(body: Tree) -> Iterator[Fact]:
    """The ref through which a cluster's agents report."""
    if ref := dig(body, "status", "muster", "agentRef"):
        yield Fact("agent ref", text=str(ref))


def _projections(body: Tree) -> Iterator[Fact]:
    """The files that Projections write for an object."""
    for name, entry in entries_of(body).items():
        yield Fact("file", name, f"{dig(entry, 'file')} ({dig(entry, 'digest')})")


def _claim(body: Tree) -> Iterator[Fact]:
    if dig(body, "kind") != "ClusterClaim":
        return
    if cluster := dig(body, "spec", "namespace"):
        yield Fact("assigned cluster", text=str(cluster), word="assigned")
    if ended := dig(body, "metadata", "deletionTimestamp"):
        yield Fact("claim", text="ended", note=f"at {ended}", word="ended")


def _pool(body: Tree) -> Iterator[Fact]:
    if dig(body, "kind") == "ClusterPool":
        counts = mapping_at(body, "status", "muster", "buckets")
        yield Fact("clusters", text=", ".join(f"{number} {name}" for name, number in counts.items()) or "none")


def _pool_cluster(body: Tree) -> Iterator[Fact]:
    if dig(body, "kind") != "ClusterDeployment":
        return
    if bucket := dig(body, "status", "muster", "bucket"):
        yield Fact("bucket", text=str(bucket), word=_BUCKET_WORDS.get(bucket, ""))
    if power := dig(body, "spec", "powerState"):
        word = "resumed" if power == "Running" else "sent to sleep"
        yield Fact("power state", text=str(power), word=word, anew=False)
    if deleted := dig(body, "metadata", "deletionTimestamp"):
        yield Fact("deletion", text="requested", note=f"at {deleted}{_why_broken(body)}", word="being deleted")


def _why_broken(body: Tree) -> str:
    """Why a cluster of a pool is broken, in full: after its deletion only the commit says so."""
    broken = next((c for c in mappings_at(body, "status", "conditions") if c.get("type") == "Broken"), {})
    return f", {broken.get('reason')}: {broken.get('message')}" if broken.get("status") == "True" else ""


READERS: Final[tuple[Callable[[Tree], Iterator[Fact]], ...]] = (
    _report,
    _conditions,
    _taints,
    _remedies,
    _rollouts,
    _rollout,
    _scores,
    _blocks,
    _freezes,
    _held,
    _pending,
    _claim,
    _pool,
    _pool_cluster,
    _agent_ref,
    _generation,
    _set,
    _members,
    _lease,
    _projections,
)
