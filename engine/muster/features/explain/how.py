"""The way: what is the least that has to change, or how long to wait, until a Placement chooses a cluster.

Candidates come from what the Placement and the cluster declare. Each is applied in a rehearsal, and is shown only if
the run then chooses the cluster. If no single one does, each two are tried.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import combinations
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.printable import printable
from muster.data.source import Layer
from muster.data.times import format_time
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.features.explain.explain import decided_values
from muster.features.forecast.forecast import instants
from muster.features.whatif.rehearsal import Rehearsal
from muster.features.whatif.supposing import Supposition
from muster.fleet.fleet import Fleet
from muster.run.incremental import Wanted
from muster.run.progress import RunStep, doing

#: How much larger `numberOfClusters` is tried, and how long to wait.
_MORE: Final = 50
_MORE_OF_PAIRS: Final = 3
#: How many pairs are shown.
_MOST_PAIRS: Final = 5
_LONGEST: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CandidateChange:
    """A change that may suffice: in words, and of which object's declaration. `change` returns the new spec."""

    text: str
    object: ObjectId
    change: Callable[[dict[str, Tree]], dict[str, Tree]]


@dataclass(frozen=True, slots=True)
class Ways:
    """What suffices: each entry alone, in words. `wait`: from when on nothing has to change; None if not within a day.
    `chosen`: the cluster is chosen already."""

    changes: tuple[str, ...]
    wait: datetime | None = None
    chosen: bool = False


def find_ways(trial: Rehearsal, fleet: Fleet, placement: ObjectId, cluster: str, now: datetime, wanted: Wanted) -> Ways:
    """Find the ways for a Placement to choose a cluster. `fleet`: that of the rehearsal, before any run; `wanted`: what
    runs must evaluate for the Placement."""
    taints = mappings_at(trial.step(now).last.fleet.whole(MANAGED_CLUSTER.id(cluster)), "spec", "taints")

    def chooses(*changes: CandidateChange) -> bool:
        run = trial.attempt(_edits(fleet, changes), now, wanted).last
        return decided_values(run, placement, cluster) == {cluster: True}

    if chooses():
        return Ways((), chosen=True)
    candidates = list(_candidates(fleet, placement, cluster, taints))
    ways = []
    for number, candidate in enumerate(candidates):
        doing(RunStep.REHEARSING, number, len(candidates))
        if chooses(candidate):
            ways.append(candidate.text)
    larger = [_number(placement, count) for count in _numbers(fleet, placement)]
    enough = next((candidate for candidate in larger if chooses(candidate)), None)
    if enough is not None:
        ways.append(enough.text)
    if not ways:
        pairs = combinations([*candidates, *larger[:_MORE_OF_PAIRS]], 2)
        ways = [f"{first.text} and {second.text}" for first, second in pairs if chooses(first, second)][:_MOST_PAIRS]
    return Ways(tuple(ways), _waiting(trial, placement, cluster, now))


def _waiting(trial: Rehearsal, placement: ObjectId, cluster: str, now: datetime) -> datetime | None:
    """The first instant at which time alone makes the Placement choose the cluster."""
    for at, settled in instants(trial, now, now + _LONGEST):
        if decided_values(settled.last, placement, cluster) == {cluster: True}:
            return at
    return None


def _edits(fleet: Fleet, changes: tuple[CandidateChange, ...]) -> Mapping[str, bytes | None]:
    supposition = Supposition(fleet)
    for change in changes:
        for part in fleet.objects[change.object].parts:
            if part.layer is Layer.INPUT and not part.source.ref and isinstance(part.body.get("spec"), dict):
                supposition.change(part, lambda body, own=change: {**body, "spec": own.change(dict(body["spec"]))})  # type: ignore[misc]
    return {path: data for (ref, path), data in supposition.edits.items() if not ref}


def _candidates(
    fleet: Fleet, placement: ObjectId, cluster: str, taints: list[dict[str, Tree]]
) -> Iterator[CandidateChange]:
    declared = fleet.objects[MANAGED_CLUSTER.id(cluster)]
    if declared.spec.get("hubAcceptsClient") is not True:
        yield CandidateChange("accept the cluster", declared.id, lambda spec: {**spec, "hubAcceptsClient": True})
    for taint in mappings_at(declared.spec, "taints"):
        yield CandidateChange(
            f"remove its taint {taint.get('key')}:{taint.get('effect')}",
            declared.id,
            lambda spec, gone=taint: {**spec, "taints": [other for other in spec.get("taints") or () if other != gone]},  # type: ignore[misc]
        )
    for key in sorted({str(taint.get("key")) for taint in taints}):
        yield CandidateChange(
            f"tolerate {key}",
            placement,
            lambda spec, key=key: {  # type: ignore[misc]
                **spec,
                "tolerations": [*(spec.get("tolerations") or ()), {"key": key, "operator": "Exists"}],
            },
        )
    for name in ("predicates", "spreadPolicy"):
        if name in fleet.objects[placement].spec:
            yield CandidateChange(
                f"remove {name}",
                placement,
                lambda spec, gone=name: {field: value for field, value in spec.items() if field != gone},  # type: ignore[misc]
            )


def _numbers(fleet: Fleet, placement: ObjectId) -> range:
    number = fleet.objects[placement].spec.get("numberOfClusters")
    return range(number + 1, number + 1 + _MORE) if isinstance(number, int) else range(0)


def _number(placement: ObjectId, number: int) -> CandidateChange:
    return CandidateChange(f"numberOfClusters {number}", placement, lambda spec: {**spec, "numberOfClusters": number})


def ways_text(ways: Ways, placement: ObjectId, cluster: str) -> str:
    """Return each way on a line of its own."""
    if ways.chosen:
        return printable(f"{placement} chooses {cluster} already.") + "\n"
    lines = [*ways.changes, *([f"wait until {format_time(ways.wait)}"] if ways.wait else [])]
    if not lines:
        return printable(f"{placement} {cluster}: no change that was tried suffices, nor does a day of waiting.") + "\n"
    text = [f"{placement} chooses {cluster} after one of:", *(f"  {line}" for line in lines)]
    return "".join(f"{printable(line)}\n" for line in text)
