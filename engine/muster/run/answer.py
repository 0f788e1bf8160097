"""The answer to a question, and what the state records of it."""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import is_cluster
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.admission.judge import reads_users
from muster.rules.effects.allowance import EVERYTHING, Allowance
from muster.rules.effects.budget import Usage
from muster.rules.failures import OF_FAILURES
from muster.rules.given import GivenTerms
from muster.rules.heartbeats.durations import LeaseFloor
from muster.run.memo.figures import (
    ROLLOUT_PREFIX,
    TOTAL_PREFIX,
    last_reports,
    rollout_named,
    rollout_totals,
    sorted_reports,
    status_named,
    status_of,
)
from muster.run.memo.provisional import Provisional
from muster.run.memo.records import RunInputs, RunRecord, digest
from muster.run.memo.state import RunState
from muster.run.neighbourhood_records import KeptNeighbourhoods
from muster.run.question import Question, names_of, tips_of, withheld_of
from muster.run.run import Settled
from muster.run.settle import goes_on


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A settled run, and what to record of it once it is committed.

    `kept` are the neighbourhoods that replace the `gone` ones (None: all), `facts` the record of the run as a whole;
    both are None if nothing can be recorded, and `unkept` says why. `looked_at` says how much was evaluated. `rest`:
    the state in which they replace others, if that is not the last run's. `resumes`: it goes on from an answer of the
    state whose files are still to be written.
    """

    settled: Settled
    facts: RunRecord | None
    kept: KeptNeighbourhoods | None
    gone: frozenset[int] | None
    looked_at: str
    rest: Provisional | None = None
    unkept: str = ""
    resumes: bool = False

    def remember(self, state: RunState) -> None:
        """Record it. What cannot be recorded is dropped."""
        try:
            if self.rest is not None and self.facts is not None and self.kept is not None:
                self.rest.replaces(state, self.facts, self.kept.records, self.gone or (), self.kept.steps)
            elif self.facts is not None and self.kept is not None:
                kept = self.kept
                state.replace(
                    self.facts, kept.records, self.gone, kept.steps, all_steps=kept.all_steps, landed=not self.resumes
                )
            elif self.gone is None:
                state.drop(self.unkept)
        except sqlite3.Error:
            return


def facts_of(
    question: Question, settled: Settled, totals: Mapping[str, int], loose: Sequence[Finding], *, first: bool
) -> RunRecord:
    """Return the record of a run as a whole; `first`: nothing was derived before."""
    run = settled.last
    assert run.terms is not None
    tips, damaged, allowance = tips_of(question), run.fleet.read.damaged, run.terms.of(Allowance)
    return RunRecord(
        commit=question.commit,
        now=question.second,
        tips_digest=digest(tips.encode()),
        withheld=withheld_of(question),
        memory=question.remembered.at,
        lease_floor=run.terms.of(LeaseFloor).seconds,
        given=GivenTerms(run.terms).text,
        settings=run.fleet.settings.spec,
        holds=allowance.terms,
        frozen=allowance.frozen,
        usage=allowance.usage,
        held=tuple(run.fleet.held),
        # What a file of the first run once contained is known only afterwards.
        steady=not (run.files and goes_on(run)) and not (first and (loose or damaged)),
        slips=(sorted(damaged.files), sorted(names_of(damaged.ids))),
        reads=run.fleet.compiled.reads,
        users=reads_users(run.fleet),
        totals={name: count for name, count in sorted(totals.items()) if count},
        # Each run finds out again which remotes do not answer.
        loose=tuple(finding for finding in loose if finding.code != Code.AGENTS_REMOTE_NOT_HEARD),
        failed=tuple(finding for finding in run.fleet.findings if finding.code in OF_FAILURES),
        inputs=RunInputs(tips, tuple(sorted(question.remembered.memory.items(), key=itemgetter(0)))),
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """`clusters`: the number of each kind in each state (`muster.fleet.clusters`), `none` if nothing is decided.
    `rollouts`: the number of clusters of each Rollout in each state. `frozen`: see `Allowance.frozen`.
    `last_reports`: see `muster.run.memo.state.RunState.last_reports`."""

    clusters: Mapping[tuple[str, str], int]
    rollouts: Mapping[tuple[str, str], int]
    usage: tuple[Usage, ...]
    frozen: Sequence[Tree]
    last_reports: Mapping[str, "array[int]"]


def figures(answer: "RunAnswer", state: "RunState | None") -> Figures:
    """Return the figures of an answer; `state` has recorded it, if it could be."""
    run, facts = answer.settled.last, answer.facts
    if facts is None:  # then it has evaluated the whole fleet
        clusters = Counter(status_of(run.fleet, id_) for id_ in run.fleet.objects if is_cluster(id_))
        allowance = run.terms.of(Allowance) if run.terms else EVERYTHING
        ids = filter(is_cluster, run.fleet.decided)
        rollouts = Counter(rollout_named(name) for id_ in ids for name in rollout_totals(run.fleet, id_))
        reports = sorted_reports([last_reports(run.fleet, run.fleet.objects.keys())])
        return Figures(clusters, rollouts, allowance.usage, allowance.frozen, reports)
    clusters = Counter({status_named(name): n for name, n in facts.totals.items() if name.startswith(TOTAL_PREFIX)})
    named = {name: n for name, n in facts.totals.items() if name.startswith(ROLLOUT_PREFIX)}
    rollouts = Counter({rollout_named(name): n for name, n in named.items()})
    return Figures(clusters, rollouts, facts.usage, facts.frozen, _kept_reports(answer, state))


def _kept_reports(answer: "RunAnswer", state: "RunState | None") -> Mapping[str, "array[int]"]:
    if state is not None:
        try:
            return state.last_reports()
        except sqlite3.Error:
            return {}
    reports: list[Mapping[str, Iterable[int]]] = []
    if answer.kept is not None:
        reports += [record.last_reports for record in answer.kept.records]
    if answer.rest is not None:  # without what shards recorded of those that were decided again
        reports.append(answer.rest.last_reports(answer.gone or ()))
    return sorted_reports(reports)
