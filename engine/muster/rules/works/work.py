"""A work of a ManifestWorkReplicaSet: its name, its labels, and what its agent reports about it.

Source: ocm `pkg/work/hub/controllers/manifestworkreplicasetcontroller`. Upstream generates the end of a work's name;
here it follows from the set, so that every run derives the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from muster.data.decision import Because, Decision, Input, Path
from muster.data.ids import ObjectId
from muster.data.kinds import MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, of_kinds
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, digest_of, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import SPEC_DIGEST
from muster.fleet.view import View
from muster.rules.progress.states import Progress
from muster.rules.progress.step import FAILED, PROGRESSING, SUCCEEDED, TO_APPLY, ClusterStatus

OWNER: Final = "work.open-cluster-management.io/manifestworkreplicaset"
PLACEMENT_NAME: Final = "work.open-cluster-management.io/placementname"
#: Where a derived work keeps its state.
BOOK: Final = ("status", "muster")
ROLLOUT: Final = "rollout"
APPLIED, AVAILABLE, DEGRADED = "Applied", "Available", "Degraded"
#: The conditions that summaries count.
COUNTED: Final = (APPLIED, AVAILABLE, PROGRESSING, DEGRADED)
_LONGEST_STEM: Final = 57
_LONGEST_OWNER: Final = 63


def owner_label(set_: ObjectId) -> str:
    """The label by which works belong to a set."""
    return f"{set_.namespace}.{set_.name}"


def owner_of(label: str) -> ObjectId:
    """The set that a label means: no namespace has a dot."""
    namespace, _, name = label.partition(".")
    return MANIFEST_WORK_REPLICA_SET.id(name, namespace)


def is_valid_owner(label: str) -> bool:
    """Is it short enough for a label?"""
    return len(label) <= _LONGEST_OWNER


def work_name(set_: ObjectId) -> str:
    """The name of a set's works, which no other set's works have."""
    return f"{set_.name[:_LONGEST_STEM].rstrip('.-')}-{digest_of(owner_label(set_))[:5]}"


def because_of(owner: str) -> Because:
    """Why a work is as it is."""
    template = Input(("spec", "manifestWorkTemplate"), owner_of(owner))
    return Because("works", (template,), "the template of its set when its turn came")


class WorkState(NamedTuple):
    """What an agent says of a work: a state of a rollout, since when (None: not said), and why."""

    state: str
    since: datetime | None
    why: str


def state_of(generation: int, spec: Tree, status: Tree) -> WorkState:
    """Judge what an agent reports of a work of this generation.

    As upstream, but: a work that is not applied has failed; without a rule for Progressing, an applied and available
    one has succeeded; Degraded is a failure in any case, and of several manifests one is enough.
    """
    by_type = {str(entry.get("type")): entry for entry in mappings_at(status, "conditions")}
    applied, progressing, degraded = (
        _current(by_type.get(type_), generation) for type_ in (APPLIED, PROGRESSING, DEGRADED)
    )
    if applied is None:
        return WorkState(TO_APPLY, None, f"not reported as applied in generation {generation}")
    if applied.get("status") == "False":
        return WorkState(FAILED, _since(applied), "not applied")
    if applied.get("status") != "True" or (DEGRADED in by_type and degraded is None):
        return WorkState(TO_APPLY, None, f"not reported in generation {generation}")
    for degradation in (degraded, *_of_manifests(status)):
        if degradation is not None and degradation.get("status") == "True":
            return WorkState(FAILED, _since(degradation), "degraded")
    if progressing is not None and progressing.get("status") != "False":
        return WorkState(PROGRESSING, _since(progressing), "Progressing is reported")
    if progressing is not None:
        return WorkState(SUCCEEDED, _since(applied, progressing, degraded), "Progressing is reported")
    available = _current(by_type.get(AVAILABLE), generation)
    if PROGRESSING in by_type or has_progressing_rule(spec) or available is None or available.get("status") != "True":
        return WorkState(TO_APPLY, None, "applied, and not reported as available or progressing")
    since = _since(applied, available, degraded)
    return WorkState(SUCCEEDED, since, "applied and available; no rule says when it progresses")


def has_progressing_rule(spec: Tree) -> bool:
    """Does a rule of the work derive Progressing?"""
    rules = (
        rule
        for manifest_config in mappings_at(spec, "manifestConfigs")
        for rule in mappings_at(manifest_config, "conditionRules")
    )
    return any(rule.get("condition") == PROGRESSING for rule in rules)


def reported_true(status: Tree, generation: int) -> list[str]:
    """The counted conditions that are True in this generation. Upstream counts those of earlier ones, too."""
    current = (entry for entry in mappings_at(status, "conditions") if entry.get("observedGeneration") == generation)
    true = {str(entry.get("type")) for entry in current if entry.get("status") == "True"}
    return sorted(true.intersection(COUNTED))


def _current(condition: Tree, generation: int) -> Tree:
    return condition if condition is not None and condition.get("observedGeneration") == generation else None


def _of_manifests(status: Tree) -> list[Tree]:
    conditions = (
        entry
        for manifest in mappings_at(status, "resourceStatus", "manifests")
        for entry in mappings_at(manifest, "conditions")
    )
    return [entry for entry in conditions if entry.get("type") == DEGRADED]


def _since(*conditions: Tree) -> datetime | None:
    """The last transition of some conditions."""
    instants = (try_time(entry.get("lastTransitionTime")) for entry in conditions if entry is not None)
    return max((instant for instant in instants if instant is not None), default=None)


def book(progress: Progress, true: Iterable[str], written: str | None) -> Tree:
    """The record of a work's state in its derived part; `written`: when its spec was written."""
    entry: Tree = {"state": progress.state, "since": format_time(progress.since)}
    if progress.silent_after is not None:
        entry["silentAfter"] = format_time(progress.silent_after)
    if written is not None:
        entry["written"] = written
    if reported := sorted(true):
        entry["reported"] = reported
    return {ROLLOUT: entry}


