"""Explanations of an object's fields, as values: what `muster explain` shows."""

from datetime import datetime

from muster.cel.deadlines import ComparisonDeadline
from muster.cel.trace import Trace
from muster.data.ids import ObjectId
from muster.data.source import Place
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.placements.reasons import Why


@dataclass(frozen=True, slots=True)
class Read:
    """An input of a decision: its name, its value in short (empty if it is no single value), and its place (None if it
    is in no file). `since` is the last transition of a condition; `until` the first instant at which time alone changes
    this run's decision about it."""

    label: str
    value: str
    place: Place | None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EvaluatedRule:
    """An evaluated expression of the rule's policy: its name in the policy (`rule lease-expired`, `variable grace`),
    its place, its parts with their values, and its result. `decides`: it made the rule hold, or an expression that did
    reads it."""

    title: str
    place: Place | None
    trace: Trace
    gave: str
    decides: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """Why one field is what it is.

    `sort` is `field`, `held` (an effect that a budget holds back) or `pulse`; `label` names it within its object:
    `status.conditions[Available]`, `taint gone:NoSelect`. `value` is the decided value, None for "absent"; `since` the
    last transition of a condition. `rule` names what decided, `place` is its place, `text` adds what the rule alone
    does not say. `until`: the first instant at which time alone changes it; None if only new input does. `reads` are
    the inputs of what made the rule hold, `other_reads` those of the policy's other expressions, such as a
    matchCondition: a change of these can change the field, too.
    """

    sort: str
    label: str
    value: Tree
    since: datetime | None
    rule: str
    place: Place | None
    text: str
    asked: tuple[EvaluatedRule, ...]
    reads: tuple[Read, ...]
    until: datetime | None
    other_reads: tuple[Read, ...] = ()

    @property
    def deadlines(self) -> tuple[ComparisonDeadline, ...]:
        """The deadlines of its expressions, each once."""
        by_instant = {deadline.at: deadline for asked in self.asked for deadline in asked.trace.deadlines}
        return tuple(by_instant.values())


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an object is as it is at the instant `now`. `choices`: for a Placement, why each cluster is chosen or not."""

    object: ObjectId
    now: datetime
    fields: tuple[Explained, ...]
    choices: tuple[Why, ...] = ()
