"""From parts to objects, and from objects to a fleet.

An object is the merge of all input parts that name it. Parts that contradict each other are a finding that names both
places, and only that object is broken.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

from muster.data.codes import Code, Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.snapshot import Snapshot
from muster.data.source import Layer, Part, Place
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet import agent_messages, messages
from muster.fleet.acceptance import is_only_reported, removed_clusters, with_automatic_acceptance
from muster.fleet.adoption import adopt
from muster.fleet.agents import filter_agent_parts
from muster.fleet.approvals import is_human_decision, with_bound_decisions
from muster.fleet.declaration import is_declared
from muster.fleet.faults import attempt
from muster.fleet.files import builtin_objects, builtin_tests, read
from muster.fleet.fleet import Fleet, ReadFiles, RefsRead
from muster.fleet.foreign import by_kind
from muster.fleet.merge import overlay
from muster.fleet.objects import Object
from muster.fleet.places import places_of
from muster.fleet.reading import FilesRead, HeldByReports
from muster.fleet.report_parts import is_forgotten, merge_parts
from muster.fleet.settings import settings_of
from muster.fleet.vanished.find import find_vanished
from muster.fleet.vocabulary import rename_conditions, translate_builtin


def assemble(snapshot: Snapshot, *, obeying: bool = True, partial: bool = False) -> Fleet:
    """Read a snapshot and return its fleet, with all problems in its findings.

    Schemas are checked elsewhere (`muster.rules.checks.validate`). `obeying` False: the Fleet object is known to be
    invalid, so its settings do not count. `partial`: the snapshot holds only some of the fleet's files.
    """
    reading = read(snapshot)
    previous, derived_paths = _previous(reading)
    written = (part for part in reading.parts if part.layer is Layer.INPUT)
    inputs = filter_agent_parts(written, snapshot.agents.identities)
    grouped = _grouped(inputs.parts)
    declared = {id_ for id_, parts in grouped.items() if is_declared(id_, parts, previous.get(id_))}
    removed = removed_clusters(previous)
    alone = {id_ for id_ in declared if is_only_reported(id_, grouped[id_], previous.get(id_), removed)}
    missed = find_vanished(snapshot, reading, previous, declared - alone, partial=partial)
    for id_ in alone & missed.broken:
        # While a file of people's is damaged, the agent's proposal does not count as a declaration.
        grouped[id_] = [replace(part, body=without_spec(part.body)) for part in grouped[id_]]
    for part in missed.stand_ins:
        grouped.setdefault(part.id, []).append(part)
    held = HeldByReports()
    if inputs.bare or any(reports.ids or reports.paths for reports in reading.unread_reports.values()):
        from muster.fleet.unread_reports import held_by_reports  # of broken reports alone

        held = held_by_reports(reading.unread_reports, inputs, previous)
    joining = _Joining(
        declared,
        alone,
        frozenset(previous) if missed.unidentified else frozenset(),
        reading.broken | missed.broken | held.broken,
        departed=dict.fromkeys(removed.difference(id_.name for id_ in declared - alone)),
    )
    for id_, parts in grouped.items():
        joining.add(id_, parts)
    objects, previous = adopt(joining.objects, previous)
    settings, unsettled = settings_of(
        objects, previous, joining.broken, unidentified=missed.unidentified, obeying=obeying
    )
    replaced = objects.keys() | joining.broken  # also by an object in a file that cannot be read any more
    builtin = {id_: obj for id_, obj in translate_builtin(builtin_objects(), settings).items() if id_ not in replaced}
    previous = rename_conditions(previous, (*objects.values(), *builtin.values()))
    objects = with_automatic_acceptance(objects, previous, settings)
    objects, previous, unbound = with_bound_decisions(objects, previous, reading.parts, snapshot.agents.identities)
    unvouched = list[Finding]()
    if settings.signing_required:
        from muster.fleet.vouching import with_vouched_certificates  # few fleets sign

        objects, previous, unvouched = with_vouched_certificates(objects, previous, settings)
    reported = (finding for finding in reading.findings if not settings.is_foreign(reading.groups.get(finding)))
    of_parts = (*inputs.findings, *missed.findings, *held.findings, *joining.findings)
    findings = (*reported, *of_parts, *unsettled, *unbound, *unvouched)
    return Fleet(
        objects=objects,
        previous=previous,
        settings=settings,
        broken=frozenset(joining.broken),
        undeclared=frozenset(joining.undeclared),
        departed=joining.departed,
        unidentified=missed.unidentified,
        derived_paths=derived_paths,
        asked=inputs.asked,
        findings=findings,
        read=ReadFiles(
            reading.parts,
            missed.slips,
            missed.since,
            by_kind(reading.foreign),
            snapshot.authors,
            builtin,
            reading.derived_files,
            missed.allowed,
            missed.unused,
        ),
        refs=RefsRead(unread=held.clusters),
    )


def builtin_tests_of(fleet: Fleet) -> list[Object]:
    """Return the tests of the built-in policies in the fleet's vocabulary, without those that it replaces."""
    replaced = fleet.objects.keys() | fleet.broken
    return [obj for id_, obj in translate_builtin(builtin_tests(), fleet.settings).items() if id_ not in replaced]


