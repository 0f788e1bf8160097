"""All texts of reading and assembling: what is wrong, the value, and what to do, in one voice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from muster.fleet.objects import Object
from muster.model.codes import CODES
from muster.model.decision import Path
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.kinds import ALL, BY_GROUP_KIND, BY_NAME, Kind
from muster.model.names import did_you_mean
from muster.model.secrets import without_secrets
from muster.model.snapshot import Skipped
from muster.model.source import Part, Place, SourceFile
from muster.model.tree import At, Tree
from muster.yamlio.problem import Document, Problem

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_PROBLEM_CODES = {
    "syntax": "MUS001",
    "tab": "MUS002",
    "duplicate-key": "MUS003",
    "alias": "MUS004",
    "merge-key": "MUS004",
    "depth": "MUS005",
    "encoding": "MUS006",
    "control-character": "MUS007",
    "size": "MUS008",
    "too-many-values": "MUS008",
    "too-many-problems": "MUS001",
    "directive": "MUS011",
    "not-a-mapping": "MUS009",
    "number": "MUS010",
    "tag": "MUS011",
    "key": "MUS012",
}
_SKIPPED_CODES = {
    "symlink": "MUS020", "too-large": "MUS022", "no-cluster": "MUS121", "misplaced": "MUS121", "dated-ahead": "MUS122",
}  # fmt: skip
_AGENTS_HINT = (
    "an agent's branch is agents/<cluster>, with one cluster's name in lower case; rename or delete the branch"
)
_SKIPPED_TEXTS = {
    "symlink": ("symbolic link to {detail} is not followed", "commit the file itself, or ignore the link"),
    "too-large": ("the file is too large to read: {detail}", "split it, or name it in .musterignore"),
    "not-utf8-path": ("the path is not UTF-8 and was skipped", "rename the file"),
    "control-characters": ("the path has control characters in it and was skipped", "rename the file"),
    "conflict": ("the file has a merge conflict that is not resolved", "resolve it and stage the file"),
    "submodule": ("submodules are not read", "name it in .musterignore, or commit its files"),
    "not-a-file": ("not a regular file ({detail})", "remove it, or name it in .musterignore"),
    "unreadable": ("the file could not be read: {detail}", "check its permissions"),
    "no-cluster": ("the branch {detail} names no cluster, so nothing on it counts", _AGENTS_HINT),
    "misplaced": ("the branch {detail} is no agent's, though it looks like one: nothing on it counts", _AGENTS_HINT),
    "dated-ahead": (
        "the newest commit lies in the future by its date, so {detail} speaks for the cluster",
        "look who wrote it; a clock may be wrong",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a body came from: its file, document and, in a `List`, item."""

    source: SourceFile
    document: Document
    item: int | None = None


class HasId(Protocol):
    """Anything with an object's id."""

    @property
    def id(self) -> ObjectId:
        """The id."""


def finding(
    code: str,
    message: str,
    place: Place = Place(""),  # noqa: B008 - an immutable value
    *,
    hint: str = "",
    object_: ObjectId | None = None,
    excerpt: str = "",
    severity: Severity | None = None,
) -> Finding:
    """Return a finding of a registered code, with the code's severity unless another is given.

    It quotes what files say, but for users and passwords in URLs.
    """
    shown, excerpt = without_secrets(message), without_secrets(excerpt)
    return Finding(
        code, severity or CODES[code].severity, shown, place.file, place.line, place.column, object_, hint, excerpt
    )


def _at(origin: Origin) -> Place:
    return Place(origin.source.label, origin.document.line, 1)


def skipped(skip: Skipped) -> Finding:
    """A path that was not read."""
    message, hint = _SKIPPED_TEXTS.get(skip.reason, ("the path was skipped ({detail})", ""))
    label = f"{skip.ref}:{skip.path}" if skip.ref and skip.path else skip.ref or skip.path
    code = _SKIPPED_CODES.get(skip.reason, "MUS021")
    # A branch elsewhere is more likely a person's, who may name it so: it is said once, and is no fault.
    severity = Severity.NOTE if skip.reason == "misplaced" else None
    return finding(code, message.format(detail=skip.detail or skip.reason), Place(label), hint=hint, severity=severity)


