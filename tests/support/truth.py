"""Whether what a decision says of itself is so: its sentence, the times in it, and the inputs that it names.

`SENTENCES` has every sentence that a decision can give as its reason, with what must be so for it to be said; one that
is not there fails.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from muster.data.decision import Decision
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    DISRUPTION_BUDGET,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET,
    MANAGED_CLUSTER_SET_BINDING,
    PLACEMENT,
    TAINT_POLICY,
    Kind,
    is_cluster,
    kind_of,
    of_kinds,
)
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.features.explain.reads import Reader, field_label
from muster.fleet.faults import is_fault, keeps_state
from muster.fleet.leases import leased_cluster, renew_time
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.rules.policies.adapters import owner_cluster
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.progress.states import is_silent
from muster.run.explained import Read
from muster.run.run import Run

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SCALAR: Final = re.compile(r"'(.*)'|(true|false|-?\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """A decision with what was so when it was made."""

    fleet: FleetWithPolicies
    decision: Decision
    failed: bool

    @property
    def id(self) -> ObjectId:
        return self.decision.object

    @property
    def there(self) -> bool:
        """Whether any file declares the object."""
        return self.id in self.fleet.objects

    @property
    def kept(self) -> bool:
        return self.id in self.fleet.broken

    def is_unread(self, id_: ObjectId) -> bool:
        return self.fleet.is_unread(id_)

    def is_broken(self, kind: Kind, namespace: str | None = None) -> bool:
        """Whether an object of a kind cannot be read, in a namespace or anywhere."""
        broken = (id_.namespace for id_ in of_kinds(self.fleet.broken, kind))
        return self.fleet.unidentified or any(namespace in (None, other) for other in broken)

    @property
    def whole(self) -> Tree:
        return self.fleet.whole(self.id)

    @property
    def value(self) -> Tree:
        return self.decision.value

    def first(self) -> Tree:
        """The object that the first input is of."""
        return self.fleet.whole(self.decision.because.inputs[0].object or self.id)

    def condition(self, id_: ObjectId, type_: str) -> str:
        return str(dig(self.fleet.conditions(id_).get(type_), "status"))

    def headline(self, status: str) -> bool:
        return self.condition(self.id, self.fleet.objects[self.id].kind.headline) == status

    def cluster(self) -> list[ObjectId]:
        """The clusters, of either kind, of the object's namespace or of its own name."""
        name = self.id.name if is_cluster(self.id) or CLUSTER_DEPLOYMENT.has(self.id) else self.id.namespace
        return [kind.id(name) for kind in CLUSTERS]

    def held(self, effect: str) -> bool:
        return any(held.object == self.id and held.effect.startswith(effect) for held in self.fleet.held)

    def budgets(self) -> list[Tree]:
        """What holds, as the Fleet has it."""
        states = (self.fleet.whole(id_) for id_ in self.fleet.decided if id_.kind == "Fleet")
        return [entry for state in states for entry in mappings_at(state, "status", "muster", "budgets")]

    def deleting(self) -> bool:
        return dig(self.whole, "metadata", "deletionTimestamp") is not None

    def pool_is_gone(self) -> bool:
        pool = mapping_at(self.whole, "spec", "clusterPoolRef")
        names = {(id_.namespace, id_.name) for id_ in self.fleet.objects if id_.kind == "ClusterPool"}
        return (pool.get("namespace"), pool.get("poolName")) not in names

    def leased(self) -> bool:
        return any(leased_cluster(lease) == self.id.namespace for lease in self.fleet.of(LEASE))

    def spoken(self) -> bool:
        leases = (lease for lease in self.fleet.of(LEASE) if leased_cluster(lease) == self.id.name)
        return bool(self.fleet.reported(self.id)) or any(renew_time(lease.body) for lease in leases)


Check = Callable[[Said], bool]


def _always(_: Said) -> bool:
    """Of what only says what the field is for."""
    return True


def _marked(said: Said) -> bool:
    marks = ("hive.openshift.io/remove-cluster-from-pool", "hive.openshift.io/remove-claimed-cluster-from-pool")
    return any(mark in mapping_at(said.whole, "metadata", "annotations") for mark in marks)


