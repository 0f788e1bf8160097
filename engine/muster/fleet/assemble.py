"""From parts to objects, and from objects to a fleet.

An object is the merge of every input part that names it. Parts of one object that contradict each other are a
finding that names both places, and break that object alone.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from muster.fleet import agent_messages, messages
from muster.fleet.acceptance import is_left_alone, removed_before, with_automatic_acceptance
from muster.fleet.adoption import with_adopted
from muster.fleet.agents import admitted
from muster.fleet.approvals import with_bound_decisions
from muster.fleet.builtin import builtin_objects
from muster.fleet.faults import attempt
from muster.fleet.fleet import Fleet
from muster.fleet.foreign import by_kind
from muster.fleet.heard import joined
from muster.fleet.merge import overlay
from muster.fleet.missed import find_missed
from muster.fleet.objects import Object
from muster.fleet.places import places_of
from muster.fleet.reading import Reading, read
from muster.fleet.settings import settings_of
from muster.fleet.vocabulary import in_vocabulary, moved
from muster.model.decision import Path
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, CSR, kind_of
from muster.model.snapshot import Snapshot, authors_of
from muster.model.source import Layer, Part
from muster.model.tree import Tree, dig

_DECLARED = (*CLUSTERS, CSR)


def assemble(snapshot: Snapshot, *, obeying: bool = True) -> Fleet:
    """Read a snapshot and return its fleet, with everything that was wrong on the way in its findings.

    Not validated against schemas: `muster.check.validate` does that. `obeying` False: the Fleet is known to have an
    error, so its settings do not count.
    """
    reading = read(snapshot)
    findings = list(reading.findings)
    broken, undeclared = set(reading.broken), set[ObjectId]()
    previous, derived_paths = _previous(reading)
    objects: dict[ObjectId, Object] = {}
    inputs = admitted(part for part in reading.parts if part.layer is Layer.INPUT)
    findings.extend(inputs.findings)
    grouped = _grouped(inputs.parts)
    declared = {id_ for id_, parts in grouped.items() if _declared(id_, parts, previous.get(id_))}
    removed = removed_before(previous)
    alone = {id_ for id_ in declared if is_left_alone(id_, grouped[id_], previous.get(id_), removed)}
    missed = find_missed(snapshot, reading, previous, declared - alone)
    findings.extend(missed.findings)
    broken |= missed.broken
    for id_ in alone & missed.broken:
        # A slip of people's pens is not the moment to take an agent at its word.
        grouped[id_] = [replace(part, body=without_spec(part.body)) for part in grouped[id_]]
    for part in missed.stand_ins:
        grouped.setdefault(part.id, []).append(part)
    unidentified = missed.unidentified
    departed: dict[str, Object | None] = dict.fromkeys(removed.difference(id_.name for id_ in declared - alone))
    for id_, parts in grouped.items():
        if id_ in alone and id_ not in broken and not (unidentified and id_ in previous):
            findings.append(agent_messages.departed(id_, parts[0]))
            departed[id_.name] = Object(id_, parts[0].body, tuple(parts))
            continue
        if id_ not in declared and id_ not in broken:
            if not (unidentified and id_ in previous):
                findings.append(agent_messages.undeclared(id_, parts[0]))
                undeclared.add(id_)
                continue
            broken.add(id_)  # its declaration may be in the file that cannot be read; its agent is heard all the same
        assembled = attempt(parts[0], partial(joined, id_, parts))
        if isinstance(assembled, Finding):
            findings.append(assembled)
            broken.add(id_)
            objects[id_] = Object(id_, parts[0].body, tuple(parts))
            continue
        obj, conflicts, twice = assembled
        findings.extend(twice)
        objects[id_] = obj
        if conflicts:
            broken.add(id_)
            findings.extend(_conflict_findings(obj, conflicts))
    objects, previous = with_adopted(objects, previous)
    settings, unsettled = settings_of(objects, previous, broken, unidentified=unidentified, obeying=obeying)
    findings.extend(unsettled)
    builtin = {id_: obj for id_, obj in in_vocabulary(builtin_objects(), settings).items() if id_ not in objects}
    previous = moved(previous, (*objects.values(), *builtin.values()))
    objects = with_automatic_acceptance(objects, previous, settings)
    objects, previous, unbound = with_bound_decisions(objects, previous)
    findings.extend(unbound)
    return Fleet(
        objects=objects,
        previous=previous,
        settings=settings,
        builtin=builtin,
        broken=frozenset(broken),
        undeclared=frozenset(undeclared),
        departed=departed,
        unidentified=unidentified,
        whole_at=missed.since,
        allowances=missed.allowances,
        asked=inputs.asked,
        findings=tuple(findings),
        derived_files=reading.derived_files,
        derived_paths=derived_paths,
        foreign=by_kind(reading.foreign),
        authors=authors_of(snapshot),
    )


def without_spec(body: Tree) -> Tree:
    """A part without what it declares."""
    return {name: section for name, section in body.items() if name != "spec"}


def _grouped(parts: Iterable[Part]) -> dict[ObjectId, list[Part]]:
    grouped: dict[ObjectId, list[Part]] = defaultdict(list)
    for part in parts:
        grouped[part.id].append(part)
    return grouped


def _declared(id_: ObjectId, parts: Iterable[Part], previous: Tree) -> bool:
    """A cluster exists when somebody gives it a spec; an agent's status alone does not make one.

    A ClusterDeployment is declared by a person, or by muster for a pool: then its inputs are reports.
    """
    if CLUSTER_DEPLOYMENT.has(id_):
        return any(dig(body, "spec", "clusterName") for body in (previous, *(part.body for part in parts)))
    return kind_of(id_) not in _DECLARED or any("spec" in part.body for part in parts)


def _conflict_findings(obj: Object, conflicts: Iterable[Path]) -> Iterable[Finding]:
    for path in dict.fromkeys(conflicts):
        places = places_of(obj.parts, path)
        for place in places[1:]:
            yield messages.conflict(obj.id, path, place, (places[0],))


def _previous(reading: Reading) -> tuple[dict[ObjectId, Tree], dict[ObjectId, str]]:
    """What the last run derived. Two derived files of one object are an accident of a moved shard: both count."""
    previous: dict[ObjectId, Tree] = {}
    paths: dict[ObjectId, str] = {}
    for part in reading.parts:
        if part.layer is Layer.DERIVED:
            known = previous.get(part.id)
            previous[part.id] = overlay(known, part.body, kind_of(part.id).list_keys) if known else part.body
            paths[part.id] = part.source.path
    return previous, paths
