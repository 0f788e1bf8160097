"""Why a field of an object is what it is, as values: what `muster explain` shows, for people and for machines."""

from dataclasses import dataclass
from datetime import datetime

from muster.cel.deadlines import Deadline
from muster.cel.trace import Trace
from muster.data.ids import ObjectId
from muster.data.source import Place
from muster.data.tree import Tree
from muster.rules.placements.reasons import Why


@dataclass(frozen=True, slots=True)
class Read:
    """An input that decided: what it is called, its value in a few words (empty where it is no single value), and where
    it stands; None where it stands in no file. `since` is the last transition of a condition; `until` the first instant
    at which time alone changes what this run decided of it."""

    label: str
    value: str
    place: Place | None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EvaluatedRule:
    """An expression of the rule's policy that was evaluated: what it is in the policy (`rule lease-expired`, `variable
    grace`), where it stands, its parts with their values, and what it gave. `decides`: it made the rule hold, or is a
    variable of what did."""

    title: str
    place: Place | None
    trace: Trace
    gave: str
    decides: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """Why one field is what it is.

    `sort` is `field`, `held` (an effect that a budget holds back) or `pulse`; `label` names it among those of its
    object: `status.conditions[Available]`, `taint gone:NoSelect`. `value` is what was decided, None for "absent";
    `since` the last transition of a condition. `rule` says what decided, `place` where that stands, `text` what it does
    not tell by itself. `until`: the first instant at which time alone changes it; None where only news does.
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

    @property
    def deadlines(self) -> tuple[Deadline, ...]:
        """The deadlines that were looked at, each once."""
        found = {deadline.at: deadline for asked in self.asked for deadline in asked.trace.deadlines}
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an object is as it is, at the instant `now`. `choices`: of a Placement, why each cluster is chosen or not."""

    object: ObjectId
    now: datetime
    fields: tuple[Explained, ...]
    choices: tuple[Why, ...] = ()
