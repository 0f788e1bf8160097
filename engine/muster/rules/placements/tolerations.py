"""Taints and tolerations: does a Placement bear a cluster's taint, and until when.

Source: seed 002 and upstream's TaintToleration plugin. A toleration with `tolerationSeconds` holds while
`now < timeAdded + seconds`; of several that match, the most patient one counts. A taint without a time counts as
added at the beginning of time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from muster.data.times import later, second_at, try_time
from muster.data.tree import Tree

NO_SELECT, PREFER_NO_SELECT, NO_SELECT_IF_NEW = "NoSelect", "PreferNoSelect", "NoSelectIfNew"
#: Longer than any instant that can be written is away; such a toleration never ends.
_AGES = 10**11
_EVER = datetime.min.replace(tzinfo=UTC)


class Taint(NamedTuple):
    """A taint of a cluster. `added` is None where nothing says when."""

    key: str
    value: str
    effect: str
    added: datetime | None

    @classmethod
    def read(cls, key: str, effect: str, fields: Tree) -> "Taint":
        """Read a taint from its key, its effect and its other fields."""
        return cls(key, fields.get("value") or "", effect, try_time(fields.get("timeAdded")))

    def __str__(self) -> str:
        """`dedicated=gpu:NoSelect`."""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """One entry of `spec.tolerations`; `seconds` None means for ever."""

    key: str
    operator: str
    value: str
    effect: str
    seconds: int | None

    @classmethod
    def read(cls, entry: Mapping[str, Tree]) -> "Toleration":
        """Read an entry that its schema has accepted. An empty operator means Equal."""
        return cls(
            entry.get("key") or "",
            entry.get("operator") or "Equal",
            entry.get("value") or "",
            entry.get("effect") or "",
            entry.get("tolerationSeconds"),
        )

    def matches(self, key: str, value: str, effect: str) -> bool:
        """Whether it speaks of such a taint. An operator that is neither Exists nor Equal never does."""
        if self.effect not in ("", effect) or self.key not in ("", key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == value)


class Patience:
    """How long the tolerations of one Placement bear a taint; remembered per kind of taint."""

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        """Answer for these tolerations."""
        self._tolerations = tuple(tolerations)
        self._seconds: dict[tuple[str, str, str], int] = {}

    @cached_property
    def limited(self) -> bool:
        """Whether time can end any of them."""
        return any(toleration.seconds is not None for toleration in self._tolerations)

    def until(self, taint: Taint) -> datetime | None:
        """The first whole second at which the taint is no longer borne; None: borne for ever.

        A taint that nothing tolerates, and one without a time whose tolerations all end, is not borne since ever.
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
    """The first whole second that is at least so long after an instant; None past the end of the calendar."""
    return second_at(later(added, timedelta(seconds=seconds)))
