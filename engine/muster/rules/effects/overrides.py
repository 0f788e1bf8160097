"""Overrides: a person says that the disruption is real, why, and until when.

    metadata:
      annotations:
        muster.dev/allow-disruption: "until 2026-01-01T13:00:00Z: the fire in eu-1 is confirmed"

On a cluster it lets that cluster's effects through, on a DisruptionBudget that budget's, on the Fleet all. It ends by
itself, and it cannot be given without a reason: an exception that nobody can explain is one that nobody removes.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from muster.data.times import try_time
from muster.fleet.objects import Object

ALLOW_DISRUPTION = "muster.dev/allow-disruption"
FORM = "until <RFC 3339 time>: <reason>"
_FORM = re.compile(r"\s*until\s+(\S+?):\s+(\S.*?)\s*", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Override:
    """Disruption is allowed before `expiry`, for a reason."""

    expiry: datetime
    reason: str

    def covers(self, now: datetime) -> bool:
        """Whether it is in force at an instant."""
        return now < self.expiry


def override_of(obj: Object) -> Override | None:
    """Return the override that an object's annotation gives; None without one, or where it is malformed."""
    text = obj.annotations.get(ALLOW_DISRUPTION)
    return parse_override(text) if isinstance(text, str) else None


def parse_override(text: str) -> Override | None:
    """Read `until <time>: <reason>`; None where the text has another form."""
    match = _FORM.fullmatch(text)
    expiry = try_time(match[1]) if match else None
    return Override(expiry, match[2]) if match and expiry else None
