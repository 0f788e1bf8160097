"""Whether an answer still holds after people have committed more meanwhile.

It does if their commits concern only clusters for which the run wrote nothing: the changed files are in neighbourhoods
of such clusters, and these keep their names. Then a run on the later commit writes the same bytes where this one wrote,
because their inputs are the same: the files of those neighbourhoods, what is shared, and a few numbers of the fleet. If
the run also wrote what many clusters share, or depends on budgets, the summaries of what people changed must stay the
same too, because those decisions depend on all summaries.

What people changed is decided by the next run: the state names the commit that was decided. A commit with a trailer for
runs (`Muster-Allow-Removal`) must be read by a run, so an answer never holds across one.
"""

import sqlite3

from muster.data.locations import FOLDER
from muster.data.tree import dig
from muster.fleet.faults import fell_back
from muster.git.errors import RepositoryError
from muster.git.history import has_run_trailers, touched_between
from muster.git.repository import is_ancestor
from muster.run.affected import data_of
from muster.run.answer import RunAnswer
from muster.run.homes import read_summaries
from muster.run.look import run_part
from muster.run.part import FleetPart, Rest, Touched
from muster.run.question import Question, WholeNeeded
from muster.run.state import RunState


def holds_at(question: Question, found: RunAnswer, state: RunState | None, commit: str) -> bool:
    """Does an answer also hold at a later `commit`? False if that is not known.

    `state` has the answer (`RunAnswer.remember`). RepositoryError if git fails.
    """
    repository, decided = question.repository, question.commit
    if found.facts is None or not is_ancestor(repository, decided, commit):
        return False
    try:
        paths = frozenset(data_of(touched_between(repository, decided, commit)))
        if any(path.startswith(FOLDER) for path in paths) or has_run_trailers(repository, decided, commit):
            return False
        return not paths or (state is not None and _apart(question, found, state, commit, paths))
    except RepositoryError:
        raise
    except (WholeNeeded, sqlite3.Error):
        return False
    except Exception as error:  # noqa: BLE001 - the boundary: the question is decided anew
        fell_back("looking at what was committed meanwhile", error)
        return False


def _apart(question: Question, found: RunAnswer, state: RunState, commit: str, paths: frozenset[str]) -> bool:
    """Are the objects in some files, before and after, independent of what the run wrote?"""
    facts = state.facts()
    if facts is None or (facts.commit, facts.now) != (question.commit, question.second):
        return False  # another process has written it since
    if facts.holds or facts.totals.get("held"):
        return False
    written, lost = state.of_files(found.settled.files)
    homes, unknown = state.of_files(paths)
    if lost or homes & written or homes & state.whole():
        return False
    concerns_all = (
        bool(written & state.whole() or dig(facts.settings, "heartbeats", "maxPerSecond"))
        or any(summary.pressed for _, summary in read_summaries(state.summaries_of(written)))
    )  # fmt: skip
    touched = Touched(frozenset(homes), frozenset(unknown), labels=paths)
    rest = Rest(asks_wide=False, decided=False, reads_summaries=concerns_all)
    done = run_part(FleetPart(question.at(commit), state, facts, touched, frozenset(homes), rest=rest))
    return done.gone is not None and not done.gone & written
