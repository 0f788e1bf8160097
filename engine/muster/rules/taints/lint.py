"""Checks of taints that people set: none that a policy decides, and on a Karmada Cluster each key and effect once.

Source of the latter: upstream's `pkg/util/lifted/validateclustertaints.go`, as its API server does. Open Cluster
Management allows repeated keys.
"""

from collections.abc import Iterator

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.tree import dig, mappings_at
from muster.fleet.adoption import Deciders
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at, place_of


def decided_taints(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each taint in a person's file that a policy decides, and that is therefore ignored.

    One with `timeAdded` came from a hub with an imported cluster.
    """
    deciders = None  # read on first use: few fleets have taints in files
    for obj in fleet.clusters():
        for part in obj.parts:
            taints = dig(part.body, "spec", "taints") if not part.source.ref else None
            for index, taint in enumerate(taints if isinstance(taints, list) else ()):
                deciders = deciders or Deciders.of(fleet.objects)
                if deciders.decide_taint(obj.kind, taint) and taint.get("timeAdded") is None:
                    message = (
                        f"{taint['key']}:{taint['effect']} is a taint that a policy decides: this one does not count"
                    )
                    place = place_of((part,), ("spec", "taints", index))
                    hint = "remove it; to keep work away by hand, use a key of your own (muster taint)"
                    yield finding(Code.TAINT_OF_POLICY, message, place, hint=hint, object_=obj.id)


def repeated_taints(obj: Object) -> Iterator[Finding]:
    """Yield an error for each taint of a Cluster that repeats an earlier key and effect."""
    first: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(mappings_at(obj.spec, "taints")):
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        before = first.setdefault((key, effect), index)
        if before != index:
            message = f"spec.taints[{index}] is {key}:{effect}, and so is spec.taints[{before}]"
            yield finding_at(obj, ("spec", "taints", index), Code.TAINT_TWICE_ON_CLUSTER, message, "keep one of them")
