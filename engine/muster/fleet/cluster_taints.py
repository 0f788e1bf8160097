"""The taints that people give a Karmada Cluster: each once, by key and effect, as its API server has it.

Source: upstream's `pkg/util/lifted/validateclustertaints.go`. Open Cluster Management lets one key stand twice.
"""

from collections.abc import Iterator

from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.model.finding import Finding
from muster.model.tree import mappings_at


def repeated_taints(obj: Object) -> Iterator[Finding]:
    """Yield an error for each taint of a Cluster that repeats an earlier one, whatever its value."""
    first: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(mappings_at(obj.spec, "taints")):
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        before = first.setdefault((key, effect), index)
        if before != index:
            message = f"spec.taints[{index}] is {key}:{effect}, and so is spec.taints[{before}]"
            place = place_of(obj.parts, ("spec", "taints", index))
            yield finding("MUS239", message, place, hint="keep one of them", object_=obj.id)
