"""Requests for certificates: of which content each was decided, so that another content is a new request.

What is remembered, and what it is for, is said in `muster.fleet.approvals`. It changes when a decision does, or when
people say something else.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.decide.context import Context
from muster.fleet.approvals import DECIDED, WORDS, request_digest, word_of
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.decision import OF_SPEC, Because, Decision
from muster.model.finding import Finding
from muster.model.kinds import CSR
from muster.model.tree import Tree

_BECAUSE = Because("requests", OF_SPEC, "the request of which this was decided: another content is decided anew")


def stage(view: View, _context: Context, _now: datetime) -> Iterator[Decision | Finding]:
    """Remember of every request that somebody has decided which one it was."""

    def bound(obj: Object) -> Iterator[Decision]:
        entry: Tree = {}
        if any(type_ in view.conditions(obj.id) for type_ in WORDS):
            entry["request"] = request_digest(obj)
        if (word := word_of(obj, view.previous.get(obj.id))) is not None:
            entry["word"] = word.entry
        if entry:
            yield Decision(obj.id, DECIDED, entry, _BECAUSE)

    yield from each(view.of(CSR), bound)