@dataclass(frozen=True, slots=True)
class Work:
    """A derived work, as sets read it. `revision`: the digest of its template; `true`: its conditions that are True."""

    id: ObjectId
    labels: Mapping[str, str]
    revision: str
    status: ClusterStatus
    true: frozenset[str]

    @property
    def cluster(self) -> str:
        """The cluster that the work is for: its namespace."""
        return self.id.namespace

    def labelled(self, labels: Mapping[str, str]) -> "Work":
        """The work with other labels."""
        return replace(self, labels=labels)


def read_work(id_: ObjectId, decided: Mapping[Path, Decision]) -> Work | None:
    """The work as this run has decided it; None if it belongs to no set."""

    def value(*path: str) -> Tree:
        decision = decided.get(path)
        return None if decision is None else decision.value

    labels = mapping_at(value("metadata", "labels"))
    if not labels.get(OWNER):
        return None
    state = dig(value(*BOOK), ROLLOUT)
    silent_after = try_time(dig(state, "silentAfter"))
    status = ClusterStatus(
        id_.namespace, str(dig(state, "state") or TO_APPLY), try_time(dig(state, "since")), silent_after=silent_after
    )
    revision = mapping_at(value("metadata", "annotations")).get(SPEC_DIGEST)
    return Work(id_, labels, str(revision), status, frozenset(dig(state, "reported") or ()))


def works_by_owner(view: View) -> dict[str, dict[str, list[Work]]]:
    """The derived works of each set, by the label that names the set and by cluster, sorted by name."""
    by_owner: dict[str, dict[str, list[Work]]] = {}
    for id_ in of_kinds(view.decided, MANIFEST_WORK):
        if (work := read_work(id_, view.decisions(id_))) is not None:
            by_owner.setdefault(work.labels[OWNER], {}).setdefault(work.cluster, []).append(work)
    for by_cluster in by_owner.values():
        for works in by_cluster.values():
            works.sort(key=lambda work: work.id)
    return by_owner
