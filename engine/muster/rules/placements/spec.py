"""A Placement's spec, parsed once: wanted number, tolerations, weights, spread, groups.

What upstream's scheduler refuses raises `Misconfigured` with upstream's plugin and message; the condition is then
`<plugin>:<message>`. Selectors are compiled in `muster.rules.placements.policy`.

Tolerations follow seed 002 and upstream's TaintToleration plugin. One with `tolerationSeconds` holds while `now <
timeAdded + seconds`; of several that match, the longest counts. A taint without a time counts as added at the beginning
of time.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import NamedTuple

from muster.data.shares import parse_share
from muster.data.times import later, second_at, try_time
from muster.data.tree import At, Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.rules.policies.selectors import LabelSelector

NO_SELECT, PREFER_NO_SELECT, NO_SELECT_IF_NEW = "NoSelect", "PreferNoSelect", "NoSelectIfNew"
#: Longer than the calendar: such a toleration never ends.
_AGES = 10**11
_EVER = datetime.min.replace(tzinfo=UTC)


class Taint(NamedTuple):
    """A cluster's taint. `added` is None if unknown."""

    key: str
    value: str
    effect: str
    added: datetime | None

    @classmethod
    def read(cls, key: str, effect: str, fields: Tree) -> "Taint":
        """Parse a taint from its key, its effect and its other fields."""
        return cls(key, fields.get("value") or "", effect, try_time(fields.get("timeAdded")))

    def __str__(self) -> str:
        """`dedicated=gpu:NoSelect`."""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """One entry of `spec.tolerations`; `seconds` None: no limit."""

    key: str
    operator: str
    value: str
    effect: str
    seconds: int | None

    @classmethod
    def read(cls, entry: Mapping[str, Tree]) -> "Toleration":
        """Parse a valid entry. An empty operator means Equal."""
        return cls(
            entry.get("key") or "",
            entry.get("operator") or "Equal",
            entry.get("value") or "",
            entry.get("effect") or "",
            entry.get("tolerationSeconds"),
        )

    def matches(self, key: str, value: str, effect: str) -> bool:
        """Does it match such a taint? An operator that is neither Exists nor Equal never does."""
        if self.effect not in ("", effect) or self.key not in ("", key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == value)


class TolerationLimits:
    """How long one Placement's tolerations tolerate a taint; cached by key, value and effect."""

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._tolerations = tuple(tolerations)
        self._seconds: dict[tuple[str, str, str], int] = {}

    @cached_property
    def limited(self) -> bool:
        """Can time end any of them?"""
        return any(toleration.seconds is not None for toleration in self._tolerations)

    def seconds(self, key: str, value: str, effect: str) -> int | None:
        """How long such a taint is tolerated: 0 if it is not, None without a limit."""
        longest = self._longest(key, value, effect)
        return None if longest >= _AGES else max(longest, 0)

    def until(self, taint: Taint) -> datetime | None:
        """The first whole second at which the taint is no longer tolerated; None: always tolerated.

        The beginning of time for a taint that nothing tolerates, and for one without a time whose tolerations all end.
        """
        kind = taint[:3]
        seconds = self._seconds.get(kind)
        if seconds is None:
            seconds = self._seconds[kind] = self._longest(*kind)
        if seconds >= _AGES:
            return None
        return _EVER if seconds <= 0 or taint.added is None else _after(taint.added, seconds)

    def _longest(self, key: str, value: str, effect: str) -> int:
        matching = [t.seconds for t in self._tolerations if t.matches(key, value, effect)]
        return max((_AGES if seconds is None else seconds for seconds in matching), default=0)


def _after(added: datetime, seconds: int) -> datetime | None:
    """The first whole second at least so long after an instant; None past the end of the calendar."""
    return second_at(later(added, timedelta(seconds=seconds)))


BALANCE, STEADY = "Balance", "Steady"
CPU, MEMORY = "ResourceAllocatableCPU", "ResourceAllocatableMemory"
_BUILT_IN = frozenset({BALANCE, STEADY, CPU, MEMORY})
_PRIORITIES = ("prioritizerPolicy",)
_GROUP_SIZE = ("decisionStrategy", "groupStrategy", "clustersPerDecisionGroup")