@dataclass
class _Joining:
    """Merges parts into objects, one object at a time.

    `declared`: objects with a spec from anyone; `alone`: those of them that only agents report now; `kept`: those that
    an unreadable file may hold.
    """

    declared: Collection[ObjectId]
    alone: Collection[ObjectId]
    kept: Collection[ObjectId]
    broken: set[ObjectId]
    departed: dict[str, Object | None]
    undeclared: set[ObjectId] = field(default_factory=set)
    objects: dict[ObjectId, Object] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @cached_property
    def misnamed(self) -> frozenset[tuple[str, str]]:
        """Kinds and names in lower case of declared objects whose names have capitals: each of them has a finding."""
        return frozenset((id_.kind, id_.name.lower()) for id_ in self.declared if id_.name != id_.name.lower())

    def add(self, id_: ObjectId, parts: Sequence[Part]) -> None:
        """Merge the parts of an object, or record why it is not in the fleet."""
        if id_ in self.alone and id_ not in self.broken and id_ not in self.kept:
            self.findings.append(agent_messages.removed_cluster_reports(parts[0]))
            self.departed[id_.name] = Object(id_, parts[0].body, tuple(parts))
            return
        if id_ not in self.declared and id_ not in self.broken:
            if id_ not in self.kept:
                if not all(map(is_human_decision, parts)) and (id_.kind, id_.name) not in self.misnamed:
                    self.findings.append(agent_messages.undeclared_cluster(parts[0]))
                self.undeclared.add(id_)
                return
            self.broken.add(id_)  # its agent's reports count all the same
        assembled = attempt(parts[0], partial(merge_parts, id_, parts))
        if isinstance(assembled, Finding):
            self.findings.append(assembled)
            self.broken.add(id_)
            self.objects[id_] = Object(id_, parts[0].body, tuple(parts))
            return
        self.objects[id_], conflicts, repeats = assembled
        self.findings.extend((*repeats, *_conflict_findings(self.objects[id_], conflicts)))
        repeated = (finding for finding in repeats if finding.code == Code.REPORT_REPEATS_PART)
        by_people = any(finding.severity is Severity.ERROR for finding in repeated)
        if conflicts or (by_people and not is_forgotten(id_)):
            self.broken.add(id_)


def without_spec(body: Tree) -> Tree:
    """The part's body without what it declares."""
    return {name: section for name, section in body.items() if name != "spec"}


def _grouped(parts: Iterable[Part]) -> dict[ObjectId, list[Part]]:
    grouped: dict[ObjectId, list[Part]] = defaultdict(list)
    for part in parts:
        grouped[part.id].append(part)
    return grouped


def _conflict_findings(obj: Object, conflicts: Iterable[Path]) -> Iterable[Finding]:
    """One finding for each pair of files, whatever the number of fields that both set."""
    of_pair: dict[tuple[str, str], tuple[list[Path], Place, Place]] = {}
    for path in dict.fromkeys(conflicts):
        first, *others = places_of(obj.parts, path)
        for other in others:
            of_pair.setdefault((first.file, other.file), ([], other, first))[0].append(path)
    for paths, other, first in of_pair.values():
        yield messages.conflict(obj.id, paths, other, first)


def _previous(reading: FilesRead) -> tuple[dict[ObjectId, Tree], dict[ObjectId, str]]:
    """The last run's derived parts. If a moved shard left two derived files of one object, both count."""
    previous: dict[ObjectId, Tree] = {}
    paths: dict[ObjectId, str] = {}
    for part in reading.parts:
        if part.layer is Layer.DERIVED:
            merged = previous.get(part.id)
            previous[part.id] = overlay(merged, part.body, kind_of(part.id).list_keys) if merged else part.body
            paths[part.id] = part.source.path
    return previous, paths
