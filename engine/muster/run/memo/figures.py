"""A fleet in numbers: clusters by state, the use of budgets, and when clusters last reported.

They are those of the whole fleet even if a run evaluated a part of it, or nothing: the state has the numbers of each
neighbourhood, and their totals.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, LEASE, is_cluster, kind_of
from muster.data.times import try_time
from muster.data.tree import dig
from muster.fleet.clusters import state_of
from muster.fleet.leases import leased_cluster, leases_by_cluster, renew_time
from muster.fleet.view import View
from muster.rules.stages import ROLLOUTS
from muster.run.memo.state import REPORT_SOURCES

TOTAL_PREFIX: Final = "status "
ROLLOUT_PREFIX: Final = "rollout "


def sorted_reports(last_reports: Iterable[Mapping[str, Iterable[int]]]) -> Mapping[str, "array[int]"]:
    all_words = list(last_reports)
    return {
        how: array("q", sorted(second for some_words in all_words for second in some_words.get(how, ())))
        for how in REPORT_SOURCES
    }


def status_of(view: View, id_: ObjectId) -> tuple[str, str]:
    """Return a cluster's kind and state."""
    return id_.kind, state_of(kind_of(id_), view.whole_conditions(id_)) or "none"


def status_total(kind: str, status: str) -> str:
    """Return the name of the total that counts the clusters of a kind in a state."""
    return f"{TOTAL_PREFIX}{kind} {status}"


def status_named(name: str) -> tuple[str, str]:
    kind, _, status = name.removeprefix(TOTAL_PREFIX).partition(" ")
    return kind, status


def rollout_totals(view: View, id_: ObjectId) -> Iterator[str]:
    """Yield the names of the totals that count a cluster in its Rollouts: `rollout shop/web Succeeded`."""
    for path, decision in view.decisions(id_).items():
        if path[:3] == ROLLOUTS and len(path) == 4 and decision.value is not None:
            yield f"{ROLLOUT_PREFIX}{path[3]} {dig(decision.value, 'state')}"


def rollout_named(name: str) -> tuple[str, str]:
    rollout, _, state = name.removeprefix(ROLLOUT_PREFIX).partition(" ")
    return rollout, state


def last_reports(view: View, ids: Collection[ObjectId]) -> dict[str, list[int]]:
    """Return when each cluster among some objects last reported, by `REPORT_SOURCES`: sorted seconds since the epoch.

    This is the time of the cluster's Lease, and of the newest report in its namespace. It is recorded per cluster and
    not per neighbourhood, because neighbourhoods may change from run to run without any report.
    """
    latest: dict[tuple[str, str], int] = {}
    clusters = {id_.name for id_ in ids if is_cluster(id_) and id_ in view.objects}
    for how, cluster, text in _reports(view, ids):
        instant = try_time(text) if cluster in clusters else None
        if instant is not None:
            latest[how, cluster] = max(latest.get((how, cluster), 0), int(instant.timestamp()))
    return {how: sorted(second for (by, _), second in latest.items() if by == how) for how in REPORT_SOURCES}


def _reports(view: View, ids: Iterable[ObjectId]) -> Iterator[tuple[str, str, str | None]]:
    """Yield how a cluster reported, its name, and the time as written."""
    for id_ in ids:
        obj = view.objects.get(id_)
        if obj is None:
            continue
        if LEASE.has(id_):
            cluster = leased_cluster(obj)
            yield "lease", cluster, renew_time(leases_by_cluster(view).get(cluster))
        elif ADAPTER_REPORT.has(id_):
            observed = dig(obj.body, "spec", "observed_time")
            yield "report", id_.namespace, observed if isinstance(observed, str) else None
