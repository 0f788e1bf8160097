"""A plan as data: what a reconcile at this instant would commit, or what a branch changes in it."""

from muster.cli.documents import change_document, held_document, object_document
from muster.cli.findings import finding_tree
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.plan.branch import Branch
from muster.run.changes import summary
from muster.run.settled import Settled


def plan_document(settled: Settled) -> Tree:
    """Return the plan: its summary, every change with the rule behind it, the files, and what is held."""
    run = settled.last
    return {
        "now": format_time(run.now),
        "commit": run.commit,
        "summary": summary(settled.changes),
        "changes": [change_document(change) for change in settled.changes],
        "files": settled.files,
        "held": run.held,
        "horizon": None if run.horizon is None else format_time(run.horizon),
    }


def branch_document(found: Branch) -> Tree:
    """Return what a branch changes: every change with the rule behind it, what comes and goes, and what is held.

    `before` of a change is what follows from the commit that the branch was made from.
    """
    told = found.comparison
    return {
        "now": format_time(found.head.last.now),
        "base": found.base.last.commit,
        "commit": found.head.last.commit,
        "summary": summary(told.changes),
        "differing": told.differing,
        "removed": [object_document(id_) for id_ in told.removed],
        "added": [object_document(id_) for id_ in told.added],
        "changes": [change_document(change) for change in told.changes],
        "placements": [
            {"object": object_document(id_), "before": before, "after": after}
            for id_, (before, after) in sorted((told.sizes or {}).items())
        ],
        "held": [held_document(held) for held in told.held],
        "released": [held_document(held) for held in told.released],
        "found": [finding_tree(one) for one in told.found],
        "mended": [finding_tree(one) for one in told.mended],
    }
