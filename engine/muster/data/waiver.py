"""Waivers: findings that somebody answers for until a day."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiver:
    """What the Waiver of a name says: findings of a code, about an object or a file, told from others by `digests`;
    why, who answers for it, and the first day (`2026-03-01`, UTC) on which they count again."""

    name: str
    code: str
    about: str
    digests: tuple[str, ...]
    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        """Return `waived until 2026-03-01 by sre@example.com: the vendor mends it`."""
        return f"waived until {self.until} by {self.owner}: {self.reason}"
