"""The works of a set and the decisions of its placements, as its next step needs them (`StepRecord`).

The works are as they will be when the orders of this step are carried out. What a record does not change, such as a
placement's decisions, is as the last wide run read it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from muster.data.codec import decode, encode
from muster.data.ids import ObjectId
from muster.data.kinds import MANIFEST_WORK
from muster.dataclass import dataclass
from muster.rules.generations import spec_digest
from muster.rules.progress.step import ClusterStatus
from muster.rules.works.sets import DecidedPlacement, StatusOfNew, WorkOrder
from muster.rules.works.work import Work

#: A work's labels and conditions that are True; most works of a set have the same.
_Kind = tuple[dict[str, str], str, str, list[str]]


class _Row(NamedTuple):
    """A work; `kind`: the number of its labels, revision, state and conditions."""

    cluster: str
    name: str
    kind: int
    since: int | None
    silent_after: int | None


class _PackedSet(NamedTuple):
    placements: list[tuple[ObjectId, DecidedPlacement]]
    kinds: list[_Kind]
    rows: list[_Row]
    absent: list[str]


@dataclass(slots=True)
class SetTable:
    """What is known of a set: its works by cluster and its placements.

    `absent`: the clusters that these dropped because they are not available.
    """

    works: dict[str, list[Work]]
    placements: Mapping[ObjectId, DecidedPlacement]
    absent: frozenset[str] = frozenset()

    def updated(self, clusters: Iterable[str], works: Mapping[str, list[Work]]) -> None:
        """Replace the works of the clusters that this run looks at."""
        for cluster in clusters:
            self.works.pop(cluster, None)
        self.works |= works

    def packed(self, orders: Iterable[WorkOrder], status_of_new: StatusOfNew) -> bytes:
        """The record, once the orders are carried out."""
        works = {work.id: work for cluster_works in self.works.values() for work in cluster_works}
        for order in orders:
            if order.labels is None:
                works.pop(order.id, None)
            elif order.spec is None:
                works[order.id] = works[order.id].labelled(order.labels)
            else:
                status = status_of_new(order.id.namespace)
                works[order.id] = Work(order.id, order.labels, spec_digest(order.spec), status, frozenset())
        kinds: dict[tuple[object, ...], int] = {}
        packed_kinds: list[_Kind] = []
        rows = []
        for work in works.values():
            key = (tuple(work.labels.items()), work.revision, work.status.state, work.true)
            if (kind := kinds.get(key)) is None:
                kind = kinds[key] = len(packed_kinds)
                packed_kinds.append((dict(work.labels), work.revision, work.status.state, sorted(work.true)))
            since, silent_after = _second(work.status.since), _second(work.status.silent_after)
            rows.append(_Row(work.cluster, work.id.name, kind, since, silent_after))
        return encode(_PackedSet(sorted(self.placements.items()), packed_kinds, rows, sorted(self.absent)))

    @classmethod
    def unpacked(cls, data: bytes) -> "SetTable":
        """The table of a record."""
        record = decode(_PackedSet, data)
        kinds = [(labels, revision, state, frozenset(true)) for labels, revision, state, true in record.kinds]
        works: dict[str, list[Work]] = {}
        for cluster, name, kind, since, silent_after in record.rows:
            labels, revision, state, true = kinds[kind]
            status = ClusterStatus(cluster, state, _instant(since), silent_after=_instant(silent_after))
            work = Work(MANIFEST_WORK.id(name, cluster), labels, revision, status, true)
            works.setdefault(cluster, []).append(work)
        return cls(works, dict(record.placements), frozenset(record.absent))


def _second(instant: datetime | None) -> int | None:
    return None if instant is None else int(instant.timestamp())


@lru_cache(1 << 10)
def _instant(second: int | None) -> datetime | None:
    return None if second is None else datetime.fromtimestamp(second, UTC)
