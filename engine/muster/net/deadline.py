"""The end of an exchange with a peer, whatever the peer does in the meantime.

A time limit of a socket starts again with every byte, and one of a request with every page. A deadline is one instant
for all of an exchange: finding the address, connecting, the TLS handshake, greetings, heads, bodies and pages.
"""

import time

from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant `at` on the monotonic clock, `seconds` after the exchange began."""

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Return the deadline of an exchange that begins now."""
        return cls(time.monotonic() + seconds, seconds)

    def remaining(self) -> float:
        """Seconds that are left; 0 once it is over."""
        return max(0.0, self.at - time.monotonic())

    @property
    def expired(self) -> bool:
        """Is the deadline over?"""
        return self.remaining() <= 0

    def require(self) -> float:
        """Return the seconds that are left, more than 0. TimeoutError if there are none."""
        remaining = self.remaining()
        if remaining <= 0:
            raise TimeoutError(self.missed)
        return remaining

    def later(self, seconds: float) -> "Deadline":
        """Return this deadline, moved by time that the peer did not take."""
        return Deadline(self.at + seconds, self.seconds)

    @property
    def missed(self) -> str:
        """What to say if the peer was too late."""
        return f"no answer within {self.seconds:g} seconds"
