"""Warm runs: from what the last run left to what follows now, looking only at what changed and what is due.

A run looks at the neighbourhoods in which a file changed, of which an agent spoke anew, or which are due; where there
are none, at nothing. Where the summaries of these are what they were, and nothing that is shared changed, nobody else
is asked (`Reach.NEAR`). Else wide stages are, over what is shared and the summaries of all the others (`Reach.WIDE`).
Where a policy was edited, it is asked of the summaries whom that concerns. Where none of this does, because a file is
not whole, history was rewritten or muster itself is another, the whole fleet is looked at. All of them decide the same,
byte for byte: that holds this together, and it is tested.

A snapshot of which some files are not read, because whoever read them died of it.

What they hold counts as not read, and keeps what was derived of it; a finding names each file.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING

from muster.data.kinds import ALL
from muster.data.source import SourceFile
from muster.data.tree import Tree
from muster.fleet.agent_messages import withheld_remote
from muster.fleet.assemble import assemble
from muster.fleet.faults import fell_back
from muster.fleet.fleet import Beyond
from muster.fleet.settings import Settings
from muster.fleet.shared import OF_CLUSTERS
from muster.git.errors import RepositoryError
from muster.git.snapshot import CommitSnapshot
from muster.rules.checks.validate import validate
from muster.rules.concern import ConcernsAll, concerned
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.answer import RunAnswer, of_whole, require_record
from muster.run.collector import without_collection
from muster.run.homes import KeptNeighbourhoods, kind_name, read_summaries
from muster.run.overlay import Overlay
from muster.run.progress import RunStep, doing
from muster.run.question import PoliciesEdited, Question, Touched, WholeNeeded, touched
from muster.run.records import get_findings, get_held
from muster.run.run import Run
from muster.run.settled import Settled
from muster.run.state import RunState

if TYPE_CHECKING:
    from muster.run.answer import RunAnswer
    from muster.run.workers import Workers


class WorkerLost(Exception):  # noqa: N818 - what a finding says of it
    """Whoever decided what is in a file died of it."""


@dataclass(frozen=True, slots=True)
class Unread(Overlay):
    """A snapshot without the contents of some files, which are given by their `labels`."""

    labels: frozenset[str] = frozenset()

    def files(self) -> Iterator[SourceFile]:
        """Yield all files; those cannot be read."""
        for file in self.below.files():
            yield file._replace(read=_refuse) if file.label in self.labels else file


def _refuse() -> bytes:
    raise WorkerLost


def homes_concerned(question: Question, state: RunState, facts: Mapping[str, Tree], touched: Touched) -> frozenset[int]:
    """Return the neighbourhoods that edits of policies concern, as far as they have summaries. WholeNeeded where that
    is not to be told."""
    paths = {file.path for file in state.context()} | touched.unknown
    with CommitSnapshot(question.repository, facts["commit"], only=paths) as then:
        before = validate(assemble(then))
    with question.snapshot(paths, ()) as now:
        after = validate(assemble(now))
    for one in (before, after):
        require_record(one, ())
    if before.settings.spec != after.settings.spec:
        raise WholeNeeded("the Fleet's settings changed")
    known = state.summaries(state.whole(), read_summaries)
    summaries = known.values()
    objects = {obj.id: obj for summary in summaries for obj in summary.objects}
    decided = {id_: found for summary in summaries for id_, found in summary.decisions()}
    standing = replace(after, objects={**objects, **after.objects}, decided=decided)
    totals = facts["totals"]
    counts = {kind: totals.get(f"kind {kind_name(kind)}", 0) - len(standing.of(kind)) for kind in ALL}
    standing = replace(standing, beyond=Beyond(counts=counts))
    instant = question.now.astimezone(UTC).replace(microsecond=0)
    try:
        found = concerned(standing, before, after, instant, OF_CLUSTERS)
    except ConcernsAll as error:
        raise WholeNeeded(str(error)) from None
    names = {
        name for name, summary in known.items() if summary.pressed or any(obj.id in found for obj in summary.objects)
    }
    return frozenset(state.of_names(names) | state.failing())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be in the fleet that comes of it, whether it changed or not: the neighbourhoods of some names, and
    with `wide` every cluster and all that is shared."""

    names: frozenset[str] = frozenset()
    wide: bool = False


NOTHING_WANTED = Wanted()


