"""Whether what a run decided still stands where people have committed more while it did.

It does where what they committed can be looked at by itself (`Reach.NEAR`): it lies in neighbourhoods of clusters in
which the run wrote nothing, and which stay what they were called. Then a run on the later commit would write the same
in all that this one wrote, byte for byte, for whatever that follows from is the same: the files of those
neighbourhoods, what is shared, and the few numbers that clusters are told. Where the run also wrote what many clusters
share, or where budgets have a say in it, nobody may see anything new of what people changed, either: those depend on
the summaries of all.

What people changed is not decided here: the next run finds it, since what is kept says which commit was decided. A
commit that speaks to runs (`Muster-Allow-Removal`) has to be read by one, and stays what the next one looks for.
"""

import sqlite3
from typing import TYPE_CHECKING

from muster.data.locations import FOLDER
from muster.data.tree import dig
from muster.fleet.faults import fell_back
from muster.git.errors import RepositoryError
from muster.git.history import speaks_to_runs, touched_between
from muster.git.repository import is_ancestor
from muster.run.decided import DecidedPart
from muster.run.homes import KeptNeighbourhoods, read_summaries
from muster.run.part import RunReach
from muster.run.question import Question, Touched, WholeNeeded, data_of

if TYPE_CHECKING:
    from muster.run.answer import RunAnswer
    from muster.run.state import RunState


def stands_at(question: Question, found: "RunAnswer", state: "RunState | None", commit: str) -> bool:
    """Whether what was found stands at `commit`, too; where that cannot be told, it does not.

    `state` has it (`Answer.remember`). RepositoryError where git fails.
    """
    repository, decided = question.repository, question.commit
    if found.facts is None or not is_ancestor(repository, decided, commit):
        return False
    try:
        paths = frozenset(data_of(touched_between(repository, decided, commit)))
        if any(path.startswith(FOLDER) for path in paths) or speaks_to_runs(repository, decided, commit):
            return False
        return not paths or (state is not None and _apart(question, found, state, commit, paths))
    except RepositoryError:
        raise
    except (WholeNeeded, sqlite3.Error):
        return False
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a part, it is decided anew
        fell_back("looking at what was committed meanwhile", error)
        return False


def _apart(question: Question, found: "RunAnswer", state: "RunState", commit: str, paths: frozenset[str]) -> bool:
    """Whether what lies in some files, or lay there, has nothing to do with what was found."""
    facts = state.facts()
    if facts is None or (facts["commit"], facts["now"]) != (question.commit, question.second):
        return False  # another process has written it since
    if facts["holds"] or facts["totals"].get("held"):
        return False
    written, lost = state.of_files(found.settled.files)
    homes, unknown = state.of_files(paths)
    if lost or homes & written or homes & state.whole():
        return False
    touched = Touched(frozenset(homes), frozenset(unknown), frozenset(), paths)
    part = _Meanwhile(question.at(commit), state, facts, touched, frozenset(homes), RunReach.NEAR)
    part.concerns_all = (
        bool(written & state.whole() or dig(facts["settings"], "heartbeats", "maxPerSecond"))
        or any(summary.pressed for _, summary in read_summaries(state.summaries_of(written)))
    )  # fmt: skip
    done = part.answer()
    if done is None and part.reach is RunReach.NEAR:  # a new file may be of a neighbourhood that is known
        done = part.answer()
    return done is not None and part.reach is RunReach.NEAR and not part.chosen & written


class _Meanwhile(DecidedPart):
    """What people changed, looked at by itself. `concerns_all`: what any cluster shows others matters."""

    concerns_all = True

    def _cut_off(self, kept: KeptNeighbourhoods) -> bool:
        if self.concerns_all:
            return super()._cut_off(kept)
        summaries = read_summaries((home.name, home.summary) for home in kept.homes)
        return (
            {home.name for home in kept.homes} == {home.name for home in self.known.values()}
            and not any(home.shared or home.troubled for home in kept.homes)
            and not any(summary.pressed for _, summary in summaries)
        )
