"""What a page shows of a fleet, commit by commit: what it knew of single clusters, brought up to date where anything
changed.

The first commit is evaluated as a whole. From then on a warm run looks at the neighbourhoods of the files and agents'
refs that changed, and at what is shared: what the others' rows say is in their files, so it is what it was. Where that
does not do, or nothing is kept by whoever reconciles, the whole fleet is looked at again.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from muster.data.kinds import ADAPTER_REPORT, is_cluster
from muster.features.page.overview import Singles
from muster.git.agents import AgentRef
from muster.git.changes import changed_paths
from muster.git.derivedbranch import has_ancestor
from muster.git.errors import RepositoryError
from muster.run.affected import data_of
from muster.run.incremental import Wanted, answer, incremental_run
from muster.run.question import Question, WholeNeeded, default_home
from muster.run.run import Run
from muster.run.state import RunState


class Ahead(Exception):  # noqa: N818 - no error: there is something newer in a moment
    """What is kept is of a later commit than the one that is asked about."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: as an answer to which question, by which run, and what it says of single clusters. `files`: of
    which clusters each file of the branch says anything. `part`: the run has not looked at all."""

    question: Question
    run: Run
    known: Singles
    files: Mapping[str, frozenset[str]]
    part: bool = False


def shown_anew(question: Question) -> Shown:
    """Answer from nothing. RepositoryError where git fails."""
    run = answer(question, None).settled.first
    return Shown(question, run, Singles.of(run), _files(run))


def _files(run: Run) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for part in run.fleet.read.parts:
        if not part.source.ref and (is_cluster(part.id) or ADAPTER_REPORT.has(part.id)):
            name = default_home(part.id)
            known = found.get(part.source.path)
            found[part.source.path] = frozenset((name,)) if known is None else known | {name}
    return found


def shown_after(question: Question, state: RunState, before: Shown) -> Shown:
    """Answer from what was shown before. WholeNeeded where that does not do, and Ahead; RepositoryError where git
    fails."""
    with _reading(state):
        return _part(_in_time(question, state), state, before)


@contextmanager
def _reading(state: RunState) -> Iterator[None]:
    """Read what is kept. WholeNeeded where it is damaged."""
    try:
        with state.reading():
            yield
    except sqlite3.Error as error:
        raise WholeNeeded(f"what is kept cannot be read: {error}") from error


def _in_time(question: Question, state: RunState) -> Question:
    """The same question, no earlier than the last run: it may have looked again and found nothing to commit. Ahead
    where that has decided something newer."""
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
    homes, _ = state.of_files(paths)
    # Of whom a file that changed said anything: it may say nothing of them now, or they may have gone with it.
    once = _spoke(then.refs, question.refs).union(*(before.files.get(path, ()) for path in paths))
    names = state.names(homes | state.of_names(once))
    found = incremental_run(question, state, Wanted(frozenset(names), wide=True))
    kept = found.kept.homes if found.kept is not None else ()
    looked_at = once.union(*({home.name, *home.names} for home in kept))
    try:
        known = before.known.updated(found.settled.first, looked_at)
    except KeyError as unknown:
        raise WholeNeeded("nothing is known of a cluster") from unknown
    run = found.settled.first
    others = {path: names for path, names in before.files.items() if path not in paths}
    return Shown(question, run, known, {**others, **_files(run)}, part=True)


def _spoke(then: Iterable[AgentRef], now: Iterable[AgentRef]) -> set[str]:
    """The clusters of whose agents' refs one is another, came or went."""
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
    """Return a run that has looked at the clusters of these names. WholeNeeded where only the whole fleet would do, and
    Ahead."""
    with _reading(state):
        return incremental_run(_in_time(question, state), state, Wanted(frozenset(names))).settled.first
