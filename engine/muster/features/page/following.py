"""The fleet that a live page shows, updated commit by commit.

The first commit is evaluated as a whole. From then on a warm run evaluates the neighbourhoods of the files and agent
refs that changed, and the shared objects; other clusters' rows stay as they were. If that is not possible, or the
reconciling process keeps no state, the whole fleet is evaluated again.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

from muster.data.kinds import ADAPTER_REPORT, is_cluster
from muster.dataclass import dataclass
from muster.features.page.overview import ClusterRows
from muster.features.page.trees import MOST, witness
from muster.git.agents.refs import AgentRef
from muster.git.changes import changed_paths
from muster.git.derivedbranch import has_ancestor
from muster.git.errors import RepositoryError
from muster.run.incremental import Wanted, answer, incremental_run
from muster.run.memo.state import RunState
from muster.run.parts.affected import data_of
from muster.run.question import Question, WholeNeeded, default_neighbourhood
from muster.run.run import Run


class Ahead(Exception):  # noqa: N818 - no error: a newer commit will follow in a moment
    """The state is of a later commit than the question's."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A shown commit: its question and run, and the rows of clusters. `files`: the names of the clusters in each file
    of the branch. `part`: the run was partial."""

    question: Question
    run: Run
    known: ClusterRows
    files: Mapping[str, frozenset[str]]
    part: bool = False


def show_whole(question: Question) -> Shown:
    """Evaluate the whole fleet. RepositoryError if git fails."""
    run = answer(replace(question, witness=witness(MOST)), None).settled.first
    return Shown(question, run, ClusterRows.of(run), _files(run))


def _files(run: Run) -> dict[str, frozenset[str]]:
    names: dict[str, frozenset[str]] = {}
    for part in run.fleet.read.parts:
        if not part.source.ref and (is_cluster(part.id) or ADAPTER_REPORT.has(part.id)):
            name = default_neighbourhood(part.id)
            names_in_file = names.get(part.source.path)
            names[part.source.path] = frozenset((name,)) if names_in_file is None else names_in_file | {name}
    return names


def show_update(question: Question, state: RunState, before: Shown) -> Shown:
    """Update the shown commit. Raises WholeNeeded if a full run is required, Ahead, and RepositoryError."""
    with _reading(state):
        return _part(_in_time(question, state), state, before)


@contextmanager
def _reading(state: RunState) -> Iterator[None]:
    """Read the state. WholeNeeded if it is damaged."""
    try:
        with state.reading():
            yield
    except sqlite3.Error as error:
        raise WholeNeeded(f"the state cannot be read: {error}") from error


def _in_time(question: Question, state: RunState) -> Question:
    """The question, no earlier than the last run, which may have found nothing to commit. Ahead if that run decided a
    newer commit."""
    facts = state.facts()
    if facts is None:
        return question
    if facts.commit != question.commit:
        with suppress(RepositoryError):
            if has_ancestor(question.repository, question.commit, facts.commit):
                raise Ahead
    late = facts.now > question.second
    return replace(question, now=datetime.fromtimestamp(facts.now, UTC)) if late else question


def _part(question: Question, state: RunState, before: Shown) -> Shown:
    then = before.question
    paths = set(data_of(changed_paths(question.repository, then.commit, question.commit)))
    neighbourhoods, _ = state.of_files(paths)
    # The clusters that a changed file named before: it may not name them now.
    once = _with_changed_refs(then.refs, question.refs).union(*(before.files.get(path, ()) for path in paths))
    names = state.names(neighbourhoods | state.of_names(once))
    run_answer = incremental_run(question, state, Wanted(frozenset(names), wide=True))
    kept = run_answer.kept.records if run_answer.kept is not None else ()
    looked_at = once.union(*({record.name, *record.names} for record in kept))
    try:
        rows = before.known.updated(run_answer.settled.first, looked_at)
    except KeyError as unknown:
        raise WholeNeeded("a cluster has no row yet") from unknown
    run = run_answer.settled.first
    others = {path: names for path, names in before.files.items() if path not in paths}
    return Shown(question, run, rows, {**others, **_files(run)}, part=True)


def _with_changed_refs(then: Iterable[AgentRef], now: Iterable[AgentRef]) -> set[str]:
    """The clusters with an agent ref that changed, appeared or vanished."""
    refs = {ref.name: ref for ref in then}
    others = {ref.name: ref for ref in now}
    return {
        ref.cluster
        for name in refs.keys() | others.keys()
        if refs.get(name) != others.get(name)
        for ref in (refs.get(name), others.get(name))
        if ref is not None
    }


def of_clusters(question: Question, state: RunState, names: Sequence[str]) -> Run:
    """Return a run of the clusters with these names. Raises WholeNeeded if a full run is required, and Ahead."""
    with _reading(state):
        witnessed = replace(_in_time(question, state), witness=witness())
        return incremental_run(witnessed, state, Wanted(frozenset(names))).settled.first
