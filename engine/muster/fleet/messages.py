"""Messages about reading and assembling: what is wrong, the value, and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from muster.data.codes import Code, Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.findings import finding, finding_of, path_text
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, BY_GROUP_KIND, BY_NAME, FLEET, Kind
from muster.data.names import did_you_mean, few
from muster.data.snapshot import Skipped
from muster.data.source import Part, Place, SourceFile, content_of
from muster.data.tree import Tree
from muster.data.yaml.problem import Document, Problem
from muster.dataclass import dataclass

_PROBLEM_CODES = {
    "syntax": Code.NOT_YAML,
    "tab": Code.TAB_INDENTATION,
    "duplicate-key": Code.DUPLICATE_KEY,
    "alias": Code.ANCHOR_OR_ALIAS,
    "merge-key": Code.ANCHOR_OR_ALIAS,
    "depth": Code.NESTED_TOO_DEEPLY,
    "encoding": Code.NOT_UTF8,
    "control-character": Code.CONTROL_CHARACTER,
    "size": Code.TOO_LARGE,
    "too-many-values": Code.TOO_LARGE,
    "too-many-problems": Code.NOT_YAML,
    "directive": Code.EXPLICIT_TAG,
    "not-a-mapping": Code.NOT_A_MAPPING,
    "number": Code.AMBIGUOUS_NUMBER,
    "tag": Code.EXPLICIT_TAG,
    "key": Code.UNSUPPORTED_KEY,
}
_SKIPPED_CODES = {
    "symlink": Code.SYMBOLIC_LINK,
    "too-large": Code.FILE_TOO_LARGE,
    "no-cluster": Code.BRANCH_OF_NO_AGENT,
    "misplaced": Code.BRANCH_OF_NO_AGENT,
    "dated-ahead": Code.AGENT_COMMIT_IN_FUTURE,
    "over-limit": Code.AGENT_BRANCH_OVER_LIMITS,
    "not-signed": Code.AGENT_NOT_VERIFIED,
    "not-given": Code.CLUSTER_OF_OTHER_AGENTS,
    "too-many-unknown": Code.TOO_MANY_UNKNOWN_BRANCHES,
    "too-many-refused": Code.TOO_MANY_UNKNOWN_BRANCHES,
}
_AGENTS_HINT = (
    "an agent's branch is agents/<cluster>, with one cluster's name in lower case; rename or delete the branch"
)
#: Why a file that exists was not read, whatever it holds.
UNREAD = frozenset(("too-large", "unreadable", "not-utf8-path", "control-characters", "dotgit"))
SKIPPED_TEXTS = {
    "symlink": ("symbolic link to {detail} is not followed", "commit the file itself, or ignore the link"),
    "too-large": ("the file is too large to read: {detail}", "split it, or name it in .musterignore"),
    "not-utf8-path": (
        "the path is not UTF-8, so the file is not read: nothing is removed",
        "rename the file or the folder",
    ),
    "control-characters": (
        "the path has control characters in it, so the file is not read: nothing is removed",
        "rename the file or the folder",
    ),
    "dotgit": (
        "the path has a name in it that some file systems take for .git, so the file is not read: nothing is removed",
        "rename the file or the folder: git servers that check what is pushed refuse it",
    ),
    "conflict": ("the file has a merge conflict that is not resolved", "resolve it and stage the file"),
    "submodule": ("submodules are not read", "name it in .musterignore, or commit its files"),
    "not-a-file": ("not a regular file ({detail})", "remove it, or name it in .musterignore"),
    "unreadable": ("the file could not be read: {detail}", "check its permissions"),
    "no-cluster": ("the branch {detail} names no cluster, so nothing on it counts", _AGENTS_HINT),
    "misplaced": ("the branch {detail} looks like an agent's but is not: nothing on it counts", _AGENTS_HINT),
    "not-given": (
        "this reports on {detail}, which its sender may not report on: it is ignored",
        "give the cluster to the repository or relay (Fleet.spec.agents.remotes, relays), or stop that agent",
    ),
    "not-signed": (
        "collectors report on {detail} and sign nothing, so this is ignored",
        "the Fleet asks for signed reports (Fleet.spec.agents.signing)",
    ),
    "over-limit": (
        "the agent's branch holds too much: {detail}",
        "make the agent report less, or raise the limits: Fleet.spec.agents.maxBytes and maxFiles",
    ),
    "too-many-unknown": (
        "branches of clusters that no file declares and that are not looked at, because they are too many: {detail}",
        "find out who pushes them and delete them; to accept one, commit a file that declares its cluster",
    ),
    "too-many-refused": ("further branches of agents that do not count: {detail}", _AGENTS_HINT),
    "dated-ahead": (
        "the newest commit has a date in the future, so {detail} counts for the cluster",
        "find out who wrote it; a clock may be wrong",
    ),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a body is: its file, document and, in a `List`, item."""

    source: SourceFile
    document: Document
    item: int | None = None


