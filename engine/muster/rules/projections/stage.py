"""The stages of Projections: files for the tools that act on muster's decisions.

A file for each cluster is decided with its cluster, and the rest with what the fleet shares. Each file is recorded in
`status.muster.projections` (`muster.fleet.projected`): of its cluster, or of the Projection. The record keeps the file:
if an expression fails, or what it reads has an error, the entry stays, and so does the file. If the entry goes, so does
the file.

Two files of one path, or with paths that a file system cannot hold together, are an error of the Projection: all that
collide stay as they were.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Final, NamedTuple

from muster import cel
from muster.data.codes import Code
from muster.data.decision import Because, Decision, Failed, Input, ProjectedFile
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, PROJECTION, is_cluster
from muster.data.locations import projected_path
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.projected import PROJECTIONS, entries_of, record_of, records
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope, WitnessedScope
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.trees import UnfitError
from muster.rules.projections.files import check_path, object_text, objects_text, plain_text
from muster.rules.projections.policy import Projection
from muster.rules.projections.sources import ProjectionInputs, ProjectionItem, UnreadInput
from muster.rules.rollouts.policy import Rollout
from muster.rules.stages import GoverningObjects, Local, ObjectTerm, Wide
from muster.rules.unread_authors import EntryAuthor

_AT_PATH: Final[At] = ("spec", "path")
_AT_WHEN: Final[At] = ("spec", "select", "expression")
_KEPT: Final = "what it reads has an error, so the file stays as it is"
_ALL_ITEMS: Final = "all"
_FORMS: Final = {"object": object_text, "objects": objects_text}
_MOST_NAMED: Final = 3


class ProjectedText(NamedTuple):
    """A file's path in the repository, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordsBefore(ObjectTerm):
    """What the last run recorded of a cluster's files."""

    entries: Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class Projector:
    """Evaluates Projections in one stage."""

    inputs: ProjectionInputs
    scopes: Scopes
    failures: Failures = field(default_factory=Failures)

    @classmethod
    def of(cls, view: View, rules: InForce, now: datetime) -> "Projector":
        """Prepare for the objects of a view."""
        compiled = rules.compiled.of(Rollout)
        return cls(ProjectionInputs(view, rules.settings, compiled), Scopes.of(view, rules, now))

    def selects(self, projection: Projection, item: ProjectionItem, values: Mapping[str, object]) -> bool:
        """Is there a file for the item? Raises PolicyFailure."""
        if projection.when is None:
            return True
        return self._evaluate(projection, item.about, values, projection.when, _AT_WHEN) is True

    def project(self, projection: Projection, about: ObjectId, values: Mapping[str, object]) -> ProjectedText:
        """Return the file of an item. Raises PolicyFailure."""
        at: At = _AT_PATH
        path = self._evaluate(projection, about, values, projection.path, at)
        try:
            check_path(path)
            at = projection.content_at
            value = self._evaluate(projection, about, values, projection.content, at)
            text = plain_text(value) if projection.form == "text" else _FORMS[projection.form](value, path)
        except UnfitError as error:
            raise PolicyFailure(projection.form, at, cel.EvaluationError(str(error)), error.hint) from None
        return ProjectedText(projected_path(projection.id.name, path), text)

    def _evaluate(
        self, projection: Projection, about: ObjectId, values: Mapping[str, object], program: cel.Program, at: At
    ) -> Tree:
        rules, note = self.scopes.rules, self.scopes.note(projection.id, about)
        fleetwide = projection.source.gathered is not None and about == projection.id
        share = rules.settings.policy_cost if fleetwide else rules.share((projection.kind,))
        scope = PolicyScope(values, {}, share) if note is None else WitnessedScope(values, {}, share, note)
        try:
            return scope.evaluate(program, at)
        except cel.EvaluationError as error:
            raise PolicyFailure(str(at[-1]), at, error) from error


def _decide(owner: ObjectId, entry: str, record: Tree, because: Because) -> Decision:
    return Decision(owner, (*PROJECTIONS, entry), record, because)


