"""First stages: a broken object keeps its last derived state, and the settings in force are recorded.

The desired state of a broken object is unknown, so its previous derived part is decided again, word for word (with the
derived Lease of a broken cluster). Later stages still see the cluster's conditions and taints, and a typing error in
one file moves nothing. The same is done with the results of a stage that fails as a whole because of a fault in muster.
(What was decided for a policy that cannot be read now: `muster.rules.unread_authors`.)

The settings are recorded in the Fleet's derived part, so that an invalid Fleet changes nothing
(`muster.fleet.settings`).
"""

from collections.abc import Iterator
from functools import partial

from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    ALL,
    BESIDE_CLUSTERS,
    CLUSTER_DEPLOYMENT,
    CLUSTER_PROFILE,
    CLUSTERS,
    CSR,
    FLEET,
    LEASE,
    MANAGED_CLUSTER_SET,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    SIG_PLACEMENT_DECISION,
    kind_of,
)
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.fleet import RefsRead
from muster.fleet.settings import RECORD, to_record
from muster.fleet.view import View
from muster.rules.effects.approval import REMOVAL
from muster.rules.policies.in_force import InForce
from muster.rules.stages import METADATA, SPEC, STATUS, HeldRemovals, Local, Stage, UnsoundObjects
from muster.rules.unread_authors import leaves

_BROKEN = Because("kept", OF_ITSELF, "the object has an error, so it keeps its last derived state")
_UNDECIDED = Because("kept", OF_ITSELF, "what it depends on has an error, so it keeps its last derived state")
_LOST = Because(
    "kept", OF_ITSELF, "no readable file declares it now, which may be a mistake, so it keeps its last state"
)
_UNHEARD = Because("kept", OF_ITSELF, "its cluster's agent ref could not be read, so it stays unchanged")
_BESIDE = Because("kept", OF_ITSELF, "its cluster keeps its last derived state, and so do its objects")
_FAULT = Because("kept", OF_ITSELF, "muster could not decide this because of a fault, so it stays unchanged")
_REMOVED = Because("kept", OF_ITSELF, "no file declares the cluster any more, but its removal is held")
_MISSING = Because("kept", OF_ITSELF, "an unreadable file may hold this object, so it stays unchanged")
_ANNOTATIONS: Path = ("metadata", "annotations")
#: Kinds of objects that muster itself declares.
_OWN = (
    LEASE,
    MANAGED_CLUSTER_SET,
    PLACEMENT_DECISION,
    CLUSTER_DEPLOYMENT,
    SIG_PLACEMENT_DECISION,
    CLUSTER_PROFILE,
    MANIFEST_WORK,
    ADD_ON_PLACEMENT_SCORE,
)


def stage(view: View, refs: RefsRead, unsound: UnsoundObjects, withheld: HeldRemovals) -> Iterator[Decision]:
    """Decide again what the last run derived for every broken object."""
    because_of = partial(_because, view, refs, unsound, withheld)
    clusters = {id_.name for id_ in view.broken if kind_of(id_) in CLUSTERS}
    lost = {id_.name for id_ in view.broken if kind_of(id_) in CLUSTERS and id_ not in view.objects}
    for id_ in sorted(view.previous):
        awaited = kind_of(id_) is LEASE and id_.namespace in clusters and id_ not in view.objects
        orphaned = kind_of(id_) in BESIDE_CLUSTERS and id_.namespace in lost and id_ not in view.objects
        if id_ in view.broken or awaited or orphaned:
            yield from _decide_again(id_, _without_removal(view.previous[id_]), because_of(id_))
        elif view.unidentified and id_ not in view.objects:
            yield from _decide_again(id_, view.previous[id_], _MISSING)


def _because(view: View, refs: RefsRead, unsound: UnsoundObjects, withheld: HeldRemovals, id_: ObjectId) -> Because:
    """Why the object keeps its state: its own error, or its cluster's."""
    if id_ in unsound.faulty:
        return _FAULT
    if id_ in unsound.undecided:
        return _UNDECIDED
    name = id_.name if kind_of(id_) in (*CLUSTERS, CLUSTER_DEPLOYMENT) else id_.namespace
    if any(kind.id(name) in withheld for kind in CLUSTERS):
        return _REMOVED
    if id_ not in view.broken:
        return _BESIDE
    if name in refs.unheard or (kind_of(id_) is CSR and id_ not in view.objects and refs.unheard):
        return _UNHEARD
    return _BROKEN if id_ in view.objects else _LOST


def _without_removal(body: Tree) -> Tree:
    """A derived part without the entry that its removal is held, which every run decides again."""
    entries = mappings_at(body, "status", "muster", "held")
    rest = [entry for entry in entries if entry.get("effect") != REMOVAL]
    if len(rest) == len(entries):
        return body
    muster = {key: value for key, value in body["status"]["muster"].items() if key != "held"}
    muster |= {"held": rest} if rest else {}
    status = {key: value for key, value in body["status"].items() if key != "muster"}
    return {**body, "status": {**status, **({"muster": muster} if muster else {})}}


def stage_results(view: View, stage: Stage) -> Iterator[Decision]:
    """Decide again the last run's results of a stage, except for paths already decided in this run."""
    for kinds, paths in stage.derives:
        wanted = {(kind.group, kind.name) for kind in kinds}
        for id_ in sorted(view.previous):
            if (id_.group, id_.kind) in wanted and (id_ in view.objects or kind_of(id_) in _OWN):
                yield from _at_paths(view, id_, paths)


def _at_paths(view: View, id_: ObjectId, paths: tuple[tuple[str, ...], ...]) -> Iterator[Decision]:
    decided = view.decisions(id_)
    for path in paths:
        value = dig(view.previous[id_], *path)
        if value is not None:
            for decision in _decisions(id_, value, path, _FAULT):
                if decision.path not in decided:
                    yield decision
                elif decision.path == _ANNOTATIONS:  # several stages write annotations
                    merged = {**mapping_at(decision.value), **mapping_at(decided[_ANNOTATIONS].value)}
                    yield Decision(id_, _ANNOTATIONS, dict(sorted(merged.items())), _FAULT)


def as_it_stands(view: View, id_: ObjectId, because: Because) -> Iterator[Decision]:
    """Decide the last run's derived part again."""
    return _decide_again(id_, view.previous[id_], because)


def _decide_again(id_: ObjectId, body: Tree, because: Because) -> Iterator[Decision]:
    yield from _decisions(id_, body, (), because)


def _decisions(id_: ObjectId, tree: Tree, at: Path, because: Because) -> Iterator[Decision]:
    for path, value in leaves(tree, kind_of(id_).list_keys, at):
        if path[0] in ("apiVersion", "kind") or path in (("metadata", "name"), ("metadata", "namespace")):
            continue
        yield Decision(id_, path, value, because)


STAGE = Local("kept", stage, derives=((ALL, (METADATA, SPEC, STATUS)),), foundation=True)


_IN_FORCE = Because("settings", OF_SPEC, "what this run went by; it stays in force while the Fleet has an error")


def record_settings(view: View, rules: InForce) -> Iterator[Decision]:
    """Record the settings in force: of a valid Fleet, or of the last run. Of two Fleets neither is broken, and both
    would forget."""
    if record := to_record(rules.settings):
        for obj in view.of(FLEET):
            if obj.id not in view.broken:
                yield Decision(obj.id, RECORD, record, _IN_FORCE)


SETTINGS = Local("settings", record_settings, derives=(((FLEET,), (RECORD,)),))
