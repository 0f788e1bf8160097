"""A fleet in numbers: how many clusters stand how, how much of its budgets is used, when agents were last heard.

They are those of the whole fleet, also where a run has looked at a part of it, or at nothing: each neighbourhood keeps
its own, and the state what they are together.
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
from muster.run.state import HOW

TOTAL_PREFIX: Final = "status "


def sorted_words(found: Iterable[Mapping[str, Iterable[int]]]) -> Mapping[str, "array[int]"]:
    known = list(found)
    return {how: array("q", sorted(second for one in known for second in one.get(how, ()))) for how in HOW}


def status_of(view: View, id_: ObjectId) -> tuple[str, str]:
    """A cluster's kind, and how it stands."""
    return id_.kind, state_of(kind_of(id_), {**view.reported(id_), **view.conditions(id_)}) or "none"


def status_total(kind: str, status: str) -> str:
    """Under which name it is kept how many clusters stand so."""
    return f"{TOTAL_PREFIX}{kind} {status}"


def status_named(name: str) -> tuple[str, str]:
    kind, _, status = name.removeprefix(TOTAL_PREFIX).partition(" ")
    return kind, status


def last_words(view: View, ids: Collection[ObjectId]) -> dict[str, list[int]]:
    """When each cluster among some objects was last heard of, by how: in seconds since the epoch, sorted.

    By the Lease by which the cluster is judged, and by the newest report in its namespace. That is said of a cluster
    and not of a neighbourhood, for which clusters are neighbours may change from run to run while nobody says a word.
    """
    found: dict[tuple[str, str], int] = {}
    clusters = {id_.name for id_ in ids if is_cluster(id_) and id_ in view.objects}
    for how, cluster, text in _words(view, ids):
        instant = try_time(text) if cluster in clusters else None
        if instant is not None:
            found[how, cluster] = max(found.get((how, cluster), 0), int(instant.timestamp()))
    return {how: sorted(second for (by, _), second in found.items() if by == how) for how in HOW}


def _words(view: View, ids: Iterable[ObjectId]) -> Iterator[tuple[str, str, str | None]]:
    """How a cluster was heard of, its name, and when, as written."""
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