def _accepted_report(said: Said) -> bool:
    spec = said.first()["spec"]
    return bool(spec["observed_time"] == said.value["accepted"]["observed_time"])


def _silent_after(said: Said) -> Tree:
    return said.value if isinstance(said.value, str) else dig(said.value, "silentAfter")


def _owner_is_there(said: Said) -> bool:
    owner = owner_cluster(said.fleet.objects[said.id])
    return any(kind.id(owner) in said.fleet.objects.keys() - said.fleet.broken for kind in CLUSTERS)


def _author_is_unread(said: Said) -> bool:
    """The author that the sentence names: a kind, or one object of it."""
    author = said.decision.because.text.partition(" cannot be read")[0].removeprefix("a ")
    return said.fleet.unidentified or any(author in (id_.kind, str(id_)) for id_ in said.fleet.broken)


def _placement(said: Said) -> ObjectId:
    """The Placement that the decision is about: itself, or the one of a shard."""
    labels = mapping_at(said.whole, "metadata", "labels")
    return PLACEMENT.id(str(labels.get(PLACEMENT_LABEL, said.id.name)), said.id.namespace)


SENTENCES: Final[Mapping[str, Check]] = {
    # what only says what a field is
    "": _always,
    "counts the changes of the spec": _always,
    "how many clusters .*": _always,
    "it renews no Lease: .*": lambda said: said.there and dig(said.whole, "spec", "syncMode") == "Pull",
    "all wanted: .*|[0-9]+ wanted: .*": _always,
    "whether (the placement can be scheduled as it is written|there is such a set)": _always,
    "the clusters that the set selects": _always,
    "the clusters of the PlacementDecision with the same name": _always,
    "what is known about the cluster": _always,
    "what it depends on has an error, so it keeps its last derived state": lambda said: any(
        keeps_state(found) and found.object == said.id for found in said.fleet.findings
    ),
    "its cluster, binding or set has an error, so it keeps its last state": lambda said: (
        said.is_unread(MANAGED_CLUSTER.id(said.id.name))
        or said.is_broken(MANAGED_CLUSTER_SET_BINDING, said.id.namespace)
        or said.is_broken(MANAGED_CLUSTER_SET)
    ),
    "upstream makes this set, and puts its selector right": _always,
    "where the clusters are that serve each backend": _always,
    "what (is left in its namespace|becomes of the claim, and of its cluster)": _always,
    "what the next run has to know of the cluster": _always,
    "what this run went by; it stays in force while the Fleet has an error": lambda said: not said.kept,
    "when the (object was created|spec last changed).*": _always,
    "(which policy put which taint there|which cluster has reserved it, and how that fared)": _always,
    "latched until conditions remove it": _always,
    "what counts of the adapter on the object, for the reports to come": lambda said: (
        said.value is None or _accepted_report(said)
    ),
    "scores .*": lambda said: bool(said.fleet.now(said.id, "status", "scores")),
    "its cluster has an error, so the scores stay as they are": lambda said: said.is_unread(
        MANAGED_CLUSTER.id(said.id.namespace)
    ),
    "how far its works are": lambda said: said.there and not said.kept,
    "the template of its set when its turn came": lambda said: bool(said.fleet.now(said.id, "metadata", "labels")),
    "no placement of its set chooses the cluster, or the set is gone": lambda said: said.value is None,
    "nothing can be decided about the set, so it keeps its last status": lambda said: said.there,
    "its cluster is silent, so it neither succeeds nor soaks": lambda said: (
        is_silent(said.fleet, MANAGED_CLUSTER.id(said.id.namespace)) and "silentAfter" in said.value["rollout"]
    ),
    "its report or its cluster cannot be read, so it keeps its last state": lambda said: (
        said.kept or said.fleet.unidentified
    ),
    "(not reported|not applied|degraded|Progressing is reported|applied).*, since .*": lambda said: (
        said.decision.because.text.endswith(f"since {said.value['rollout']['since']}")
    ),
    "the (cluster|cluster's provisioner|cluster's agents).* reports? through this ref": (
        lambda said: said.id.name in said.fleet.refs.speaking
    ),
    "the signature of the newest commit on its agent's ref": lambda said: bool(said.fleet.refs.identities),
    "its agent (renews the lease by this duration|cannot know yet that the lease has become shorter)": _always,
    "so many clusters are accepted that leases last longer.*": _always,
    "the request that was decided.*|names the cluster when the request is gone": _always,
    # reports
    "it is still reported, and nothing newer of the adapter on the object counts": _accepted_report,
    "the report has changed and does not count now; .*": lambda said: (
        said.there and said.first()["spec"] != said.value["accepted"]
    ),
    "no file has the report any more; .*": lambda said: not said.there and not said.fleet.unidentified,
    "the report has an error now; .*": lambda said: said.kept or said.fleet.unidentified,
    "the report came in time, and grows too old no more": (
        lambda said: said.there and said.condition(said.id, "Accepted") in ("True", "False")
    ),
    # what is kept
    "the object has an error, so .*": lambda said: said.there and said.kept,
    "no readable file declares it now, .*": lambda said: not said.there and said.kept,
    "its cluster's agent ref could not be read, .*": lambda said: bool(said.fleet.refs.unheard),
    "its cluster keeps its last derived state, .*": (
        lambda said: any(id_ in said.fleet.broken for id_ in said.cluster())
    ),
    "no file declares the cluster any more, but its removal is held": (
        lambda said: not any(id_ in said.fleet.objects for id_ in said.cluster()) and bool(said.fleet.held)
    ),
    "an unreadable file may hold this object.*": lambda said: not said.there and said.fleet.unidentified,
    "muster could not decide this, .*": lambda said: any(map(is_fault, said.fleet.findings)) or said.failed,
    "a DisruptionBudget has an error, so this stays as it is": lambda said: said.is_broken(DISRUPTION_BUDGET),
    "budget .* has an error, so nothing new is allowed until it is repaired": lambda said: any(
        repr(id_.name) in said.decision.because.text for id_ in of_kinds(said.fleet.broken, DISRUPTION_BUDGET)
    ),
    "what it reads has an error, so the file stays as it is": lambda said: any(map(said.is_broken, CLUSTERS)),
    "a policy has an error, so the taints that it may have added stay": lambda said: said.is_broken(TAINT_POLICY),
    ".* cannot be read, so what it may have decided stays": lambda said: _author_is_unread(said),
    "the labels of some cluster are unknown.*": lambda said: said.is_broken(MANAGED_CLUSTER),
    "what declares the cluster cannot be read, .*": lambda said: said.kept or said.fleet.unidentified,
    # rollouts
    ".+ (Progressing|Succeeded|Failed|TimeOut) since .*": lambda said: said.decision.because.text.startswith(
        f"{said.value['revision']} {said.value['state']} since {said.value['since']}"
    ),
    "the cluster left the Rollout": lambda said: said.value is None,
    # budgets
    "(DisruptionBudget/[^:]+: )?[0-9]+ of [0-9]+ clusters are disrupted.*": lambda said: any(
        f"{entry['disrupted']} of {entry['population']} " in said.decision.because.text
        and f"{entry['budget']!r} allows {entry['allowed']}, since {entry['since']}" in said.decision.because.text
        for entry in said.budgets()
    ),
    "(DisruptionBudget/[^:]+: )?budget .* was exceeded from .* to .* and cools down until .*": lambda said: any(
        f"from {entry['since']} to {entry['met']} and" in said.decision.because.text
        for entry in said.budgets()
        if "met" in entry
    ),
    "[0-9]+ of [0-9]+ clusters are no longer declared.*": lambda said: said.held("removal"),
    "[0-9]+ of [0-9]+ clusters would go on serving .*, budget .* asks for [0-9]+": lambda said: said.held("traffic"),
    "which freezes are in force": lambda said: bool(said.fleet.settings.get("freezes")),
    "freeze '.*; to break it, merge muster/proposals/freeze-.*": lambda said: any(
        held.object == said.id and held.because.rule.startswith("freeze ") for held in said.fleet.held
    ),
    "it is approved, and waits until another cluster may come or leave": lambda said: said.held("move"),
    "awaits approval: merge .*|its deletion is approved, and waits for its turn .*": _always,
    # registration and leases
    "the Fleet accepts clusters .*": _always,
    "it was accepted, and its agent has reported": (
        lambda said: dig(said.whole, "spec", "hubAcceptsClient") is True and said.spoken()
    ),
    "its agent reports that it joined": lambda said: "ManagedClusterJoined" in said.fleet.reported(said.id),
    "it joined before, and joining happens once": (
        lambda said: "ManagedClusterJoined" in said.fleet.conditions_before(said.id)
    ),
    "the cluster's agent has no Lease: .*": lambda said: not said.leased(),
    "its lease has expired, .*": lambda said: said.kept or said.fleet.unidentified,
    "it was renewed before its lease became longer": lambda said: said.value["seconds"] < 86_400,
    "the last sign of life before the cluster fell silent; .*": lambda said: (
        said.condition(said.id, kind_of(said.id).headline) == "Unknown" and _silent_after(said) is not None
    ),
    "the cluster is not silent any more": lambda said: _silent_after(said) is None,
    "it has never been available.*": lambda said: not said.headline("True"),
    "a signer made it, and the request is still approved": _always,
    "people have removed these clusters, .*": lambda said: (
        not (set(said.value) & {id_.name for id_ in said.fleet.objects if is_cluster(id_)} - set(said.value))
    ),
    "its cluster is Unknown, and so is the add-on": lambda said: any(
        said.condition(id_, kind_of(id_).headline) == "Unknown" for id_ in said.cluster()
    ),
    "a cluster that names no set is in `default`": lambda said: (
        not said.fleet.objects[said.id].labels.get("cluster.open-cluster-management.io/clusterset")
    ),
    # what goes
    "its cluster is being deleted": lambda said: dig(said.first(), "metadata", "deletionTimestamp") is not None,
    "its cluster cannot be read, and was being deleted before": lambda said: not _owner_is_there(said),
    "the cluster is being deleted, so .*": lambda said: said.fleet.objects[said.id].deleting,
    "the cluster is being removed, so .*": lambda said: said.fleet.objects[said.id].deleting,
    "it is broken, and it is being deleted": (
        lambda said: said.deleting() and said.condition(said.id, "Broken") == "True"
    ),
    "its pool is gone, and it is marked for removal": lambda said: said.pool_is_gone() and _marked(said),
    # taints and remedies
    "a person's taint; .*": lambda said: bool(said.fleet.objects[said.id].spec.get("taints")),
    "the cluster is silent, and a budget holds: its taints stay": lambda said: said.headline("Unknown"),
    "the policy's conditions have no new input, .*": _always,
    "it was put there at .*, and nothing has taken it off": lambda said: said.value is not None,
    "no Remedy asks for an action now": lambda said: not said.value and not said.held("remedy"),
    "every action that a Remedy asks for is held": lambda said: not said.value and said.held("remedy"),
    "(.*: no new input, so its effects stay until there is; )?a budget holds and the cluster is silent, .*": (
        lambda said: said.headline("Unknown")
    ),
    ".*: no new input, so its effects stay until there is": lambda said: bool(said.value),
    # conditions and placements
    "(True|False|Unknown) must last until .*": (
        lambda said: f"{said.value['status']} must" not in said.decision.because.text
    ),
    "the placement cannot be scheduled, .*": lambda said: (
        said.there and not said.fleet.objects[said.id].deleting if said.id.kind == "Placement" else True
    ),
    "its annotation says that nothing is to schedule it": _always,
    "the placement is being deleted, .*": lambda said: said.id.kind != "Placement" or said.deleting(),
    "the placement's file has an error or (is out of sight|cannot be read), .*": (
        lambda said: said.is_unread(_placement(said))
    ),
    "the placement no longer needs this shard": lambda said: said.value is None,
    "there is no such cluster any more|it is being deleted|the hub .*|the placement keeps its last decisions": _always,
    "(namespace .* is bound to no set|none of the sets|it is in none of the sets).*": _always,
    "none of the placement's predicates matches it|others were taken before it .*|only [0-9]+ wanted.*": _always,
    "(its taint|the toleration of its taint) .*|nobody can tell what it should be.*|it passes, and .*": _always,
    # pools
    "its deletion was asked for at .*, and that is never taken back": lambda said: not _marked(said),
    "its deletion was asked for at .*, and that is never taken back; it is broken": (
        lambda said: said.condition(said.id, "Broken") == "True"
    ),
    "its deletion was asked for at .*, and that is never taken back; it is marked .*": _marked,
    "it was given to claim .* at .*": lambda said: f"claim {said.value['claimName']} " in said.decision.because.text,
    "the power state that was asked for at .*": lambda said: (
        dig(said.whole, "status", "muster", "powerStateSince") in said.decision.because.text
    ),
    "as (created|decided before): .*": lambda said: said.value is not None,
    "its pool's setting": lambda said: said.value in str(said.first()),
    "the claim was given this cluster, and keeps it until it ends": lambda said: said.value is not None,
    "the claim ended at .*": lambda said: said.value in said.decision.because.text,
    "when the claim was first seen": _always,
    "no file declares the claim any more; .*": lambda said: not said.there,
    "it is so since .*: nothing has changed it": (
        lambda said: said.value["lastTransitionTime"] in said.decision.because.text
    ),
}
_PATTERNS: Final = [(re.compile(text, re.DOTALL), check) for text, check in SENTENCES.items()]


