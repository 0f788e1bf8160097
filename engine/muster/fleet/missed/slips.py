"""Slips: files that are there and not whole, and what they held.

What such a file held stays as it was derived, and each run reads the file and these objects again until it is mended.
"""

from dataclasses import dataclass
from typing import Final

from muster.model.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Slips:
    """The paths of files that are not whole, and the objects that are kept because of them. `elsewhere`: any other
    object may depend on them too, so the whole fleet is looked at."""

    files: frozenset[str] = frozenset()
    ids: frozenset[ObjectId] = frozenset()
    elsewhere: bool = False

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.files or self.ids or self.elsewhere)


NO_SLIPS: Final = Slips()
