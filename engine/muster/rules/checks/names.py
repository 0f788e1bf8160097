"""Names that are valid for their object, and not for what is named after it: a namespace, or the value of a label.

Source: k8s.io/apimachinery/pkg/util/validation: labels of DNS and values of labels have 63 characters. Where upstream
refuses the object itself, its schema has the limit.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from muster.data import kinds
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import Kind
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at

_LONGEST_LABEL: Final = 63


@dataclass(frozen=True, slots=True)
class NameUse:
    """What a name becomes, and whether it may have dots."""

    what: str
    dots: bool = True


_USES: Final[Mapping[Kind, NameUse]] = {
    kinds.MANAGED_CLUSTER: NameUse("the namespace of its Lease, works and add-ons", dots=False),
    kinds.PLACEMENT: NameUse("a label of its PlacementDecisions"),
    kinds.MANAGED_CLUSTER_SET: NameUse("a label of its clusters"),
}


def name_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each name that does not fit what is named after the object."""
    for kind, use in _USES.items():
        for obj in fleet.of(kind):
            name = obj.id.name
            if len(name) > _LONGEST_LABEL:
                problem, hint = f"has {len(name)} characters", f"it may have {_LONGEST_LABEL}"
            elif "." in name and not use.dots:
                problem, hint = "has a dot", f"write {name.replace('.', '-')}"
            else:
                continue
            message = f"the name of {obj.id} {problem}, and becomes {use.what}, so a hub refuses that"
            yield finding_at(obj, ("metadata", "name"), Code.NAME_NOT_FOR_A_HUB, message, hint)
