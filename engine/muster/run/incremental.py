"""The answer to a question: an incremental run over what changed and what is due, or a full run.

An incremental run evaluates the neighbourhoods in which a file changed, whose agent reported, or which are due; if
there are none, it evaluates nothing. If their summaries stay the same and nothing shared changed, that is all.
If only clusters' progress in Rollouts and sets of works changed, these take their steps from records.
Otherwise wide stages run too, over what is shared and the summaries of the rest, and clusters that are given something
else than before are evaluated: an edited policy, what a budget grants. `muster.run.parts.affected` says which change
affects what. If an incremental run cannot answer (a file is incomplete, history was rewritten, muster has another
version), a full run does: in shards if there are workers, else with the whole fleet in one process. All of them decide
the same, byte for byte, and the tests check it.
"""

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from muster.data.locations import FOLDER
from muster.dataclass import dataclass
from muster.fleet.agent_messages import withheld_remote
from muster.fleet.faults import fell_back
from muster.fleet.fleet import Beyond
from muster.fleet.settings import Settings
from muster.git.errors import RepositoryError
from muster.git.trees import count_entries
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.answer import RunAnswer
from muster.run.collector import without_collection
from muster.run.full_and_partial import rest_wakes, run_part, run_whole
from muster.run.memo.records import RunRecord
from muster.run.memo.state import RunState
from muster.run.neighbourhood_records import KeptNeighbourhoods
from muster.run.parts.affected import touched_since
from muster.run.parts.part import FleetPart
from muster.run.progress import RunStep, doing
from muster.run.question import Question, WholeNeeded
from muster.run.resumed import resumed, resumes
from muster.run.run import Run, Settled

if TYPE_CHECKING:
    from muster.run.shards.workers import Workers


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the run must evaluate even if it did not change: the neighbourhoods with some names, and with `wide`
    everything shared and every cluster's summary."""

    names: frozenset[str] = frozenset()
    wide: bool = False


NOTHING_WANTED: Final = Wanted()


def answer(
    question: Question,
    state: RunState | None,
    workers: "Workers | None" = None,
    wanted: Wanted = NOTHING_WANTED,
    earlier: RunAnswer | None = None,
) -> RunAnswer:
    """Answer from the state if possible, else with a full run: in shards if there are `workers`. The state may have the
    answer of an `earlier` run that did not land."""
    why = "nothing can be kept (see muster version)"
    if state is not None:
        try:
            return incremental_run(question, state, wanted, earlier)
        except WholeNeeded as needed:
            why = str(needed)
    return full_run(question, why, workers)


def full_run(question: Question, why: str, workers: "Workers | None" = None) -> RunAnswer:
    """Full run, without cached state; `why` says why it is required."""
    unread = frozenset[str]()
    executor = None
    if workers is not None and question.decided is not None:  # a work tree is read in place
        executor = workers.executor(count_entries(question.repository, question.commit) + len(question.refs))
    if executor is not None and workers is not None:
        from muster.run.shards.sharded import WorkersKilled, decide_in_shards  # for large fleets

        try:
            with without_collection():
                return decide_in_shards(question, why, executor, workers.files)
        except WholeNeeded as needed:
            why = f"{why}; {needed}"
        except WorkersKilled as killed:
            unread, why = killed.files, f"{why}; workers died of some files"
        except RepositoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: a full run in one process decides the same
            fell_back("deciding in shards", error)
            why = f"{why}; {type(error).__name__}: {error}"
    return run_whole(question, why, unread)


def incremental_run(
    question: Question, state: RunState, wanted: Wanted = NOTHING_WANTED, earlier: RunAnswer | None = None
) -> RunAnswer:
    """Incremental run. WholeNeeded if a full run is required; RepositoryError if git fails."""
    try:
        with without_collection():
            if earlier is None or not resumes(earlier, state, question.second):
                return _incremental_run(question, state, wanted)
            return resumed(earlier, _incremental_run(replace(question, resumes=True), state, wanted), state)
    except (WholeNeeded, RepositoryError):
        raise
    except sqlite3.Error as error:
        raise WholeNeeded(f"the state cannot be read: {error}") from error
    except Exception as error:
        fell_back("deciding a part of the fleet", error)
        raise WholeNeeded(f"{type(error).__name__}: {error}") from error


def _incremental_run(question: Question, state: RunState, wanted: Wanted) -> RunAnswer:
    doing(RunStep.COMPARING)
    facts = state.facts()
    if facts is None:
        raise WholeNeeded(state.missing)
    touched = touched_since(question, state, facts)
    named = state.of_names(wanted.names)
    if wanted.names and not named:
        raise WholeNeeded("nothing of that name was there")
    if not touched and not named and not wanted.wide:
        return _unchanged(question, state, facts)
    chosen = touched.neighbourhoods | named
    neighbourhoods = state.kept(chosen)
    edited = {
        file.path
        for file in state.files(neighbourhood_ for neighbourhood_, record in neighbourhoods.items() if record.steps)
    } & touched.labels
    wide = bool(
        wanted.wide
        or facts.holds
        or facts.totals.get("held")
        or any(
            record.wide or record.troubled or (record.steps and id_ in named) for id_, record in neighbourhoods.items()
        )
        or any(not path.startswith(FOLDER) for path in edited)
    )
    part = FleetPart(question, state, facts, touched, chosen)
    return run_part(part.larger(wide=True) if wide else part)


def _unchanged(question: Question, state: RunState, facts: RunRecord) -> RunAnswer:
    """Answer if nothing changed and nothing is due: with the findings of the last run."""
    findings = (
        *state.findings(()),
        *facts.loose,
        *facts.failed,
        *map(withheld_remote, question.agents.withheld if question.agents else ()),
    )
    fleet = FleetWithPolicies(
        {},
        {},
        settings=Settings(facts.settings),
        findings=findings,
        held=facts.held,
        wakes=rest_wakes(state, ()),
        beyond=Beyond(),
    )
    run = Run(fleet, question.instant, question.decided)
    return RunAnswer(
        Settled(run, run, {}, [], rested=True),
        replace(facts, commit=question.commit),
        KeptNeighbourhoods((), ()),
        frozenset(),
        "nothing: nothing changed, and nothing is due",
    )
