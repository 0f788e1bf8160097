"""A plan as a file: what somebody has agreed to, for a reconcile that commits exactly that or nothing.

It is one JSON document, read strictly, since it may have been stored anywhere. Its content is never written, but
compared with a new evaluation at the plan's instant: the plan holds as long as the result is the same, even if people
or agents have pushed meanwhile.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from muster.cli.documents import json_text
from muster.cli.instants import Instant, instant_of, is_ahead
from muster.data.locations import FOLDER
from muster.data.times import format_time, try_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs
from muster.git.changes import changed_paths
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.store.objects import is_object_id
from muster.run.run import Files, Settled

FORMAT: Final = "muster.dev/plan/v1"
#: Bytes: the most that a reconcile of a hundred thousand clusters could write.
MAX_BYTES: Final = 256 * 1024 * 1024
_KEYS: Final = {"format", "now", "commit", "agents", "summary", "changes", "files", "held", "horizon"}
_CHANGE: Final = {"object", "field", "before", "after", "note", "rule"}
T = TypeVar("T")
_SORTS: Final[Mapping[type, str]] = {dict: "an object", list: "a list", str: "a text"}
_OBJECT: Final = {"group", "kind", "namespace", "name"}


class PlanFileError(ValueError):
    """A file is not a plan."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan: `files`, their `changes` in words, the instant, the evaluated commit, and the commits of `agents`'
    refs."""

    now: datetime
    commit: str
    agents: Mapping[str, str]
    files: Files
    changes: tuple[str, ...]


def plan_text(settled: Settled, heard: AgentRefs) -> str:
    """Return the file of a plan."""
    from muster.features.plan.plan import plan_document

    agents = {ref.name: ref.commit for ref in heard.refs if ref.commit}
    return json_text({"format": FORMAT, **plan_document(settled), "agents": agents})


def read_plan(path: Path) -> Planned:
    """Read a plan file. PlanFileError if it is malformed, or as of an instant ahead of the clock."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PlanFileError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise PlanFileError(f"{path} is not a plan: it has more than {MAX_BYTES} bytes")
    try:
        planned = _planned(json.loads(data, object_pairs_hook=_once, parse_constant=_refused))
    except PlanFileError as error:
        raise PlanFileError(f"{path} is not a plan: {error}") from None
    except (ValueError, RecursionError):
        raise PlanFileError(f"{path} is not a plan: it is not JSON") from None
    if is_ahead(planned.now):
        raise PlanFileError(
            f"{path} is a plan as of {format_time(planned.now)}, which lies ahead of the clock: it may be committed "
            "from then on, or make a new one with muster plan --out"
        )
    return planned


def change_text(change: Tree) -> str:
    """Return a change of a plan in words."""
    object_ = change["object"]
    name = "/".join(part for part in (object_["kind"], object_["namespace"], object_["name"]) if part)
    return f"{name}: {change['field']} {change['before'] or '-'} -> {change['after'] or 'gone'}"


def _planned(tree: Tree) -> Planned:
    document = _is(dict, tree, "it")
    if document.get("format") != FORMAT:
        raise PlanFileError(f"its format is not {FORMAT}")
    _require_keys(document, _KEYS, "it")
    now = try_time(_is(str, document["now"], "now"))
    if now is None:
        raise PlanFileError("now is not a time")
    files = {path: _file(path, text) for path, text in _is(dict, document["files"], "files").items()}
    agents = _is(dict, document["agents"], "agents")
    return Planned(
        now,
        _checked(document["commit"], "commit", is_object_id),
        {ref: _checked(commit, f"agents[{ref!r}]", is_object_id) for ref, commit in agents.items()},
        files,
        tuple(change_text(_change(change)) for change in _is(list, document["changes"], "changes")),
    )


def _file(path: str, text: Tree) -> str | None:
    if not path.startswith(FOLDER) or ".." in path.split("/"):
        raise PlanFileError(f"{path!r} is not a derived file")
    return None if text is None else _is(str, text, f"files[{path!r}]")