def answer(
    question: Question, state: RunState | None, workers: "Workers | None" = None, wanted: Wanted = NOTHING_WANTED
) -> "RunAnswer":
    """Decide, from what the last run left where there is anything, else from the whole fleet: in shards, where there
    are `workers` for them."""
    why = "nothing can be kept (see muster cache)"
    if state is not None:
        try:
            return answer_from(question, state, wanted)
        except WholeNeeded as needed:  # whatever is wrong with a part, the whole is decided by itself
            why = str(needed)
    return _whole(question, why, workers)


def answer_from(question: Question, state: RunState, wanted: Wanted) -> "RunAnswer":
    """Decide from what the last run left, and from nothing else. WholeNeeded where that does not do, for whatever
    reason but the repository's."""
    try:
        with without_collection():
            return _from(question, state, wanted)
    except (WholeNeeded, RepositoryError):
        raise
    except sqlite3.Error as error:
        raise WholeNeeded(f"what is kept cannot be read: {error}") from error
    except Exception as error:
        fell_back("deciding a part of the fleet", error)
        raise WholeNeeded(f"{type(error).__name__}: {error}") from error


def _whole(question: Question, why: str, workers: "Workers | None") -> "RunAnswer":
    """Decide from nothing."""
    from muster.run.settle import settle

    unread = frozenset[str]()
    if workers is not None:
        from muster.run.sharded import Killing, decide_in_shards

        try:
            with without_collection():
                return decide_in_shards(question, why, workers.executor, workers.files)
        except WholeNeeded as needed:
            why = f"{why}; {needed}" if str(needed) else why
        except Killing as killing:
            unread, why = killing.files, f"{why}; workers died of some files"
        except RepositoryError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            fell_back("deciding in shards", error)
            why = f"{why}; {type(error).__name__}: {error}"
    with question.snapshot() as snapshot:
        files = Unread(snapshot, {}, unread) if unread else snapshot
        settled = settle(files, question.now, question.remembered.memory, question.witness)
    return of_whole(question, settled, why)


def _from(question: Question, state: RunState, wanted: Wanted) -> "RunAnswer":
    """Decide from what is kept. WholeNeeded where that does not do."""
    doing(RunStep.COMPARING)
    facts = state.facts()
    if facts is None:
        raise WholeNeeded(state.missing)
    moved = touched(question, state, facts)
    named = state.of_names(wanted.names)
    if wanted.names and not named:
        raise WholeNeeded("nothing of that name was there")
    if not moved and not named and not wanted.wide:
        return _unmoved(question, state, facts)
    from muster.run.decided import DecidedPart
    from muster.run.part import RunReach

    chosen, reach = moved.homes | named, RunReach.NEAR
    known = state.kept(chosen).values()
    held = facts["holds"] or facts["totals"].get("held")
    if wanted.wide or held or any(home.shared or home.troubled for home in known):
        reach = RunReach.WIDE
    edited = False
    while True:
        if reach is RunReach.WIDE:
            chosen |= state.whole()
        part = DecidedPart(question, state, facts, moved, chosen, reach, edited)
        try:
            done = part.answer()
        except PoliciesEdited:
            chosen, reach, edited = chosen | homes_concerned(question, state, facts, moved), RunReach.WIDE, True
            continue
        if done is not None:
            return done
        chosen, reach = part.chosen, RunReach.WIDE


def _unmoved(question: Question, state: RunState, facts: Mapping[str, Tree]) -> "RunAnswer":
    """Nothing changed and nothing is due: what was found at the last run is still wrong, and that is all."""
    from muster.run.decided import rest_wakes

    found = (
        *(one for tree in state.findings(()) for one in get_findings(tree)), *get_findings(facts["loose"]),
        *get_findings(facts["failed"]),
        *map(withheld_remote, question.heard.agents.withheld),
    )  # fmt: skip
    fleet = FleetWithPolicies(
        {}, {}, settings=Settings(facts["settings"]), findings=found, held=tuple(get_held(facts["held"])),
        wakes=rest_wakes(state, ()), beyond=Beyond(),
    )  # fmt: skip
    run = Run(fleet, question.now.astimezone(UTC).replace(microsecond=0), question.decided)
    settled = Settled(run, run, {}, [], rested=True)
    return RunAnswer(
        settled,
        {**facts, "commit": question.commit},
        KeptNeighbourhoods((), ()),
        frozenset(),
        "nothing: nothing changed, and nothing is due",
    )
