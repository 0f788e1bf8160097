"""Damaged files: files that exist and are not whole, and the objects that they held."""

from dataclasses import dataclass
from typing import Final

from muster.data.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Slips:
    """Files that exist and are damaged, and the objects that keep their derived state because of them. Each run reads
    both again until the file is repaired. `elsewhere`: other objects may depend on the files too, so the run must be
    full."""

    files: frozenset[str] = frozenset()
    ids: frozenset[ObjectId] = frozenset()
    elsewhere: bool = False

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.files or self.ids or self.elsewhere)


NO_SLIPS: Final = Slips()