def filtered(source: SourceFile) -> Finding:
    """A file that the repository holds only as what a git filter made of it."""
    return finding(
        "MUS130",
        "the repository holds no YAML here but what a git filter (LFS or git-crypt) left in its place",
        Place(source.label, 1, 1),
        hint="take the file out of the filter in .gitattributes and add it again; or name it in .musterignore",
    )


def skipped_derived(skip: Skipped) -> Finding:
    """A path under derived/ that was not read."""
    message = _SKIPPED_TEXTS.get(skip.reason, ("the path was skipped ({detail})", ""))[0]
    told = message.format(detail=skip.detail or skip.reason)
    return finding(
        "MUS501",
        f"the derived file cannot be read and will be written anew: {told}",
        Place(skip.path),
        hint="nothing under derived/ is written by hand",
    )


def unreadable(source: SourceFile, problem: Problem, id_: ObjectId | None, *, ours: bool) -> Finding:
    """A document that could not be read; only a warning where nothing says that it holds an object of a fleet."""
    return finding(
        _PROBLEM_CODES.get(problem.kind, "MUS001"),
        problem.message,
        Place(source.label, problem.line, problem.column),
        hint=problem.hint if ours else f"{problem.hint}; or name the file in .musterignore",
        object_=id_,
        excerpt=problem.excerpt,
        severity=None if ours else Severity.WARNING,
    )


def damaged_derived(source: SourceFile, problem: Problem) -> Finding:
    """A file under derived/ that does not parse."""
    return finding(
        "MUS501",
        f"the derived file is damaged and will be written anew: {problem.message}",
        Place(source.label, problem.line, problem.column),
        hint="restore it with git checkout if the times of earlier transitions in it matter",
    )


def fleet_not_obeyed(parts: tuple[Part, ...], *, remembered: bool) -> Finding:
    """A Fleet with an error in it."""
    instead = "what the last run went by is" if remembered else "the defaults are"
    return finding(
        "MUS275",
        f"the Fleet has an error, so its settings do not count: {instead} in force, and no pulse is published",
        Place(parts[0].source.label, parts[0].line, 1) if parts else Place(""),
        hint="mend the Fleet: its errors are named beside this",
        object_=parts[0].id if parts else None,
    )


def not_derived(source: SourceFile, document: Document, reason: str) -> Finding:
    """A document under derived/ that is no derived part, or lies in another file than muster writes it to."""
    return finding(
        "MUS502",
        f"this does not count and will be removed: {reason}",
        Place(source.label, document.line, 1),
        hint="nothing under derived/ is written by hand; objects of yours belong anywhere else",
    )


def strange_derived(source: SourceFile, document: Document, id_: ObjectId, what: str) -> Finding:
    """Something in a derived part that muster does not derive."""
    return finding(
        "MUS503",
        f"what stands in the derived part of {id_} is not muster's, so it is decided anew: {what}",
        Place(source.label, document.line, 1),
        hint="nothing under derived/ is written by hand; git checkout brings back what muster wrote",
    )


def strange_text(error: "ValidationError", path: At) -> str:
    """What is wrong at a place of a derived part, without any value."""
    where = path_text(path) or "the document"
    if error.validator == "additionalProperties":
        return f"{where} is no field that it has"
    return f"{where} does not meet {error.validator!r} of its schema"


def item_without_kind(source: SourceFile, document: Document, item: int) -> Finding:
    """An item of a List that is no object."""
    message = f"item {item} of the List is not a mapping with apiVersion and kind"
    return finding("MUS009", message, Place(source.label, document.line, 1), hint="give it both, or remove it")


def missing_identity(origin: Origin, message: str) -> Finding:
    """A document that does not say which object it is a part of."""
    return finding("MUS103", message, _at(origin), hint="every object needs apiVersion, kind and metadata.name")


def unknown_kind(origin: Origin, group: str, name: str, *, known_group: bool) -> Finding:
    """A kind that the registry does not have, of another program as far as anybody can tell."""
    if known_group:
        hint = did_you_mean(name, (kind.name for kind in ALL if kind.group == group))
    elif name in BY_NAME:
        hint = f"{name} belongs to {BY_NAME[name].api_version}"
    else:
        hint = ""
    message = f"no kind {name!r} in group {group!r} is known; the document is ignored"
    return finding(
        "MUS102", message, _at(origin), hint=hint or "name the file in .musterignore if it is not meant for muster"
    )