def _change(tree: Tree) -> Tree:
    change = _is(dict, tree, "a change")
    _require_keys(change, _CHANGE, "a change")
    object_ = _is(dict, change["object"], "the object of a change")
    _require_keys(object_, _OBJECT, "the object of a change")
    for name, value in (*object_.items(), *((name, change[name]) for name in _CHANGE - {"object"})):
        _is(str, value, f"{name} of a change")
    return change


def _require_keys(tree: Tree, keys: set[str], what: str) -> None:
    if missing := sorted(keys - tree.keys()):
        raise PlanFileError(f"{what} has no {missing[0]!r}")
    if unknown := sorted(tree.keys() - keys):
        raise PlanFileError(f"{what} has a field {unknown[0]!r}, which plans do not have")


def _is(sort: type[T], tree: Tree, what: str) -> T:
    if not isinstance(tree, sort):
        raise PlanFileError(f"{what} is not {_SORTS[sort]}")
    return tree


def _checked(tree: Tree, what: str, fits: Callable[[str], object]) -> str:
    text = _is(str, tree, what)
    if not fits(text):
        raise PlanFileError(f"{what} is not the id of a commit")
    return text


def _once(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    once = dict(pairs)
    if len(once) < len(pairs):
        raise PlanFileError("a field occurs twice")
    return once


def _refused(constant: str) -> None:
    raise PlanFileError(f"{constant} is not a value in JSON")


_MAX_NAMED = 10


class PlanMovedError(Exception):
    """A plan no longer holds; `lines` say what changed. Nothing has been written."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("; ".join(lines))


def planned_instant(repository: Repository, commit: str, planned: Planned) -> Instant:
    """Return the plan's instant. PlanMovedError if a run has decided at a later one."""
    instant = instant_of(repository, commit, planned.now)
    if instant.now != planned.now or instant.refused:
        raise PlanMovedError(
            [
                f"the plan is as of {format_time(planned.now)}, and a run has decided since",
                *_commits(repository, planned, commit),
            ]
        )
    return instant


def require_same(repository: Repository, planned: Planned, base: str, heard: AgentRefs, settled: Settled) -> None:
    """Raise PlanMovedError if the result differs from the plan."""
    if settled.files == planned.files:
        return
    from muster.features.plan.plan import plan_document

    if not settled.files:
        done = "nothing is left to do: the plan is committed already, or its cause is gone"
        raise PlanMovedError([*_commits(repository, planned, base), done])
    now = tuple(map(change_text, plan_document(settled)["changes"]))
    lines = [*_commits(repository, planned, base), *_agents(planned, heard)]
    lines += _named("planned, and no longer a result", sorted(set(planned.changes) - set(now)))
    lines += _named("not planned, and a result now", sorted(set(now) - set(planned.changes)))
    paths = {path for path in {*settled.files, *planned.files} if _at(settled.files, path) != _at(planned.files, path)}
    raise PlanMovedError([*lines, *_named("file differs from the plan", sorted(paths))])


def _at(files: Files, path: str) -> tuple[bool, str | None]:
    return (path in files, files.get(path))


def _commits(repository: Repository, planned: Planned, base: str) -> Iterator[str]:
    if planned.commit == base:
        return
    yield f"the branch is at {base[:12]}, the plan is of {planned.commit[:12]}"
    try:
        paths = [change.path for change in changed_paths(repository, planned.commit, base)]
    except RepositoryError:
        return  # history was rewritten, and the commit is missing locally
    yield from _named("differs between the two", paths)


def _agents(planned: Planned, heard: AgentRefs) -> Iterator[str]:
    now = {ref.name: ref.commit for ref in heard.refs}
    spoke = sorted(name for name in {*now, *planned.agents} if now.get(name) != planned.agents.get(name))
    yield from _named("has moved since the plan", spoke)


def _named(what: str, names: list[str]) -> Iterator[str]:
    """One line per name, up to a limit."""
    yield from (f"{what}: {name}" for name in names[:_MAX_NAMED])
    if len(names) > _MAX_NAMED:
        yield f"{what}: … and {len(names) - _MAX_NAMED} more"
