"""What a replay finds: where other policies would have decided otherwise than was committed."""

from dataclasses import dataclass
from datetime import datetime

from muster.data.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Difference:
    """Something of an object that was committed one way and would have been decided another, from the run at `since`
    until that at `until`; None: still at the last one. Empty texts mean: not at all."""

    object: ObjectId
    field: str
    since: datetime
    until: datetime | None
    committed: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many runs were replayed, and the differences, by object and time. `unheard`: clusters speak through refs of
    their own, whose past no history has, and stayed as they were."""

    runs: int
    differences: tuple[Difference, ...]
    unheard: bool = False
