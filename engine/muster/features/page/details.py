"""What is known of one cluster, and of one Placement: read by the page when somebody looks at it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from muster.cli.cells import condition
from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, is_cluster
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.fleet.neighbourhoods import homes
from muster.rules.placements.explain import Why, why_each
from muster.run.run import Run

#: Of the clusters that a Placement does not choose so many are named, with why; of all, reasons are counted.
_MOST_LEFT_OUT = 500


class ClusterDetails:
    """What is known of each cluster: the objects that belong to it, their files, and why each field is as it is."""

    def __init__(self, run: Run) -> None:
        self._run, self._files = run, _lines(run)
        self._by_name: dict[str, list[ObjectId]] = {}
        for id_, home in homes(run.fleet).of.items():
            self._by_name.setdefault(home, []).append(id_)
        for obj in run.fleet.clusters():
            self._by_name.setdefault(obj.id.name, [obj.id])

    def of(self, name: str) -> list[Tree]:
        """What is known of one."""
        ordered = sorted(self._by_name[name], key=lambda id_: (not is_cluster(id_), id_.kind, id_.namespace, id_.name))
        return [_object(self._run, id_, self._files.get(id_, ())) for id_ in ordered]


def _lines(run: Run) -> Mapping[ObjectId, list[tuple[str, str]]]:
    """The files in which something is said of each object: file, and the agent's branch it is on."""
    found: dict[ObjectId, list[tuple[str, str]]] = {}
    for part in run.fleet.parts:
        place = (part.source.path, part.source.ref)
        if place not in (known := found.setdefault(part.id, [])):
            known.append(place)
    return found


def _object(run: Run, id_: ObjectId, files: Iterable[tuple[str, str]]) -> Tree:
    decided = run.fleet.decisions(id_)
    fields = [_field(path, decision) for path, decision in decided.items() if decision.value is not None]
    return {
        "id": str(id_),
        "files": [{"path": path, "ref": ref} for path, ref in sorted(files)],
        "fields": sorted(fields, key=lambda field: str(field["field"])),
    }


def _field(path: Path, decision: Decision) -> dict[str, Tree]:
    value, because = decision.value, decision.because
    return {
        "field": "".join(f".{step}" if isinstance(step, str) else f"[{', '.join(step)}]" for step in path)[1:],
        "value": value, "rule": because.rule, "why": because.text,
        "until": format_time(decision.horizon) if decision.horizon else "",
    }  # fmt: skip


def placement_details(run: Run) -> Iterator[Tree]:
    """Yield each Placement: which clusters it chooses, and why it does not choose the others."""
    placements = run.fleet.of(PLACEMENT)
    found = why_each(run.fleet, run.now, [obj.id for obj in placements])
    for obj, choices in zip(placements, found, strict=True):
        body = run.fleet.whole(obj.id)
        left_out = [one for one in choices if not one.selected]
        counts = Counter(one.rule for one in left_out)
        yield {
            "namespace": obj.id.namespace, "name": obj.id.name, "wanted": dig(obj.spec, "numberOfClusters"),
            "satisfied": str(condition(body, "PlacementSatisfied").get("status") or ""),
            "reason": str(condition(body, "PlacementSatisfied").get("reason") or ""),
            "chosen": [_choice(one) for one in choices if one.selected],
            "left": [_choice(one) for one in left_out[:_MOST_LEFT_OUT]],
            "reasons": [{"rule": rule, "count": count} for rule, count in counts.most_common()],
        }  # fmt: skip


def _choice(one: Why) -> Tree:
    return {"cluster": one.cluster, "why": one.text, "rank": one.rank, "score": one.total if one.scores else None}
