"""Candidates: changes that may suffice. Each is applied to a supposition, and tried in a rehearsal."""

from collections.abc import Callable, Sequence
from typing import Final

from muster.data.ids import ObjectId
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.features.whatif.fields import REMOVED, set_field
from muster.features.whatif.supposing import Supposition

#: How far a number is changed.
_FARTHEST: Final = 1 << 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change, in words, of an object. `apply` supposes it. `parts`: it is not tried if one of these suffices."""

    text: str
    object: ObjectId
    apply: Callable[[Supposition], None]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steps:
    """A number that is changed as little as suffices: candidates from the smallest change on."""

    candidates: Sequence[Candidate]

    @property
    def text(self) -> str:
        """The smallest change in words."""
        return self.candidates[0].text if self.candidates else ""


def setting(text: str, id_: ObjectId, path: At, value: Tree) -> Candidate:
    """A field of an object, or of a built-in policy, that gets a value."""

    def put(supposition: Supposition) -> None:
        builtin = supposition.fleet.read.builtin.get(id_)
        set_field(supposition, id_, path, value, builtin.body if builtin is not None else None)

    return Candidate(text, id_, put)


def without(text: str, id_: ObjectId, path: At) -> Candidate:
    """A field of an object, or an element of a list, that is removed."""
    return setting(text, id_, path, REMOVED)


def numbers(label: str, id_: ObjectId, path: At, values: Sequence[Tree], *, subject: str = "") -> Steps:
    """A field that gets one of several values, the nearest ones first. `subject`: what follows the value in words."""
    return Steps([setting(f"{label} {value}{subject}", id_, path, value) for value in values[:_FARTHEST]])