def require_truth(run: Run) -> int:
    """Fail where a decision of a run says of itself what is not so; return how many were looked at."""
    problems = list(untruths(run))
    assert not problems, "\n".join(problems[:10])
    return sum(len(decisions) for decisions in run.fleet.decided.values())


def untruths(run: Run) -> Iterator[str]:
    """Yield what decisions say of themselves and is not so."""
    failed = any(map(is_fault, run.findings))
    for id_, decisions in run.fleet.decided.items():
        reader = Reader(run.fleet, id_)
        for path, decision in decisions.items():
            for problem in _untrue(Said(run.fleet, decision, failed), reader):
                yield f"{id_} {field_label(path)}: {problem}"


def _untrue(said: Said, reader: Reader) -> Iterator[str]:
    text = said.decision.because.text
    checks = [check for pattern, check in _PATTERNS if pattern.fullmatch(text)]
    if len(checks) != 1:
        yield f"{len(checks)} entries of SENTENCES speak of {text!r}"
    yield from (f"it is not so: {text!r}" for check in checks if not check(said))
    for time in _TIME.findall(text):
        if time not in _times(said):
            yield f"nothing that was read says {time}"
    for read in said.decision.because.inputs:
        unread = said.is_unread(read.object or said.id)
        for found in reader.of_input(read):
            yield from (f"{found}: {problem}" for problem in misread(said.fleet, found, unread=unread))


