"""A run that did not land, because people committed more meanwhile: what it decided of the rest is not decided again.

The state has its records. At the same instant they hold wherever nothing changed since, with the files that it was
going to write, so the next run evaluates what people changed and what that affects, and writes both. It comes to what a
run comes to that evaluates everything on the later commit.
"""

from collections.abc import Iterable
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.run.answer import RunAnswer
from muster.run.memo.state import RunState
from muster.run.question import default_neighbourhood


def resumes(earlier: RunAnswer, state: RunState, second: int) -> bool:
    """Has the state the answer of an earlier run at this instant, so that it can be gone on from? The first run of a
    fleet cannot: it decides some things otherwise than later ones."""
    facts = state.facts()
    first = earlier.settled.first.fleet
    begun = bool(first.derived_paths or first.beyond.derived)
    if not begun or facts is None or earlier.facts is None:
        return False
    return (facts.commit, facts.now) == (earlier.facts.commit, second)


def resumed(earlier: RunAnswer, answer: RunAnswer, state: RunState) -> RunAnswer:
    """Return the answer of an incremental run, with what the earlier one decided of the rest; `state` has the latter.

    sqlite3.Error if the state is damaged.
    """
    gone, last = answer.gone or frozenset(), answer.settled.last
    if not gone:  # nothing was read either
        last = replace(earlier.settled.last, commit=last.commit)
    again = {file.path for file in state.files(gone) if not file.ref}
    files = {path: earlier.settled.files[path] for path in earlier.settled.files if path not in again}
    left = _left(state, {change.object for change in earlier.settled.changes}, gone)
    changes = (change for change in earlier.settled.changes if change.object in left)
    settled = replace(
        answer.settled,
        last=last,
        files=dict(sorted({**files, **answer.settled.files}.items())),
        changes=sorted((*changes, *answer.settled.changes), key=lambda change: (change.object, change.field)),
    )
    facts = answer.facts
    if facts is not None and earlier.facts is not None:
        facts = replace(facts, steady=facts.steady and earlier.facts.steady)
    return replace(answer, settled=settled, facts=facts, resumes=True)


def _left(state: RunState, ids: Iterable[ObjectId], gone: frozenset[int]) -> set[ObjectId]:
    """The objects whose neighbourhoods are not among those that are gone."""
    by_id = {id_: (str(id_), default_neighbourhood(id_)) for id_ in ids}
    neighbourhoods = state.neighbourhoods_of(name for names in by_id.values() for name in names)
    return {
        id_
        for id_, (name, default) in by_id.items()
        if neighbourhoods.get(name, neighbourhoods.get(default)) not in gone
    }