def misspelt_kind(origin: Origin, group: str, name: str, kind: Kind, id_: ObjectId | None) -> Finding:
    """A kind or group that differs from one of the fleet's by a slip of the pen."""
    if kind.name == name:
        hint = f"did you mean apiVersion: {kind.api_version}?"
    elif kind.group == group:
        hint = f"did you mean {kind.name!r}?"
    else:
        hint = f"did you mean {kind.name!r} of {kind.api_version}?"
    message = (
        f"no kind {name!r} in group {group!r} is known; {id_ or 'what it was meant to be'} stays as it is meanwhile"
    )
    return finding("MUS102", message, _at(origin), hint=hint, object_=id_, severity=Severity.ERROR)


def incomplete(origin: Origin, missing: str, keys: Iterable[str], kinds: Sequence[Kind]) -> Finding:
    """A document of the fleet's without `apiVersion` or without `kind`."""
    one = kinds[0] if len(kinds) == 1 else None
    line = f"add `{missing}: {one.name if missing == 'kind' else one.api_version}`" if one else f"add its {missing}"
    hint = did_you_mean(missing, keys).replace("did you mean", "is it written as") or line
    return finding(
        "MUS103", f"the document has no {missing}, so nobody knows which object it is", _at(origin), hint=hint
    )


def misspelt_list(origin: Origin, name: str) -> Finding:
    """A list of objects of the fleet that is not called one."""
    message = f"no kind {name!r} is known, and its items are objects of the fleet; they stay as they are meanwhile"
    return finding("MUS102", message, _at(origin), hint="did you mean 'List' of v1?", severity=Severity.ERROR)


def bears_name(origin: Origin, ids: Sequence[ObjectId]) -> Finding:
    """A document without `apiVersion` and `kind` that bears the name of an object that nothing declares any more."""
    names = ", ".join(map(str, ids))
    return finding(
        "MUS103",
        f"the document has neither apiVersion nor kind, and nothing else declares {names}",
        _at(origin),
        hint="write both into it again, or remove the document with the object",
        object_=ids[0],
    )


_STATES = {
    "blank": "there is nothing in it now",
    "broken": "it cannot be read now",
    "strange": "what it holds now is of no kind that is known",
    "ignored": "`.musterignore` names it now",
    "symlink": "it is a symbolic link now",
    "submodule": "it is a submodule now",
    "conflict": "it has a merge conflict now",
}


def missed(file: str, state: str, ids: Sequence[ObjectId], *, certain: bool) -> Finding:
    """A file that is still there, but does not hold any more what it held at the last run (or may have held)."""
    named = ", ".join(str(id_) for id_ in ids[:_MOST_NAMED])
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    held = "held" if certain else "may have held"
    return finding(
        "MUS110",
        f"the file {held} {named}{more}, and {_STATES.get(state, 'it was left out')}: nothing is removed",
        Place(file),
        hint="restore it; to remove an object, delete its file, or its document where the file holds others",
        object_=ids[0],
    )


_MOST_NAMED = 5


def unsupported_version(origin: Origin, id_: ObjectId, version: str) -> Finding:
    """A version of a known kind that is not read."""
    versions = ", ".join(BY_GROUP_KIND[id_.group, id_.kind].versions)
    message = f"{id_.kind} has no version {version!r} here"
    return finding("MUS105", message, _at(origin), hint=f"use one of: {versions}", object_=id_)


def assumed_namespace(origin: Origin, kind: Kind, name: str) -> Finding:
    """An agent's object that names no namespace, where that of its cluster is nearly always meant."""
    message = f"{kind.name} {name!r} names no namespace, so it is in 'default' and speaks of a cluster of that name"
    return finding("MUS104", message, _at(origin), hint="add metadata.namespace: the name of its cluster")


def dropped_namespace(origin: Origin, kind: Kind, name: str, namespace: Tree) -> Finding:
    """A namespace on an object of a kind that has none."""
    message = f"{kind.name} {name!r} is cluster-scoped; its namespace {namespace!r} is dropped"
    return finding("MUS104", message, _at(origin), hint="remove metadata.namespace")


