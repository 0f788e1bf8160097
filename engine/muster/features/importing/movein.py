"""The files that an import writes: what the repository does not have yet of each object, each part in its place."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    ALL,
    CLUSTER_DEPLOYMENT,
    CSR,
    LEASE,
    PLACEMENT_DECISION,
    kind_of,
)
from muster.data.locations import derived_path
from muster.data.source import Part
from muster.data.tree import mapping_at
from muster.data.yaml.emitter import UnwritableError, file_text
from muster.dataclass import dataclass
from muster.features.importing import messages
from muster.features.importing.dump import Dump
from muster.features.importing.sorting import Sorted, placement_of, sort_object
from muster.fleet.adoption import Deciders
from muster.fleet.derived import derived_text
from muster.fleet.fleet import Fleet
from muster.fleet.layout import DECLARED, REPORTED, file_places
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.rules.effects.budget import ALLOW_DISRUPTION

#: Returns why a file cannot be written at a path of the repository; empty if it can.
Obstacle: TypeAlias = Callable[[str], str]

_ORDER: Final = {(kind.group, kind.name): number for number, kind in enumerate(ALL)}
#: The suffix of a proposal's file, which muster does not read.
_PROPOSED: Final = ".proposed"
#: Kinds that muster declares: their objects exist if they are derived.
_DECLARED_HERE: Final = (PLACEMENT_DECISION, CLUSTER_DEPLOYMENT)


@dataclass
class MoveIn:
    """What an import does: new files and files with another text, by path; the objects that it takes over, those that
    are here already, those that it only proposes, and those that it leaves to their agents."""

    created: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    imported: list[ObjectId] = field(default_factory=list)
    here: list[ObjectId] = field(default_factory=list)
    proposed: list[ObjectId] = field(default_factory=list)
    reports: list[ObjectId] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def move_in(
    fleet: Fleet,
    dump: Dump,
    obstacle: Obstacle,
    *,
    own_paths: frozenset[str] = frozenset(),
    replacing: bool = False,
    without_reports: bool = False,
) -> MoveIn:
    """Return what an import of a dump into a repository writes, `without_reports` of agents if a relay has these.

    `fleet` is the repository as assembled; `own_paths` are files of it that are the dump itself. With `replacing`, an
    object that stands in the files in which an import puts it is written anew; else what is here stays as it is.
    """
    done = MoveIn()
    existing = {
        id_
        for id_, obj in fleet.objects.items()
        if any(p.source.path not in own_paths and not (without_reports and p.source.ref) for p in obj.parts)
    }
    existing |= {id_ for id_ in fleet.broken if id_ not in fleet.objects}
    existing |= {id_ for id_ in fleet.previous if kind_of(id_) in _DECLARED_HERE}
    existing |= {id_ for id_, part in dump.objects.items() if _is_decided_here(fleet, part)}
    moving = {id_: Object(id_, part.body, (part,)) for id_, part in dump.objects.items()}
    by_id: dict[ObjectId, Object] = {**moving, **{id_: fleet.objects[id_] for id_ in existing & fleet.objects.keys()}}
    deciders = Deciders.of(by_id)
    alone = _alone(fleet) if replacing else {}
    for id_ in sorted(dump.objects, key=lambda id_: (_ORDER[id_.group, id_.kind], id_)):
        part = dump.objects[id_]
        if id_ in existing and not (replacing and id_ in fleet.objects):
            done.here.append(id_)
            continue
        if _commands(part):
            _propose(done, part, obstacle)
            continue
        parts = sort_object(part, deciders, by_id)
        if without_reports:
            parts = _without_report(part, parts)
            if parts == Sorted():
                done.reports.append(id_)
                continue
        try:
            if id_ in existing:
                _replace(done, fleet.objects[id_], part, parts, alone, obstacle)
            else:
                _place(done, fleet, part, parts, obstacle)
        except UnwritableError as error:
            done.findings.append(messages.no_place(id_, part.source.label, str(error)))
    return done


def _without_report(part: Part, parts: Sorted) -> Sorted:
    """The parts of an object without what its agents report."""
    kind, wish = kind_of(part.id), parts.wish
    if kind in (LEASE, CSR, ADD_ON_PLACEMENT_SCORE):
        wish = None
    elif kind.reported and wish is not None:
        wish = {name: section for name, section in wish.items() if name != "status"}
    return Sorted(wish, derived=parts.derived)


def _commands(part: Part) -> bool:
    """Does an object tell muster what to do: policies, settings, and what people elsewhere answered for or allowed?"""
    return kind_of(part.id).commands or ALLOW_DISRUPTION in mapping_at(part.body, "metadata", "annotations")


def _propose(done: MoveIn, part: Part, obstacle: Obstacle) -> None:
    """Write an object where nobody reads it, for people to look at."""
    place = next(file_places(part, DECLARED))
    path = f"{place}{_PROPOSED}"
    if obstacle(path) or path in done.created:
        done.here.append(part.id)  # it was proposed before
        return
    done.created[path] = file_text(part.body)
    done.proposed.append(part.id)
    done.findings.append(messages.proposed(part, path))


def _is_decided_here(fleet: Fleet, part: Part) -> bool:
    """Whether a decision is of a Placement that chooses here already: what another hub chose for it moves nothing."""
    if kind_of(part.id) is not PLACEMENT_DECISION:
        return False
    placement = placement_of(part)
    return placement in fleet.objects and SPEC_DIGEST in mapping_at(
        fleet.previous.get(placement), "metadata", "annotations"
    )


def _place(done: MoveIn, fleet: Fleet, part: Part, parts: Sorted, obstacle: Obstacle) -> None:
    """Find a place for every part of a new object; where one has none, the object is left out as a whole."""
    files: dict[str, str] = {}
    report = None if part.id in fleet.undeclared else parts.report  # its agent says it already
    derived = None if part.id in fleet.previous else parts.derived
    for role, body in ((DECLARED, parts.wish), (REPORTED, report)):
        if body is not None:
            path, reason = _free(file_places(part, role), done.created.keys() | files.keys(), obstacle)
            if reason:
                done.findings.append(messages.no_place(part.id, path, reason))
                return
            files[path] = file_text(body)
    if derived is not None:
        path = derived_path(part.id, fleet.settings.shards)
        if reason := obstacle(path):
            done.findings.append(messages.no_place(part.id, path, reason))
            return
        files[path] = derived_text(derived)
    done.created.update(files)
    done.imported.append(part.id)


def _free(candidates: Iterable[str], taken: Iterable[str], obstacle: Obstacle) -> tuple[str, str]:
    """The first place where nothing is; else the last one that was tried, and what is in the way there."""
    path = reason = ""
    for path in candidates:
        reason = "another object of the dump goes there" if path in taken else obstacle(path)
        if not reason:
            return path, ""
    return path, reason


def _alone(fleet: Fleet) -> Mapping[str, ObjectId]:
    """The files that hold one document, by path, and whose it is."""
    by_file = grouped((part.source.label, part) for obj in fleet.objects.values() for part in obj.parts)
    return {path: parts[0].id for path, parts in by_file.items() if len(parts) == 1 and not parts[0].source.ref}


def _replace(
    done: MoveIn, obj: Object, part: Part, parts: Sorted, alone: Mapping[str, ObjectId], obstacle: Obstacle
) -> None:
    """Write an object anew, where all of it stands in files of its own that an import would have written."""
    replaced: dict[str, str] = {}
    created: dict[str, str] = {}
    left = {own_part.source.label: own_part for own_part in obj.parts}
    for role, body in ((DECLARED, parts.wish), (REPORTED, parts.report)):
        path = next((path for path in file_places(part, role) if path in left and alone.get(path) == obj.id), None)
        if path is not None:
            own_part = left.pop(path)
            if body is not None and (text := file_text(body)) != own_part.source.read().decode("utf-8", "replace"):
                replaced[path] = text
        elif body is not None:
            path, reason = _free(file_places(part, role), done.created.keys() | created.keys(), obstacle)
            if not reason:
                created[path] = file_text(body)
    if left:
        done.findings.append(messages.elsewhere(next(iter(left.values()))))
        done.here.append(obj.id)
        return
    (done.imported if replaced or created else done.here).append(obj.id)
    done.replaced.update(replaced)
    done.created.update(created)


__all__ = ["MoveIn", "Obstacle", "move_in"]
