"""Carrying out a plan that somebody agreed to: exactly that, or nothing.

A plan holds while what follows from the branch as of the plan's instant is what it says. Words may have been committed
meanwhile, and agents may have spoken: that moves nothing as long as the same follows.
"""

from collections.abc import Iterator

from muster.cli.instants import Instant, instant_of
from muster.data.times import format_time
from muster.features.plan.plan import plan_document
from muster.features.plan.planfile import Planned, change_text
from muster.git.changes import changed_paths
from muster.git.errors import RepositoryError
from muster.git.hearing import Heard
from muster.git.repository import Repository
from muster.run.settled import Settled

_MOST_NAMED = 10


class PlanMovedError(Exception):
    """A plan that does not hold any more; each line says what moved. Nothing has been written."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("; ".join(lines))


def planned_instant(repository: Repository, commit: str, planned: Planned) -> Instant:
    """Return the plan's instant. PlanMovedError where a run has decided as of a later one."""
    instant = instant_of(repository, commit, planned.now)
    if instant.now != planned.now or instant.refused:
        raise PlanMovedError([
            f"the plan is as of {format_time(planned.now)}, and a run has decided since",
            *_commits(repository, planned, commit),
        ])  # fmt: skip
    return instant


def require_same(repository: Repository, planned: Planned, base: str, heard: Heard, settled: Settled) -> None:
    """Raise PlanMovedError where what follows now is not what was planned."""
    if settled.files == planned.files:
        return
    now = tuple(map(change_text, plan_document(settled)["changes"]))
    lines = [*_commits(repository, planned, base), *_agents(planned, heard)]
    lines += _named("planned, and does not follow any more", sorted(set(planned.changes) - set(now)))
    lines += _named("not planned, and would follow now", sorted(set(now) - set(planned.changes)))
    paths = {path for path in {*settled.files, *planned.files} if _at(settled.files, path) != _at(planned.files, path)}
    raise PlanMovedError([*lines, *_named("another file than planned", sorted(paths))])


def _at(files: dict[str, str | None], path: str) -> tuple[bool, str | None]:
    return (path in files, files.get(path))


def _commits(repository: Repository, planned: Planned, base: str) -> Iterator[str]:
    if planned.commit == base:
        return
    yield f"the branch is at {base[:12]}, the plan is of {planned.commit[:12]}"
    try:
        paths = [change.path for change in changed_paths(repository, planned.commit, base)]
    except RepositoryError:
        return  # history was rewritten, and that commit is not here
    yield from _named("differs between the two", paths)


def _agents(planned: Planned, heard: Heard) -> Iterator[str]:
    now = {ref.name: ref.commit for ref in heard.refs}
    spoke = sorted(name for name in {*now, *planned.agents} if now.get(name) != planned.agents.get(name))
    yield from _named("has moved since the plan", spoke)


def _named(what: str, names: list[str]) -> Iterator[str]:
    """One line for each name, and one for those that are too many."""
    yield from (f"{what}: {name}" for name in names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        yield f"{what}: … and {len(names) - _MOST_NAMED} more"
