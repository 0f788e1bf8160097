"""What happens at one instant of a forecast."""

from dataclasses import dataclass
from datetime import datetime

from muster.data.decision import Held, Pulse
from muster.data.ids import ObjectId
from muster.run.change import Change


@dataclass(frozen=True, slots=True)
class Moment:
    """What happens at an instant: transitions, effects that a budget begins to hold and those that it lets go, and
    pulses that are due."""

    at: datetime
    changes: tuple[Change, ...]
    held: tuple[Held, ...]
    released: tuple[tuple[ObjectId, str], ...]
    pulses: tuple[Pulse, ...]

    def __bool__(self) -> bool:
        """Whether anything does."""
        return bool(self.changes or self.held or self.released or self.pulses)
