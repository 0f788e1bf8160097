"""Slips: files that exist and are not whole, and the objects that they held.

These objects keep their derived state. Each run reads the file and the objects again, until somebody mends the file.
"""

from dataclasses import dataclass
from typing import Final

from muster.data.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Slips:
    """The paths of files that are not whole, and the objects that are kept because of them. `elsewhere`: other objects
    may depend on the files, too, so a run must look at the whole fleet."""

    files: frozenset[str] = frozenset()
    ids: frozenset[ObjectId] = frozenset()
    elsewhere: bool = False

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.files or self.ids or self.elsewhere)


NO_SLIPS: Final = Slips()
