"""A RolloutStrategy as Open Cluster Management writes it, parsed once.

Source: `types_rolloutstrategy.go` and `rollout.go` of sdk-go's `cluster/v1alpha1`. What its handler refuses raises
`StrategyError` with its words; `path` is the field below the strategy. Here a number of tolerated failures above the
number of clusters tolerates all; upstream falls back to none.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from fractions import Fraction
from math import ceil

from muster.data.shares import parse_share
from muster.data.times import parse_duration, try_duration
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.dataclass import dataclass

ALL, PROGRESSIVE, PROGRESSIVE_PER_GROUP = "All", "Progressive", "ProgressivePerGroup"
#: The field that holds the limits of each type.
BODIES: Mapping[str, str] = {ALL: "all", PROGRESSIVE: "progressive", PROGRESSIVE_PER_GROUP: "progressivePerGroup"}
_DIGITS = frozenset("0123456789")
_NEVER = ("", "None")
_NO_TIME = timedelta(0)

Size = int | Fraction


class StrategyError(Exception):
    """The strategy cannot be followed as it is written; `path` is the field below it."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A decision group, or all groups with a name: with a name, the index does not count."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """How fast, and until when. `deadline` None: never; `max_concurrency` None: the length of a decision group."""

    min_success: timedelta = _NO_TIME
    deadline: timedelta | None = None
    max_failures: Size = 0
    max_concurrency: Size | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    """A rollout strategy. `mandatory` groups go first, in this order."""

    type: str = ALL
    limits: RolloutLimits = RolloutLimits()
    mandatory: tuple[GroupKey, ...] = ()


def read_strategy(strategy: Tree) -> Strategy:
    """Parse a strategy; the type is All if it is absent. Raises StrategyError for what cannot be followed.

    All neither soaks nor counts failures, and only Progressive has a limit of concurrency.
    """
    type_ = strategy.get("type", ALL) if isinstance(strategy, dict) else ALL
    if type_ not in BODIES:
        raise StrategyError(f"incorrect rollout strategy type {type_}", "type")
    name = BODIES[type_]
    body = mapping_at(strategy, name)
    try:
        limits = read_limits(body)
        if type_ == ALL:
            return Strategy(ALL, RolloutLimits(deadline=limits.deadline))
        keys = mandatory_keys(mappings_at(body, "mandatoryDecisionGroups"))
        if type_ == PROGRESSIVE_PER_GROUP:
            limits = RolloutLimits(limits.min_success, limits.deadline, limits.max_failures)
        return Strategy(type_, limits, keys)
    except StrategyError as error:
        raise StrategyError(error.message, name, *error.path) from None


def read_limits(body: Mapping[str, Tree]) -> RolloutLimits:
    """Parse the limits of a strategy or of a stage. Raises StrategyError."""
    return RolloutLimits(
        min_success=_soak(body.get("minSuccessTime")),
        deadline=read_deadline(body.get("progressDeadline")),
        max_failures=_read_size(body, "maxFailures") or 0,
        max_concurrency=_read_size(body, "maxConcurrency"),
    )


def _soak(text: Tree) -> timedelta:
    try:
        return _NO_TIME if text is None else parse_duration(str(text))
    except ValueError:
        raise StrategyError(f"invalid minSuccessTime {text}", "minSuccessTime") from None


def read_deadline(text: Tree) -> timedelta | None:
    """Parse `progressDeadline`; None: never. Raises StrategyError."""
    if text is None or text in _NEVER:
        return None
    # The pattern of the CRD, without its slips: `10|` and `x None` are no durations.
    whole = isinstance(text, str) and text[:1] in _DIGITS and text.lstrip("0123456789")[:1] in ("h", "m", "s")
    deadline = try_duration(text) if whole else None
    if deadline is None:
        raise StrategyError(f"invalid timeout format: {text}", "progressDeadline")
    return deadline


def _read_size(body: Mapping[str, Tree], field: str) -> Size | None:
    try:
        return read_size(body.get(field))
    except StrategyError as error:
        raise StrategyError(f"failed to parse the provided {field}: {error.message}", field) from None


def read_size(value: Tree) -> Size | None:
    """Parse a number or a share such as `12.5%`. Raises StrategyError, also for a number written as text."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    share = parse_share(value) if isinstance(value, str) else None
    if share is None:
        raise StrategyError(f"'{value}' is an invalid maximum threshold value: string is not a percentage")
    return share


def size_of(size: Size | None, total: int, default: int) -> int:
    """The number that a size means for so many clusters: shares are rounded up, 0 and less is the default."""
    if size is None:
        return default
    number = ceil(size * total) if isinstance(size, Fraction) else size
    return min(number, total) if number > 0 else default


def mandatory_keys(entries: Iterable[Mapping[str, Tree]]) -> tuple[GroupKey, ...]:
    """The groups that `mandatoryDecisionGroups` names; an empty entry is the group with the index 0."""
    return tuple(
        GroupKey(name, 0) if (name := entry.get("groupName") or "") else GroupKey("", entry.get("groupIndex") or 0)
        for entry in entries
    )
