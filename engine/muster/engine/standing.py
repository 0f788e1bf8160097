"""Whether what a run decided still stands where people have committed more while it did.

It does where what they committed can be looked at by itself: it lies in neighbourhoods in which the run wrote nothing,
and looking at these alone, from what the run left, shows that nobody else sees anything new of them (`Reach.NEAR`).
Then a run on the later commit would decide the same in all that this one wrote, byte for byte, for whatever it reads
is the same: the files of those neighbourhoods, what is shared, and the summaries of all others. What people changed
is not decided here: the next run finds it, since what is kept says which commit was decided.

A commit that speaks to runs (`Muster-Allow-Removal`) has to be read by one, and stays what the next one looks for.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from muster.engine.question import Question, Touched, data_of
from muster.gitio.between import speaks_to_runs, touched_between
from muster.gitio.errors import RepositoryError
from muster.gitio.repository import is_ancestor
from muster.model.locations import FOLDER

if TYPE_CHECKING:
    from muster.engine.answer import Answer
    from muster.engine.state import State


def stands_at(question: Question, found: "Answer", state: "State | None", commit: str) -> bool:
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
    except Exception:  # noqa: BLE001 - WholeNeeded, or whatever is wrong with a part: it is decided anew
        return False


def _apart(question: Question, found: "Answer", state: "State", commit: str, paths: frozenset[str]) -> bool:
    """Whether what lies in some files, or lay there, has nothing to do with what was found."""
    from muster.engine.decided import DecidedPart
    from muster.engine.part import Reach

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
    part = DecidedPart(question.at(commit), state, facts, touched, frozenset(homes), Reach.NEAR)
    done = part.answer()
    if done is None and part.reach is Reach.NEAR:  # a new file may be of a neighbourhood that is known
        part = replace(part)
        done = part.answer()
    return done is not None and part.reach is Reach.NEAR and not part.chosen & written
