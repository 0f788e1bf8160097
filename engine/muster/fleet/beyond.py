"""What a part of a fleet knows of the rest: for a run that looks at some neighbourhoods and lets the others stand.

What stands is decided already; this run reads of it what wide stages read, decides nothing of it and writes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.data.decision import Failed
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import Kind


@dataclass(frozen=True, slots=True)
class Beyond:
    """The rest of a fleet.

    `standing` are the objects that are there to be read and nothing else. `counts` says how many sound objects of each
    kind there are that are not even that, `clusters` how all clusters of the rest are called, `conditions` which types
    of conditions it knows. `adapters`: whether any adapter reports there; `derived`: whether any file is derived.
    `asked`: whether wide stages are; if not, what they said at the last run holds, of which clusters need to know
    `lease_floor`. `disrupted` are the clusters among those that stand on which a disruptive effect is asked for,
    and `found` is what was found of the rest; `failed` are the expressions that failed there.
    """

    standing: frozenset[ObjectId] = frozenset()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    clusters: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    adapters: bool = False
    derived: bool = False
    asked: bool = True
    lease_floor: int = 0
    disrupted: frozenset[ObjectId] = frozenset()
    found: frozenset[Finding] = frozenset()
    failed: tuple[Failed, ...] = ()


#: A fleet that is looked at as a whole.
NOTHING_BEYOND = Beyond()
