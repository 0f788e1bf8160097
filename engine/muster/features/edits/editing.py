"""Edits by command, each one commit: accept, deny and taint change one field of a file; claim, release and waive one
file.

Nothing else in a file changes, not even comments (`muster.data.yaml.edit`). The edited fleet is validated before the
commit: an edit that would break a valid object is refused, with the findings.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import PurePosixPath

from muster.cli.listening import READER, agent_refs_at
from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, kind_of
from muster.data.names import did_you_mean
from muster.data.snapshot import Agents
from muster.data.source import Part
from muster.data.tree import Tree, dig
from muster.data.yaml import edit
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.schema_store import FOLDER, modeline, schema_of
from muster.git.derivedbranch import evaluated_commit
from muster.git.errors import RepositoryError
from muster.git.fastimport import build_commit
from muster.git.landing.landing import PushRejectedError, find_tips, land
from muster.git.landing.landing_derived import find_derived_tips
from muster.git.open import open_commit
from muster.git.repository import Repository
from muster.git.trees import list_tree
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot
from muster.run.overlay import Overlay


class EditRefusedError(Exception):
    """An edit cannot be made; `findings`: what would be wrong with the fleet afterwards."""

    def __init__(self, message: str, hint: str = "", findings: Iterable[Finding] = ()) -> None:
        super().__init__(message)
        self.hint = hint
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Edited:
    """Result of an edit: the commit (None: nothing to change) and a line per change; `refused`: a line per change that
    was not made, with the reason; `waiting`: what a person has to decide first."""

    commit: str | None
    changes: tuple[str, ...]
    refused: tuple[str, ...] = ()
    pushed: bool = False
    left_behind: str = ""
    followed: str = ""
    waiting: tuple[str, ...] = ()


@dataclass
class Draft:
    """Edits of a fleet before they are committed: `texts` by path (None deletes a file), `created`: the kinds of new
    files by path, and a line per change."""

    fleet: FleetWithPolicies
    agents: Agents
    texts: dict[str, str | None] = field(default_factory=dict)
    created: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def cluster(self, name: str) -> ObjectId:
        """The cluster of that name, of either kind."""
        ids = [kind.id(name) for kind in CLUSTERS]
        return next((id_ for id_ in ids if id_ in self.fleet.objects), ids[0])

    def declaring_part(self, id_: ObjectId, *path: str) -> Part:
        """As `part_with`. EditRefusedError also if only agents declare the cluster."""
        part = self.part_with(id_, *path)
        if part is None:
            raise EditRefusedError(f"no file declares {id_}", f"accept it first: muster accept {id_.name}")
        return part

    def part_with(self, id_: ObjectId, *path: str) -> Part | None:
        """The part in a person's file that has a field, or the nearest parent of it.

        None if only agents declare the object. EditRefusedError if the object is unknown.
        """
        obj = self.fleet.objects.get(id_)
        if obj is None:
            names = (other.name for other in sorted(self.fleet.objects) if kind_of(id_).has(other))
            hint = did_you_mean(id_.name, names) or f"muster get {id_.kind} lists those that exist".lower()
            raise EditRefusedError(f"there is no {id_}", hint)
        parts = [part for part in obj.parts if not part.source.ref]
        depth = [sum(dig(part.body, *path[: i + 1]) is not None for i in range(len(path))) for part in parts]
        return parts[depth.index(max(depth))] if parts else None

    def items(self, id_: ObjectId, path: tuple[str, ...]) -> list[tuple[Part, int, dict[str, Tree]]]:
        """The mappings in the lists at a path in people's files, after the edits so far: part, index, item.

        EditRefusedError as `part_with`.
        """
        self.part_with(id_, *path)
        items = []
        for part in self.fleet.objects[id_].parts:
            if not part.source.ref:
                body = self._body(part)
                items += [(part, i, item) for i, item in enumerate(dig(body, *path) or ()) if isinstance(item, dict)]
        return items

    def set(self, part: Part, path: tuple[str | int, ...], value: Tree) -> None:
        """Set one field of a part."""
        self._edit(part, lambda text, at: edit.set_value(text, part.index, (*at, *path), value))

    def append(self, part: Part, path: tuple[str | int, ...], item: Tree) -> None:
        """Append to a list, which is created if missing."""
        self._edit(part, lambda text, at: edit.append(text, part.index, (*at, *path), item))

    def remove(self, part: Part, path: tuple[str | int, ...]) -> None:
        """Remove one field or item."""
        self._edit(part, lambda text, at: edit.remove(text, part.index, (*at, *path)))

    def create(self, path: str, body: Tree) -> None:
        """Write a new file with one object. EditRefusedError if this edit already wrote the path; `commit_edit` raises
        it if the commit has the path."""
        if path in self.texts:
            raise _path_exists(path)
        self.created[path] = body["kind"]
        self.texts[path] = emit(body)

    def delete(self, path: str) -> None:
        """Delete a file."""
        self.texts[path] = None

    def text_of(self, part: Part) -> str:
        """The text of a part's file, after the edits so far."""
        return self.texts.get(part.source.path) or part.source.read().decode("utf-8")

    def _body(self, part: Part) -> Tree:
        """The content of a part, after the edits so far."""
        if part.source.path not in self.texts:
            return part.body
        documents = load_documents(self.text_of(part).encode(), part.source.path).documents
        body = next(document.body for document in documents if document.index == part.index)
        return body if part.item is None else body["items"][part.item]

    def _edit(self, part: Part, change: Callable[[str, tuple[str | int, ...]], str]) -> None:
        inside = ("items", part.item) if part.item is not None else ()
        try:
            self.texts[part.source.path] = change(self.text_of(part), inside)
        except edit.EditError as error:
            raise EditRefusedError(f"{part.source.path} cannot be edited: {error}", "edit the file by hand") from error


