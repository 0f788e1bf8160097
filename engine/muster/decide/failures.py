"""Expressions that failed at run time: collected over all objects, told once per expression.

A policy that fails for 10,000 clusters is one mistake. The finding stands at the expression, says for how many objects
it failed, and quotes the first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from muster import cel
from muster.fleet.objects import Object
from muster.fleet.places import expression_place
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.groups import grouped
from muster.model.ids import ObjectId
from muster.model.kinds import ALL, kind_of
from muster.model.tree import At


class HasExpressions(Protocol):
    """A compiled policy or Remedy."""

    @property
    def id(self) -> ObjectId:
        """Its id."""

    @property
    def source(self) -> Object:
        """The object that holds the expressions."""


class PolicyFailure(Exception):  # noqa: N818 - a failure of a policy, not an error of ours
    """An expression of a policy failed for an object: which one (`rule` is its name for people), and why."""

    def __init__(self, rule: str, at: At, error: cel.EvaluationError) -> None:
        super().__init__(f"{rule}: {error.message}")
        self.rule = rule
        self.at = at
        self.error = error


_FAILED = ("MUS401", "guard it with has(...), or with a matchConditions entry")
_CUT_OFF = ("MUS305", "loop over less, or look up by key; spec.limits of the Fleet has how much an expression may cost")


@dataclass(frozen=True, slots=True)
class Failed:
    """An expression of a policy, at a place in its source, failed for an object: an outcome of deciding it."""

    source: Object
    at: At
    error: cel.EvaluationError
    object: ObjectId


@dataclass(slots=True)
class Failures:
    """What failed while the objects of one stage were asked about."""

    seen: list[Failed] = field(default_factory=list)

    def add(self, policy: HasExpressions, failure: PolicyFailure, target: ObjectId) -> None:
        """Note that an expression of `policy` failed for `target`."""
        self.seen.append(Failed(policy.source, failure.at, failure.error, target))


def findings_of(failed: Iterable[Failed]) -> Iterator[Finding]:
    """Yield one finding per expression that failed in a stage, whatever the order in which its objects were decided."""
    by_place = grouped(((one.source.id, one.at), one) for one in failed)
    for (_, at), found in sorted(by_place.items(), key=lambda item: repr(item[0])):
        first = min(found, key=lambda one: (ALL.index(kind_of(one.object)), one.object))
        place, excerpt = expression_place(first.source.parts, at, first.error.offset or 0)
        whom = str(first.object) if len(found) == 1 else f"{len(found)} objects, first for {first.object}"
        code, hint = _CUT_OFF if isinstance(first.error, cel.BudgetExceeded) else _FAILED
        text = f"the expression failed for {whom}: {first.error.message}"
        yield finding(code, text, place, hint=hint, object_=first.source.id, excerpt=excerpt)