def _place_of(origin: Origin) -> Place:
    return Place(origin.source.label, origin.document.line, 1)


def _at_key(origin: Origin, key: str) -> Place:
    """The place of a field of the body. Reads the file again."""
    from muster.data.yaml.positions import locate  # only needed for findings

    field_path = (key,) if origin.item is None else ("items", origin.item, key)
    mark = locate(content_of(origin.source), origin.document.index, field_path, label=origin.source.label)
    return Place(origin.source.label, mark.line, mark.column)


def skipped(skip: Skipped) -> Finding:
    """A path was not read."""
    message, hint = SKIPPED_TEXTS.get(skip.reason, ("the path was skipped ({detail})", ""))
    label = f"{skip.ref}:{skip.path}" if skip.ref and skip.path else skip.ref or skip.path
    code = _SKIPPED_CODES.get(skip.reason, Code.UNREADABLE_PATH)
    # A branch elsewhere is probably a person's, which may have any name.
    severity = Severity.NOTE if skip.reason == "misplaced" else Severity.ERROR if skip.reason in UNREAD else None
    return finding(code, message.format(detail=skip.detail or skip.reason), Place(label), hint=hint, severity=severity)


def misnamed(source: SourceFile, ids: Sequence[ObjectId]) -> Finding:
    """A file with objects of the fleet has a suffix that is not read."""
    path = PurePosixPath(source.path)
    message = f"the name ends in {path.suffix!r}, so the file is not read, and it holds {few(ids)}"
    hint = f"rename it to {path.stem}.yaml, or name it in .musterignore"
    return finding(Code.MISSPELT_ENDING, message, Place(source.label, 1, 1), hint=hint, object_=ids[0])


def filtered(source: SourceFile) -> Finding:
    """The repository holds only a git filter's output in place of the file."""
    message = "the repository holds no YAML here but what a git filter (LFS or git-crypt) left in its place"
    hint = "take the file out of the filter in .gitattributes and add it again; or name it in .musterignore"
    return finding(Code.GIT_FILTER, message, Place(source.label, 1, 1), hint=hint)


def unreadable(source: SourceFile, problem: Problem, id_: ObjectId | None, *, of_fleet: bool) -> Finding:
    """A document could not be read; a warning if nothing indicates an object of the fleet."""
    return finding(
        _PROBLEM_CODES.get(problem.kind, Code.NOT_YAML),
        problem.message,
        Place(source.label, problem.line, problem.column),
        hint=problem.hint if of_fleet else problem.hint + _OR_IGNORE,
        object_=id_,
        excerpt=problem.excerpt,
        severity=None if of_fleet else Severity.WARNING,
    )


_OR_IGNORE = "; or name the file in .musterignore"
#: What keeps a file, or a document of it, from being read.
UNREADABLE = frozenset(_PROBLEM_CODES.values())


def of_lost_objects(about: Finding, ids: Sequence[ObjectId]) -> Finding:
    """What is wrong with a file, where that hides objects which the file held."""
    stay = "stays unchanged" if len(ids) == 1 else "stay unchanged"
    return replace(
        about,
        message=f"{about.message}; {few(ids)} {stay} until then",
        hint=about.hint.removesuffix(_OR_IGNORE),
        severity=Severity.ERROR,
        object=ids[0],
    )


