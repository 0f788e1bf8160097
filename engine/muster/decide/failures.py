"""Expressions that failed at run time: collected over all objects, told once per expression.

A policy that fails for 10,000 clusters is one mistake. The finding stands at the expression, says for how many objects
it failed, and quotes the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from muster import cel
from muster.fleet.objects import Object
from muster.fleet.places import expression_place
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.ids import ObjectId
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


@dataclass
class Failures:
    """What failed in one stage."""

    _seen: dict[tuple[ObjectId, At], tuple[Object, cel.EvaluationError, ObjectId, int]] = field(default_factory=dict)

    def add(self, policy: HasExpressions, failure: PolicyFailure, target: ObjectId) -> None:
        """Note that an expression of `policy` failed for `target`."""
        key = (policy.id, failure.at)
        source, error, first, count = self._seen.get(key, (policy.source, failure.error, target, 0))
        self._seen[key] = (source, error, first, count + 1)

    def findings(self) -> Iterator[Finding]:
        """Yield one finding per expression that failed."""
        for (_, at), (source, error, first, count) in sorted(self._seen.items(), key=lambda item: repr(item[0])):
            place, excerpt = expression_place(source.parts, at, error.offset or 0)
            whom = str(first) if count == 1 else f"{count} objects, first for {first}"
            code, hint = _CUT_OFF if isinstance(error, cel.BudgetExceeded) else _FAILED
            yield finding(
                code,
                f"the expression failed for {whom}: {error.message}",
                place,
                hint=hint,
                object_=source.id,
                excerpt=excerpt,
            )