def malformed_name(origin: Origin, id_: ObjectId) -> Finding:
    """A name that must never become a path."""
    message = f"{id_.name if not id_.namespace else f'{id_.namespace}/{id_.name}'!r} is not a valid name"
    return finding("MUS205", message, _at(origin),
                   hint="names are letters, digits, '-', '_' and '.', at most 253 characters")  # fmt: skip


def path_text(path: Path | Sequence[str | int | tuple[str, ...]]) -> str:
    """`spec.taints[dedicated,NoSelect].value`: how messages name a field."""
    text = ""
    for step in path:
        if isinstance(step, tuple):
            text += f"[{','.join(step)}]"
        elif isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def conflict(id_: ObjectId, path: Path, here: Place, others: Iterable[Place]) -> Finding:
    """Two files that set the same field."""
    elsewhere = ", ".join(str(place) for place in others)
    return finding(
        "MUS101",
        f"{path_text(path)} of {id_} is also set at {elsewhere}",
        here,
        hint="one file, one writer: remove the field from one of them",
        object_=id_,
    )


def _not_sent(found: Finding, ref: str) -> Finding:
    """The finding about a report. On an agent's ref it is a warning: nobody can mend it by a commit, and no agent shall
    be able to turn everybody's checks red."""
    if found.severity is not Severity.ERROR:
        return found
    return replace(
        found, message=f"{found.message}; {_COUNTS_NOT}", severity=Severity.WARNING if ref else found.severity
    )


_COUNTS_NOT = "it counts as not sent"


def not_sent(found: Finding, part: Part) -> Finding:
    """What is wrong with a report."""
    return _not_sent(found, part.source.ref)


def unread_of_agent(found: Finding) -> Finding:
    """What is wrong with a file on an agent's ref."""
    return _not_sent(found, "agents")


def not_sent_twice(part: Part, path: Path, first: Place | None) -> Finding:
    """A report that says what another part says already."""
    elsewhere = f" at {first}" if first else ""
    return _not_sent(
        finding(
            "MUS120",
            f"{path_text(path)} of {part.id} is also set{elsewhere}",
            Place(part.source.label, part.line, 1),
            hint="one file, one writer: let one of them say it",
            object_=part.id,
        ),
        part.source.ref,
    )


def detected(part: Part, path: Path, here: Place, detector: Place) -> Finding:
    """A condition that a detector reports already."""
    return _not_sent(
        finding(
            "MUS129",
            f"{path_text(path)} of {part.id} is what a detector reports at {detector}",
            here,
            hint="remove it here, or stop the detector and take its report away",
            object_=part.id,
        ),
        part.source.ref,
    )


def unwritable(id_: ObjectId, parts: tuple[Part, ...], why: str) -> Finding:
    """An object whose derived part could not be read again. Of what only agents sent, nobody here is to blame."""
    return finding(
        "MUS520",
        f"what is derived of {id_} would not be readable, so it keeps its last derived state: {why}",
        Place(parts[0].source.label, parts[0].line, 1) if parts else Place(""),
        hint="make the object smaller: what is remembered of it has to fit into one file",
        object_=id_,
        severity=Severity.WARNING if parts and all(part.source.ref for part in parts) else None,
    )


def undeclared(id_: ObjectId, part: Part) -> Finding:
    """A cluster that only agents speak of."""
    return finding(
        "MUS107",
        f"{id_} is reported here, but no file declares it with a spec",
        Place(part.source.label, part.line, 1),
        hint=f"commit a {id_.kind} named {id_.name!r} with a spec, or remove this file",
        object_=id_,
    )


def departed(id_: ObjectId, part: Part) -> Finding:
    """A cluster that people have removed and whose agent still speaks."""
    return finding(
        "MUS124",
        f"{id_} was removed from the fleet, and its agent still speaks for it: nothing of that counts",
        Place(part.source.label, part.line, 1),
        hint=f"stop the agent and delete its branch, or let the cluster in again: muster accept --clusters {id_.name}",
        object_=id_,
    )