#: Changes a draft. Raises EditRefusedError.
Edit = Callable[[Draft], None]


def commit_edit(
    repository: Repository, change: Edit, subject: str, *, branch: str, remote: str | None, attempts: Iterable[int]
) -> Edited:
    """Apply a change to the branch's head and commit it; with a remote, push it there.

    If the branch moved meanwhile, the change is applied again to the new head. EditRefusedError from the change, and
    if it would break a valid object; RepositoryError as in `reconcile`.
    """
    for _ in attempts:
        tips = find_tips(repository, branch, remote)
        if remote is not None:
            find_derived_tips(repository, tips)  # also fetches the derived branch, if there is one
        # Agents' requests are in their refs: a proposal that is not fetched could not be accepted.
        heard = agent_refs_at(repository, evaluated_commit(repository, tips.base), READER, first=remote)
        snapshot = open_commit(repository, tips.base, heard)
        draft = Draft(check_snapshot(snapshot), snapshot.agents)
        change(draft)
        if not draft.texts:
            return Edited(None, tuple(draft.changes))
        _prepare_new_files(draft, repository, tips.base)
        _refuse_new_errors(draft, check_snapshot(Overlay(snapshot, dict(draft.texts))))
        files = {path: None if text is None else text.encode() for path, text in draft.texts.items()}
        message = "\n".join((subject, "", *draft.changes, ""))
        commit = build_commit(repository, files, message, tips.base)
        try:
            landed = land(repository, tips, commit)
        except PushRejectedError as error:
            hint = (
                f"if {branch} is changed by pull requests, run this without --push on a branch of yours, and push that"
            )
            raise RepositoryError(error.message, hint) from error
        if landed is not None:
            return Edited(commit, tuple(draft.changes), (), landed.pushed, landed.left_behind, landed.followed)
    raise RepositoryError(f"{branch} kept moving, so nothing was committed", "run it again")


def _prepare_new_files(draft: Draft, repository: Repository, base: str) -> None:
    """Refuse to overwrite any file of the commit, even an empty or broken one; and put the line by which editors find
    the schema above each new file, if the repository has the schema."""
    existing = {os.fsdecode(entry.path) for entry in list_tree(repository, base)} if draft.created else set()
    for path, kind in draft.created.items():
        for place in (path, *map(str, PurePosixPath(path).parents)):
            if place in existing:
                raise _path_exists(place)
        if f"{FOLDER}/{schema_of(kind)}" in existing:
            draft.texts[path] = f"{modeline(path, kind)}{draft.texts[path]}"


def _path_exists(path: str) -> EditRefusedError:
    return EditRefusedError(f"{path} exists and holds something else", "write the object to another file by hand")


def _refuse_new_errors(draft: Draft, after: Fleet) -> None:
    before = {(finding.code, finding.object, finding.message) for finding in draft.fleet.findings}
    new = [
        finding
        for finding in after.sorted_findings()
        if finding.severity is Severity.ERROR and (finding.code, finding.object, finding.message) not in before
    ]
    if new:
        raise EditRefusedError("the fleet would not be valid afterwards, so nothing was committed", findings=new)