def invalid_fleet(parts: tuple[Part, ...], *, remembered: bool) -> Finding:
    """The Fleet object is invalid."""
    in_force = "the last valid settings stay" if remembered else "the defaults are"
    message = f"the settings of the Fleet do not count: {in_force} in force, and no pulses are published"
    hint = "fix the Fleet: other findings name its errors"
    place = parts[0].place if parts else Place("")
    return finding(Code.SETTINGS_IGNORED, message, place, hint=hint, object_=parts[0].id if parts else None)


def item_without_kind(source: SourceFile, document: Document, item: int) -> Finding:
    """An item of a List is no object."""
    message = f"item {item} of the List is not a mapping with apiVersion and kind"
    return finding(
        Code.NOT_A_MAPPING, message, Place(source.label, document.line, 1), hint="give it both, or remove it"
    )


def missing_identity(origin: Origin, message: str) -> Finding:
    """A document does not identify its object."""
    return finding(
        Code.MISSING_IDENTITY, message, _place_of(origin), hint="every object needs apiVersion, kind and metadata.name"
    )


def unknown_kind(origin: Origin, group: str, name: str, *, known_group: bool) -> Finding:
    """A kind that is not in the registry, probably another program's."""
    if known_group:
        hint = did_you_mean(name, (kind.name for kind in ALL if kind.group == group))
    elif name in BY_NAME:
        hint = f"{name} belongs to {BY_NAME[name].api_version}"
    else:
        hint = ""
    in_group = f"in group {group!r}" if group else "of the core group"
    message = f"no kind {name!r} {in_group} is known; the document is ignored"
    return finding(
        Code.UNKNOWN_KIND,
        message,
        _place_of(origin),
        hint=hint or f"for another program's object, add {group!r} to the list Fleet.spec.foreign",
    )


def secret_in_clear_text(origin: Origin) -> Finding:
    """A Secret that everybody reads who can read the repository. Its values are not in the message."""
    return finding(
        Code.SECRET_IN_CLEAR_TEXT,
        "the data of a Secret is in clear text, for everybody who can read the repository",
        _at_key(origin, "kind"),
        hint="change what it protects, then encrypt the file with SOPS, or name the Secret in an ExternalSecret",
    )


def misspelt_kind(origin: Origin, group: str, name: str, kind: Kind, id_: ObjectId | None) -> Finding:
    """A kind or group that is a misspelt one of the fleet's."""
    if kind.name == name:
        hint = f"did you mean apiVersion: {kind.api_version}?"
    elif kind.group == group:
        hint = f"did you mean {kind.name!r}?"
    else:
        hint = f"did you mean {kind.name!r} of {kind.api_version}?"
    message = f"no kind {name!r} in group {group!r} is known; {id_ or 'the intended object'} stays unchanged until then"
    place = _at_key(origin, "apiVersion" if kind.name == name else "kind")
    return finding(Code.UNKNOWN_KIND, message, place, hint=hint, object_=id_, severity=Severity.ERROR)


def incomplete_document(origin: Origin, missing: str, keys: Iterable[str], kinds: Sequence[Kind]) -> Finding:
    """A document of the fleet lacks `apiVersion` or `kind`."""
    only_kind = kinds[0] if len(kinds) == 1 else None
    line = (
        f"add `{missing}: {only_kind.name if missing == 'kind' else only_kind.api_version}`"
        if only_kind
        else f"add its {missing}"
    )
    hint = did_you_mean(missing, keys).replace("did you mean", "is it written as") or line
    return finding(
        Code.MISSING_IDENTITY,
        f"the document has no {missing}, so it does not identify an object",
        _place_of(origin),
        hint=hint,
    )


def misspelt_list(origin: Origin, name: str) -> Finding:
    """A list of the fleet's objects has a wrong kind."""
    message = f"no kind {name!r} is known, and its items are objects of the fleet; they stay unchanged until then"
    return finding(
        Code.UNKNOWN_KIND, message, _place_of(origin), hint="did you mean 'List' of v1?", severity=Severity.ERROR
    )