class Misconfigured(Exception):  # noqa: N818 - the condition's name for it
    """The Placement cannot be scheduled as written; `path` is the field below `spec`."""

    def __init__(self, plugin: str, message: str, *path: str | int) -> None:
        super().__init__(f"{plugin}:{message}")
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True, order=True)
class Prioritizer:
    """One score and its weight. `name` is Balance, Steady, a resource's, or `AddOn/<resource>/<score>`."""

    name: str
    weight: int
    add_on: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """One constraint: `claim`: the key is a claim's, not a label's; `hard`: it ends the choice if violated."""

    key: str
    claim: bool
    max_skew: int
    hard: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A named decision group and its selectors."""

    name: str
    labels: LabelSelector
    claims: LabelSelector


@dataclass(frozen=True, slots=True)
class PlacementSpec:
    """A Placement's spec. `wanted` None: every cluster that qualifies."""

    wanted: int | None
    cluster_sets: tuple[str, ...]
    tolerations: tuple[Toleration, ...]
    prioritizers: tuple[Prioritizer, ...]
    spread: tuple[Spread, ...]
    groups: tuple[Group, ...]
    group_size: int | Fraction

    @property
    def limited(self) -> bool:
        """Can scores and spread matter? Otherwise all that qualify are chosen."""
        return self.wanted is not None or any(constraint.hard for constraint in self.spread)

    def group_length(self, selected: int) -> int:
        """The number of clusters per group for so many selected ones; at least 1."""
        size = ceil(self.group_size * selected) if isinstance(self.group_size, Fraction) else self.group_size
        return size if 0 < size < selected else max(selected, 1)


def read_spec(spec: Tree) -> PlacementSpec:
    """Parse a valid spec. Raises Misconfigured for what upstream refuses when it schedules."""
    strategy = mapping_at(spec, "decisionStrategy", "groupStrategy")
    return PlacementSpec(
        wanted=wanted(spec),
        cluster_sets=tuple(dig(spec, "clusterSets") or ()),
        tolerations=tuple(_tolerations(mappings_at(spec, "tolerations"))),
        prioritizers=_prioritizers(mapping_at(spec, "prioritizerPolicy")),
        spread=tuple(_spread(entry) for entry in mappings_at(spec, "spreadPolicy", "spreadConstraints")),
        groups=tuple(_group(entry) for entry in mappings_at(strategy, "decisionGroups")),
        group_size=_group_size(strategy.get("clustersPerDecisionGroup")),
    )


def wanted(spec: Tree) -> int | None:
    """The number of clusters; None for all."""
    number = dig(spec, "numberOfClusters")
    return number if isinstance(number, int) else None


def _tolerations(entries: Iterable[Mapping[str, Tree]]) -> Iterable[Toleration]:
    for index, entry in enumerate(entries):
        toleration = Toleration.read(entry)
        if not toleration.key and toleration.operator != "Exists":
            raise Misconfigured(
                "TaintToleration", "If the key is empty, operator must be Exists.", "tolerations", index
            )
        if toleration.operator == "Exists" and toleration.value:
            message = "If the operator is Exists, the value should be empty."
            raise Misconfigured("TaintToleration", message, "tolerations", index)
        yield toleration


def _prioritizers(policy: Mapping[str, Tree]) -> tuple[Prioritizer, ...]:
    """The prioritizers by name. Additive starts from Balance and Steady with weight 1 each."""
    mode = policy.get("mode") or "Additive"
    if mode not in ("Additive", "Exact"):
        raise Misconfigured("", f"incorrect prioritizer policy mode: {mode}", *_PRIORITIES, "mode")
    by_name = {} if mode == "Exact" else {name: Prioritizer(name, 1) for name in (BALANCE, STEADY)}
    for index, entry in enumerate(mappings_at(policy, "configurations")):
        prioritizer = _prioritizer(entry, (*_PRIORITIES, "configurations", index))
        by_name[prioritizer.name] = prioritizer
    return tuple(sorted(p for p in by_name.values() if p.weight))


def _prioritizer(entry: Mapping[str, Tree], path: At) -> Prioritizer:
    coordinate, weight = entry.get("scoreCoordinate"), entry.get("weight", 1)
    if not isinstance(coordinate, dict):
        raise Misconfigured("", "scoreCoordinate field is required", *path)
    if coordinate.get("type") == "AddOn":
        add_on = coordinate.get("addOn")
        if not isinstance(add_on, dict):
            raise Misconfigured("", "addOn should not be empty", *path)
        key = (add_on["resourceName"], add_on["scoreName"])
        return Prioritizer(f"AddOn/{key[0]}/{key[1]}", weight, key)
    name = coordinate.get("builtIn", "")
    if weight and name not in _BUILT_IN:
        raise Misconfigured("", f"incorrect builtin prioritizer: {name}", *path)
    return Prioritizer(name, weight)


def _spread(entry: Mapping[str, Tree]) -> Spread:
    return Spread(
        key=entry["topologyKey"],
        claim=entry["topologyKeyType"] == "Claim",
        max_skew=entry.get("maxSkew", 1),
        hard=entry.get("whenUnsatisfiable") == "DoNotSchedule",
    )


def _group(entry: Mapping[str, Tree]) -> Group:
    selector = mapping_at(entry, "groupClusterSelector")
    return Group(
        entry["groupName"],
        LabelSelector.parse(selector.get("labelSelector")),
        LabelSelector.parse(selector.get("claimSelector")),
    )


def _group_size(size: Tree) -> int | Fraction:
    if size is None:
        return Fraction(1)
    if isinstance(size, int):
        return size
    share = parse_share(size)
    if share is None or share < 0:
        raise Misconfigured("", f"{size} invalid type: string is not a percentage", *_GROUP_SIZE)
    return share