def refused_agent_part(part: Part, reason: str) -> Finding:
    """A part on an agent's ref that is not the agent's own."""
    return finding(
        "MUS106",
        f"{part.id} on this agent's ref is refused: {reason}",
        Place(part.source.label, part.line, 1),
        hint="an agent writes the Lease, status, reports and requests of its own cluster only",
        object_=part.id,
    )


def refused_agent_field(part: Part, cluster: str, field: str) -> Finding:
    """A field that an agent may not set, not even of its own cluster."""
    return finding(
        "MUS106",
        f"the agent of {cluster} may not set {field} of {part.id}; it is ignored",
        Place(part.source.label, part.line, 1),
        hint=_ASK_A_PERSON.get(field.partition(" ")[0], "a person sets it in the repository"),
        object_=part.id,
    )


_ASK_A_PERSON = {
    "spec.hubAcceptsClient": "a person accepts a cluster",
    "metadata.labels": "labels decide what runs on a cluster: a person gives them, or muster accept --label KEY",
}


def second_fleet(part: Part, first: Place) -> Finding:
    """More than one Fleet object."""
    return finding("MUS108", f"a second Fleet object; the first is at {first}", Place(part.source.label, part.line, 1),
                   hint="keep one Fleet per repository", object_=part.id)  # fmt: skip


def rival_policies(policy: Object, rival: Object, type_: str) -> Finding:
    """Two policies that decide one condition."""
    part, other = policy.parts[0], rival.parts[0]
    return finding(
        "MUS311",
        f"{policy.id} decides {type_}, and so does {rival.id} at {Place(other.source.label, other.line)}",
        Place(part.source.label, part.line, 1),
        hint="give one of them another type or target; to replace a built-in policy, use its name",
        object_=policy.id,
    )


def reserved_condition(policy: Object, builtin: Object, type_: str) -> Finding:
    """A fleet's policy that decides what a built-in one decides."""
    part = policy.parts[0]
    return finding(
        "MUS313",
        f"{policy.id} decides {type_}, which the built-in {builtin.id} decides",
        Place(part.source.label, part.line, 1),
        hint=f"Give it another type; to replace the built-in policy, name it {builtin.id.name!r}.",
        object_=policy.id,
    )


def replaces_builtin(policy: Object) -> Finding:
    """A fleet's policy of a built-in one's name."""
    part = policy.parts[0]
    return finding(
        "MUS314",
        f"{policy.id} replaces the built-in policy of that name",
        Place(part.source.label, part.line, 1),
        hint="Rename it if that is not meant.",
        object_=policy.id,
    )


def policy_circle(policy: Object, circle: Iterable[HasId]) -> Finding:
    """Policies that read each other's conditions in a circle, or wait for one that does."""
    part = policy.parts[0]
    names = ", ".join(str(member.id) for member in circle)
    return finding(
        "MUS312",
        f"{policy.id} reads a condition that depends on its own: {names}",
        Place(part.source.label, part.line, 1),
        hint="break the circle: read `previous` instead of `conditions` in one of them",
        object_=policy.id,
    )


#: The code of `agent_gone`, which speaks of a transition: the next run does not find it any more.
AGENT_GONE = "MUS511"
_NAMED = 5


def agents_unheard(clusters: Sequence[str]) -> Finding:
    """Clusters whose refs counted at the last run, and could not be looked at here."""
    names = ", ".join(clusters[:_NAMED]) + (f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else "")
    number = "1 cluster speaks" if len(clusters) == 1 else f"{len(clusters)} clusters speak"
    return finding(
        "MUS510",
        f"{number} through refs that are not here, so nothing is decided about them: {names}",
        hint="fetch them, for example git fetch origin '+refs/heads/agents/*:refs/remotes/origin/agents/*'",
    )


def agent_gone(id_: ObjectId, *, declared: bool) -> Finding:
    """A cluster that spoke through a ref, which is gone from where agents push."""
    follows = "its silence counts" if declared else "nothing else declares it"
    return finding(
        AGENT_GONE,
        f"{id_} spoke through agents/{id_.name} at the last run, and that ref is gone: {follows}",
        hint="start its agent again, or remove the cluster's files if it has left the fleet",
        object_=id_,
    )