def _times(said: Said) -> Collection[str]:
    """The times that the object and its inputs say, and that the decision has as its horizon."""
    ids = {said.id, *(read.object for read in said.decision.because.inputs if read.object is not None)}
    bodies = [body for id_ in ids for body in (said.fleet.whole(id_), said.fleet.previous.get(id_))]
    bodies += [said.fleet.whole(id_) for id_ in said.fleet.decided if id_.kind == "Fleet"]
    moments = {try_time(text) for text in _TIME.findall(str(bodies))}
    moments |= {decision.horizon for decision in said.fleet.decisions(said.id).values()}
    return {format_time(moment) for moment in moments if moment is not None}


def misread(fleet: FleetWithPolicies, read: Read, *, unread: bool) -> Iterator[str]:
    """Yield what is wrong with an input: its place is none, or its value does not stand there. `unread`: its object
    has an error."""
    if read.place is None or read.label.startswith("has("):
        return  # what is not there stands nowhere
    source = next((part.source for part in fleet.read.parts if part.source.label == read.place.file), None)
    if source is None:
        # An object that cannot be read is as its file was at the last run, wherever that file was.
        if not read.place.file.startswith("builtin:") and not unread:
            yield "no such file was read"
        return
    lines = source.read().decode().splitlines()
    if not 1 <= read.place.line <= len(lines):
        yield "no such line"
        return
    line, scalar = lines[read.place.line - 1], _SCALAR.fullmatch(read.value)
    if scalar is not None and not read.value.endswith("...'"):
        value = scalar[1] if scalar[1] is not None else scalar[2]
        if value.partition("\n")[0] not in line and not _same_time(value, line):
            yield f"{line!r} does not say so"


def _same_time(value: str, line: str) -> bool:
    moment = try_time(value)
    return moment is not None and any(try_time(word) == moment for word in re.findall(r"[0-9T:.Z+-]{20,}", line))
