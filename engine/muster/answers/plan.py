"""A plan as data: what a reconcile at this instant would commit."""

from muster.engine.change import Change
from muster.engine.changes import summary
from muster.engine.settled import Settled
from muster.model.times import format_time
from muster.model.tree import Tree


def plan_document(settled: Settled) -> Tree:
    """Return the plan: its summary, every change with the rule behind it, the files, and what is held."""
    run = settled.last
    return {
        "now": format_time(run.now),
        "commit": run.commit,
        "summary": summary(settled.changes),
        "changes": [_change(change) for change in settled.changes],
        "files": settled.files,
        "held": run.held,
        "horizon": None if run.horizon is None else format_time(run.horizon),
    }


def _change(change: Change) -> Tree:
    id_ = change.object
    return {
        "object": {"group": id_.group, "kind": id_.kind, "namespace": id_.namespace, "name": id_.name},
        "field": change.field,
        "before": change.before,
        "after": change.after,
        "note": change.note,
        "rule": change.source,
    }
