"""A plan as data: what a reconcile would commit, or what a branch changes in it."""

from collections import Counter
from datetime import datetime

from muster.cli.documents import change_document, held_document, object_document
from muster.cli.outcome import finding_tree
from muster.data.kinds import kind_of
from muster.data.locations import FOLDER
from muster.data.snapshot import Snapshot
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.git.agents.listing import AgentRefs
from muster.git.changes import changed_paths
from muster.git.memory.pulses import Remembered
from muster.git.repository import Repository
from muster.rules.checks.waivers import shown
from muster.run.incremental import answer
from muster.run.memo.state import RunState
from muster.run.neighbourhood_records import CONTEXT
from muster.run.parts.affected import data_of
from muster.run.question import Question, Remembers, WholeNeeded
from muster.run.run import Settled
from muster.run.settle import settle
from muster.run.transitions.compare_revisions import Comparison, compare
from muster.run.transitions.subjects import subject_line


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """The results for the commit that a branch was made from (`base`) and for the branch (`head`), and their
    difference. `files`: how many files differ; None for the work tree."""

    base: Settled
    head: Settled
    comparison: Comparison
    files: int | None


def branch(
    repository: Repository,
    base: str,
    head: str | Snapshot,
    heard: AgentRefs,
    now: datetime,
    state: RunState | None = None,
    remembered: Remembers | None = None,
) -> BranchComparison:
    """Compare the results for two commits, or for a commit and the work tree.

    Both are evaluated at `now` with the same agent refs. With the `state` of an earlier run only what changed since and
    what differs between the two, is evaluated; the result is the same. `remembered`: the published pulses, by default
    those that the repository has.
    """
    remembered = remembered or Remembered(repository)
    if not isinstance(head, str):
        before = answer(Question(repository, base, heard, now, remembered), None).settled
        after = settle(head, now, remembered.memory)
        return BranchComparison(before, after, compare(before, after, ()), None)
    changed = changed_paths(repository, base, head)
    paths = frozenset(change.path for change in changed)
    try:
        beside = frozenset(data_of(changed))
    except WholeNeeded:
        beside, state = frozenset(), None
    if any(path.startswith(FOLDER) for path in paths):
        state = None  # their derived files differ, so neither can be evaluated in part

    def settled(commit: str, beside: frozenset[str], kept: RunState | None) -> Settled:
        return answer(Question(repository, commit, heard, now, remembered, beside=beside), kept).settled

    # Both evaluate the same files: an object may have moved from one file to another.
    after = settled(head, beside, state)
    fleet = after.first.fleet
    before = settled(base, beside | _files_of(fleet), state if fleet.partial else None)
    return BranchComparison(before, after, compare(before, after, paths), len(changed))


def _files_of(fleet: Fleet) -> frozenset[str]:
    """The input files of a partial fleet."""
    return frozenset(
        part.source.path
        for part in fleet.read.parts
        if not part.source.ref
        and part.id not in fleet.beyond.standing
        and kind_of(part.id) not in CONTEXT
        and not part.source.path.startswith(FOLDER)
    )


def plan_document(settled: Settled) -> Tree:
    """Return the plan as JSON data: its summary, every change with its rule, the files, and held effects."""
    run = settled.last
    return {
        "now": format_time(run.now),
        "commit": run.commit,
        "summary": subject_line(settled.changes),
        "changes": [change_document(change) for change in settled.changes],
        "files": dict(settled.files),
        "held": run.held,
        "horizon": None if run.horizon is None else format_time(run.horizon),
    }


def result_document(settled: Settled) -> Tree:
    """Return what a run changes, holds and finds, with counts and without the texts of files."""
    document = plan_document(settled)
    findings = shown(settled.findings, settled.last.now)
    severities = Counter(finding.severity.value for finding in findings)
    counts = {
        "changes": len(settled.changes),
        "files": len(settled.files),
        "held": len(document["held"]),
        "errors": severities["error"],
        "warnings": severities["warning"],
    }
    del document["files"]
    return {**document, "counts": counts, "findings": [finding_tree(finding) for finding in findings]}


def branch_document(compared: BranchComparison) -> Tree:
    """Return what a branch changes as JSON data; `before` of a change: the result for the commit that the branch was
    made from."""
    difference = compared.comparison
    return {
        "now": format_time(compared.head.last.now),
        "base": compared.base.last.commit,
        "commit": compared.head.last.commit,
        "summary": subject_line(difference.changes),
        "differing": difference.differing,
        "removed": [object_document(id_) for id_ in difference.removed],
        "added": [object_document(id_) for id_ in difference.added],
        "changes": [change_document(change) for change in difference.changes],
        "placements": [
            {"object": object_document(id_), "before": before, "after": after}
            for id_, (before, after) in sorted((difference.sizes or {}).items())
        ],
        "rollouts": [
            {
                "object": object_document(rollout.id),
                "before": rollout.before,
                "after": rollout.now,
                "stages": [{"stage": text, "clusters": list(names)} for text, names in rollout.stages],
            }
            for rollout in difference.rollouts
        ],
        "held": [held_document(held) for held in difference.held],
        "released": [held_document(held) for held in difference.released],
        "found": [finding_tree(finding) for finding in difference.found],
        "mended": [finding_tree(finding) for finding in difference.mended],
    }
