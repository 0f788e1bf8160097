"""What is remembered of the pulses that went out: the only thing that muster knows beside what is committed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

from muster.data.ids import ObjectId


class PulseKey(NamedTuple):
    """What a memory is of: an object, and the name of the PulsePolicy that asked."""

    object: ObjectId
    policy: str


@dataclass(frozen=True, slots=True)
class Published:
    """The last pulse of a policy for an object: of which generation, when, and how many went out in a row without an
    accepted report in between, itself among them."""

    generation: int
    time: datetime
    count: int = 1


Memory: TypeAlias = Mapping[PulseKey, Published]

#: A plain directory has no memory: its pulses follow from generations and the age of reports alone.
NOTHING_PUBLISHED: Memory = {}
