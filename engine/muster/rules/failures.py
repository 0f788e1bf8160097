"""Expressions that failed at run time: collected over all objects, reported once per expression.

A policy that fails for 10,000 clusters is one mistake. The finding is at the expression, with the number of objects and
the first one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Final, Protocol

from muster import cel
from muster.data.codes import Code
from muster.data.decision import Failed
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, kind_of
from muster.data.tree import At
from muster.dataclass import dataclass
from muster.fleet.faults import policy_fault
from muster.fleet.fleet import Fleet
from muster.fleet.places import expression_place


class HasExpressions(Protocol):
    """A compiled policy or Remedy."""

    @property
    def id(self) -> ObjectId:
        """The id of the policy."""


class PolicyFailure(Exception):  # noqa: N818 - a failure of a policy, not an error of ours
    """A policy's expression failed for an object: which one (`rule` is its name for people), and why."""

    def __init__(self, rule: str, at: At, error: cel.EvaluationError, hint: str = "") -> None:
        super().__init__(f"{rule}: {error.message}")
        self.rule = rule
        self.at = at
        self.error = error
        self.hint = hint


_FAILED: Final = (Code.EXPRESSION_FAILED, "guard it with has(...), or with a matchConditions entry")
_CUT_OFF: Final = (
    Code.CEL_CUT_OFF,
    "loop over less, or look up by key; spec.limits of the Fleet has how much an expression may cost",
)
_TOO_LARGE: Final = "write less; a part that a list or map holds twice is written twice"
#: The codes of findings about failed expressions.
OF_FAILURES: Final = frozenset((Code.EXPRESSION_FAILED, Code.CEL_CUT_OFF, Code.FAULT_IN_BUILT_IN_POLICY))


@dataclass(slots=True)
class Failures:
    """The expressions that failed in one stage."""

    failed: list[Failed] = field(default_factory=list)

    def add(self, policy: HasExpressions, failure: PolicyFailure, target: ObjectId) -> None:
        """Record that an expression of `policy` failed for `target`."""
        error = failure.error
        cut_off = isinstance(error, cel.BudgetExceeded)
        hint = failure.hint or (_TOO_LARGE if isinstance(error, cel.ValueTooLargeError) else "")
        failed = Failed(policy.id, failure.at, target, error.message, error.offset or 0, cut_off, hint=hint)
        self.failed.append(failed)


def findings_of(failed: Iterable[Failed], fleet: Fleet) -> Iterator[Finding]:
    """Yield one finding per expression of the fleet's own policies that failed in a stage, whatever the order of its
    objects."""
    by_place = grouped(((failure.policy, failure.at), failure) for failure in failed if not _is_ours(failure, fleet))
    for (id_, at), failures in sorted(by_place.items(), key=lambda item: repr(item[0])):
        first, count = min(failures, key=in_order), sum(failure.number for failure in failures)
        policy = fleet.objects.get(id_) or fleet.read.builtin[id_]
        place, excerpt = expression_place(policy.parts, at, first.offset)
        objects = str(first.object) if count == 1 else f"{count} objects, first for {first.object}"
        code, hint = _CUT_OFF if first.cut_off else _FAILED
        text = f"the expression failed for {objects}: {first.message}"
        yield finding(code, text, place, hint=first.hint or hint, object_=id_, excerpt=excerpt)


def builtin_fault(failed: Iterable[Failed], fleet: Fleet) -> Iterator[Finding]:
    """Yield one finding for all built-in expressions that failed in a run: they must not fail, so this is a fault in
    muster. Values of the object are not included."""
    of_builtin = [failure for failure in failed if _is_ours(failure, fleet)]
    if of_builtin:
        places = sorted({(failure.policy, failure.at) for failure in of_builtin}, key=repr)
        first = min((failure for failure in of_builtin if (failure.policy, failure.at) == places[0]), key=in_order)
        place, _ = expression_place(fleet.read.builtin[first.policy].parts, first.at, first.offset)
        yield policy_fault(len(places), f"{first.policy} at {place}", first.object)


def _is_ours(failed: Failed, fleet: Fleet) -> bool:
    """Is the policy built in? A cost limit is the fleet's own setting, so exceeding it is no fault."""
    return failed.policy not in fleet.objects and not failed.cut_off


def in_order(failed: Failed) -> tuple[int, str, str]:
    """The sort key of failures: kind, namespace and name of the object."""
    return ALL.index(kind_of(failed.object)), failed.object.namespace, failed.object.name
