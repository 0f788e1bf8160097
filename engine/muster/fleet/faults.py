"""Faults of ours: where muster is wrong, and not the fleet.

Whatever is asked of many objects is asked through `each`: the one boundary at which an exception becomes a finding. The
object that it was about counts as broken, so it keeps its last derived state; all others are decided as if it were not
there. The finding says what to send us: the sort of the exception and where in our code it arose. Never its text or any
value: those may hold what a fleet keeps to itself.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import muster
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.ids import ObjectId
from muster.model.source import Part, Place, SourceFile

#: A fault about one object, and one that is about no single object.
OF_OBJECT, OF_STAGE = "MUS490", "MUS491"
CODES = frozenset((OF_OBJECT, OF_STAGE))
_HOME = f"{Path(__file__).resolve().parents[1]}/"
_MOST_FRAMES = 3
_REPORT = "Please report this line: there is nothing of your fleet in it but the name of the object."

_T = TypeVar("_T")
_D = TypeVar("_D", bound="Decidable")


class Decidable(Protocol):
    """Anything that has the id of an object."""

    @property
    def id(self) -> ObjectId:
        """The id."""


def each(objects: Iterable[_D], decide: Callable[[_D], Iterable[_T]]) -> Iterator[_T | Finding]:
    """Yield what `decide` gives for each object; where it fails on one, only the finding that says so."""
    for obj in objects:
        try:
            found = list(decide(obj))
        except Exception as error:  # noqa: BLE001 - the boundary
            yield of_object(obj, error)
        else:
            yield from found


def attempt(obj: Decidable, compute: Callable[[], _T]) -> _T | Finding:
    """Return what `compute` gives of one object, or the finding that it failed."""
    try:
        return compute()
    except Exception as error:  # noqa: BLE001 - the boundary
        return of_object(obj, error)


def guarded(doing: str, compute: Callable[[], Iterable[_T]], outcome: str) -> list[_T | Finding]:
    """Return what `compute` gives about no single object; where it fails, only the finding that says so."""
    try:
        return list(compute())
    except Exception as error:  # noqa: BLE001 - the boundary
        return [of_stage(doing, error, outcome)]


def of_object(obj: Decidable, error: Exception) -> Finding:
    """The finding that muster failed on an object, which stands in the object's first file."""
    parts: tuple[Part, ...] = getattr(obj, "parts", ())
    place = parts[0].place if parts else Place("")
    message = f"a fault in muster, not in your fleet, so {obj.id} keeps its last derived state: {told(error)}"
    return finding(OF_OBJECT, message, place, hint=_REPORT, object_=obj.id)


def of_stage(doing: str, error: Exception, outcome: str = "what it had decided stays") -> Finding:
    """The finding that muster failed in something that is about no single object."""
    message = f"a fault in muster, not in your fleet, while {doing}, so {outcome}: {told(error)}"
    return finding(OF_STAGE, message, hint=_REPORT)


def of_file(source: SourceFile, error: Exception) -> Finding:
    """The finding that muster failed to read a file; what it may hold keeps its last derived state."""
    text = f"a fault in muster, not in your fleet, so this file counts as not read: {told(error)}"
    return finding(OF_STAGE, text, Place(source.label), hint=_REPORT)


def is_fault(found: Finding) -> bool:
    """Whether a finding says that muster itself is wrong."""
    return found.code in CODES


def told(error: BaseException) -> str:
    """What to send us: `KeyError at decide/damping.py:52 in pending, decide/conditions.py:106 in _damped`."""
    codes = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [(code, line) for code, line in codes if code.co_filename.startswith(_HOME)][::-1][:_MOST_FRAMES]
    places = ", ".join(f"{code.co_filename[len(_HOME) :]}:{line} in {code.co_name}" for code, line in ours)
    return f"{type(error).__name__} at {places or 'no line of ours'} (muster {muster.__version__})"