def vanished_name(origin: Origin, ids: Sequence[ObjectId]) -> Finding:
    """A document without `apiVersion` and `kind` has the name of an object that is not declared any more."""
    names = ", ".join(map(str, ids))
    message = f"the document has neither apiVersion nor kind, and nothing else declares {names}"
    hint = "write both into it again, or remove the document with the object"
    return finding(Code.MISSING_IDENTITY, message, _place_of(origin), hint=hint, object_=ids[0])


_STATES = {
    "blank": "it is empty now",
    "broken": "it cannot be read now",
    "strange": "it holds no object of a known kind now",
    "ignored": "`.musterignore` names it now",
    "symlink": "it is a symbolic link now",
    "submodule": "it is a submodule now",
    "conflict": "it has a merge conflict now",
}


def vanished(file: str, state: str, ids: Sequence[ObjectId], *, certain: bool) -> Finding:
    """A file exists but no longer holds what it held at the last run (or may have held)."""
    held = "held" if certain else "may have held"
    message = f"the file {held} {few(ids)}, and {_STATES.get(state, 'it was left out')}: nothing is removed"
    hint = "restore it; to remove an object, delete its file, or its document where the file holds others"
    return finding(Code.FILE_LOST_ITS_OBJECT, message, Place(file), hint=hint, object_=ids[0])


def unsupported_version(origin: Origin, id_: ObjectId, version: str) -> Finding:
    """A version of a known kind that is not read."""
    versions = ", ".join(BY_GROUP_KIND[id_.group, id_.kind].versions)
    message = f"{id_.kind} has no version {version!r} here"
    return finding(Code.UNSUPPORTED_VERSION, message, _place_of(origin), hint=f"use one of: {versions}", object_=id_)


def assumed_namespace(origin: Origin, kind: Kind, name: str) -> Finding:
    """An agent's object without a namespace, where its cluster's is nearly always meant."""
    message = f"{kind.name} {name!r} names no namespace, so it is in 'default' and belongs to a cluster of that name"
    return finding(
        Code.NAMESPACE_OUT_OF_PLACE, message, _place_of(origin), hint="add metadata.namespace: the name of its cluster"
    )


def dropped_namespace(origin: Origin, kind: Kind, name: str, namespace: Tree) -> Finding:
    """A cluster-scoped object has a namespace."""
    message = f"{kind.name} {name!r} is cluster-scoped; its namespace {namespace!r} is dropped"
    return finding(Code.NAMESPACE_OUT_OF_PLACE, message, _place_of(origin), hint="remove metadata.namespace")


def malformed_name(origin: Origin, id_: ObjectId) -> Finding:
    """A name that must not become a path."""
    message = f"{id_.name if not id_.namespace else f'{id_.namespace}/{id_.name}'!r} is not a valid name"
    return finding(
        Code.MALFORMED_VALUE,
        message,
        _place_of(origin),
        hint="names are letters, digits, '-', '_' and '.', at most 253 characters",
    )


def conflict(id_: ObjectId, paths: Sequence[Path], place: Place, first: Place) -> Finding:
    """Two files set the same field, or several."""
    message = f"{path_text(paths[0])} of {id_} is also set at {first}"
    hint = "one file, one writer: remove the field from one of them"
    if len(paths) > 1:
        message = f"{id_} is written here and in {first.file}: both set {few([path_text(path) for path in paths], 1)}"
        another = "" if FLEET.has(id_) else "Give it another metadata.name, or "
        hint = f"is this a copy? {another or 'A repository has one Fleet: '}keep one of the two"
    return finding(Code.FIELD_SET_TWICE, message, place, hint=hint, object_=id_)


def second_fleet(part: Part, first: Part) -> Finding:
    """There are several Fleet objects."""
    message = f"a second Fleet object; the first is at {first.place}"
    return finding_of(part, Code.TWO_FLEETS, message, "keep one Fleet per repository")