def _because(projection: ObjectId, about: ObjectId, text: str = "") -> Because:
    return Because(str(projection), (Input(("spec",), projection), Input(("metadata", "name"), about)), text)


# -- the file of each cluster


def of_clusters(
    view: View, now: datetime, rules: InForce
) -> Iterator[Decision | ProjectedFile | RecordsBefore | Failed | Finding]:
    """Decide the files that each cluster has of its own."""
    compiled = rules.compiled.of(Projection)
    projections = {projection.id: projection for projection in compiled if projection.source.of_cluster}
    projector = Projector.of(view, rules, now)

    def decide(obj: Object) -> Iterator[Decision | ProjectedFile | RecordsBefore]:
        before = entries_of(view.previous.get(obj.id))
        if before:
            yield RecordsBefore(obj.id, before)
        for id_, projection in projections.items():
            if projection.kind is obj.kind:
                item = projector.inputs.item(obj.id, id_.name, "cluster")
                yield from _outcomes(projector, projection, item, obj.id, before.get(id_.name))

    if projections or any(entries_of(view.previous.get(obj.id)) for obj in view.clusters()):
        yield from each(view.clusters(), decide)
    yield from projector.failures.failed


def _outcomes(
    projector: Projector, projection: Projection, item: ProjectionItem, owner: ObjectId, before: Tree
) -> Iterator[Decision | ProjectedFile]:
    """Yield the record of an item's file, with the file if it is decided now."""
    if item.broken:
        if before is not None:
            yield _decide(owner, item.entry, before, _because(projection.id, item.about, _KEPT))
        return
    if not projection.selector.matches(item.labels):
        return
    try:
        values = item.values()
        if not projector.selects(projection, item, values):
            return
        path, text = projector.project(projection, item.about, values)
    except PolicyFailure as failure:
        projector.failures.add(projection, failure, item.about)
        if before is not None:
            yield _decide(owner, item.entry, before, _because(projection.id, item.about, "its expression fails"))
        return
    yield _decide(owner, item.entry, record_of(path, text), _because(projection.id, item.about))
    yield ProjectedFile(owner, item.entry, text)


# -- the files that the fleet shares


def of_fleet(
    shared: Shared,
    now: datetime,
    rules: InForce,
    governing: GoverningObjects,
    recorded: Mapping[ObjectId, RecordsBefore],
) -> Iterator[Decision | ProjectedFile | Failed | Finding]:
    """Decide all other files, and which files collide."""
    projections = {projection.id: projection for projection in rules.compiled.of(Projection)}
    projector = Projector.of(shared, rules, now)

    def decide(obj: Object) -> Iterator[Decision | ProjectedFile]:
        projection = projections.get(obj.id)
        if projection is not None and not projection.source.of_cluster:
            yield from _of_projection(projector, projection, entries_of(shared.previous.get(obj.id)))

    outcomes = list(each(shared.of(PROJECTION), decide))
    yield from outcomes
    failed = grouped(((failure.policy, failure.at), failure) for failure in projector.failures.failed)
    for (owner, _), failures in failed.items():  # a shard records its failures at objects that it decides
        message = f"{failures[0].message} (for {failures[0].object})"
        yield failures[0]._replace(object=owner, message=message, number=len(failures))
    decided = (outcome for outcome in outcomes if isinstance(outcome, Decision))
    yield from _collisions(shared.with_decisions(decided), governing, recorded, projections)


def _of_projection(
    projector: Projector, projection: Projection, before: Mapping[str, Tree]
) -> Iterator[Decision | ProjectedFile]:
    inputs, source, owner = projector.inputs, projection.source, projection.id
    if source.gathered is not None:
        yield from _gathered(projector, projection, before.get(_ALL_ITEMS))
        return
    if inputs.view.unidentified:
        for entry in sorted(before):
            yield _decide(owner, entry, before[entry], _because(owner, owner, _KEPT))
        return
    for item in source.items(inputs, projection.kind, projection.named):
        yield from _outcomes(projector, projection, item, owner, before.get(item.entry))


def _gathered(projector: Projector, projection: Projection, before: Tree) -> Iterator[Decision | ProjectedFile]:
    """Decide the one file about all items."""
    inputs, source, owner = projector.inputs, projection.source, projection.id
    assert source.gathered is not None
    item, chosen = None, list[Mapping[str, object]]()
    try:
        for item in source.items(inputs, projection.kind, projection.named):
            if projection.selector.matches(item.labels) and projector.selects(
                projection, item, values := item.values()
            ):
                chosen.append(values)
        item = None
        path, text = projector.project(projection, owner, source.gathered(inputs, chosen))
    except (UnreadInput, PolicyFailure) as error:
        if isinstance(error, PolicyFailure):
            projector.failures.add(projection, error, owner if item is None else item.about)
        if before is not None:
            reason = "its expression fails" if isinstance(error, PolicyFailure) else _KEPT
            yield _decide(owner, _ALL_ITEMS, before, _because(owner, owner, reason))
        return
    yield _decide(owner, _ALL_ITEMS, record_of(path, text), _because(owner, owner))
    yield ProjectedFile(owner, _ALL_ITEMS, text)


# -- collisions


class _RecordedFile(NamedTuple):
    path: str
    owner: ObjectId
    entry: str

    @property
    def label(self) -> str:
        """The object that the file is written for."""
        return self.owner.name if is_cluster(self.owner) else self.entry


def _collisions(
    shared: View,
    governing: GoverningObjects,
    recorded: Mapping[ObjectId, RecordsBefore],
    projections: Mapping[ObjectId, Projection],
) -> Iterator[Decision | ProjectedFile | Finding]:
    """Report the files whose paths collide; they stay as they were, with their entries."""
    by_projection: dict[str, list[_RecordedFile]] = {}
    for id_, decisions in shared.decided.items():
        if is_cluster(id_) or PROJECTION.has(id_):
            for entry, record in records(decisions).items():
                name = entry if is_cluster(id_) else id_.name
                by_projection.setdefault(name, []).append(_RecordedFile(record["file"], id_, entry))
    for name, files in sorted(by_projection.items()):
        colliding = _colliding(files)
        projection = projections.get(PROJECTION.id(name))
        if not colliding or projection is None:
            continue
        obj = shared.objects[projection.id]
        yield _collision(obj, colliding)
        for file in colliding:
            if file.owner in governing.objects or not is_cluster(file.owner):
                before = entries_of(shared.previous.get(file.owner)).get(file.entry)
            else:
                records_before = recorded.get(file.owner)
                before = records_before.entries.get(file.entry) if records_before is not None else None
            yield _decide(
                file.owner, file.entry, before, _because(projection.id, file.owner, "two files have its path")
            )
            yield ProjectedFile(file.owner, file.entry, None)


def _colliding(files: list[_RecordedFile]) -> list[_RecordedFile]:
    """The files with the path of another, of its folder, or of either in another case."""
    by_path: dict[str, list[_RecordedFile]] = {}
    for file in files:
        by_path.setdefault(file.path.lower(), []).append(file)
    wrong = {path for path, files_there in by_path.items() if len(files_there) > 1}
    for path in by_path:
        steps = path.split("/")
        above = {"/".join(steps[:number]) for number in range(1, len(steps))} & by_path.keys()
        if above:
            wrong |= {path, *above}
    return sorted(file for path in wrong for file in by_path[path])


def _collision(obj: Object, colliding: list[_RecordedFile]) -> Finding:
    labels = sorted(file.label for file in colliding)
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    names = ", ".join(labels[:_MOST_NAMED]) + more
    message = f"files of {obj.id} collide at {colliding[0].path}: those for {names}"
    hint = "put the cluster's name into the path; until then these files stay as they are"
    return finding_at(obj, _AT_PATH, Code.PROJECTIONS_COLLIDE, message, hint)


OF_CLUSTERS = Local(
    "projections of clusters",
    of_clusters,
    derives=((CLUSTERS, (PROJECTIONS,)),),
    authors=(EntryAuthor(PROJECTION, CLUSTERS, PROJECTIONS),),
)
OF_FLEET = Wide("projections", of_fleet, derives=(((PROJECTION,), (PROJECTIONS,)),))
