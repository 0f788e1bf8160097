"""Faults of ours: where muster is wrong, and not the fleet.

Whatever is asked of many objects is asked through `each`: the one boundary at which an exception becomes a finding. The
object that it was about counts as broken, so it keeps its last derived state; all others are decided as if it were not
there. The finding says what to send us: the sort of the exception and where in our code it arose. Never its text or any
value: those may hold what a fleet keeps to itself.

Where a shorter way of deciding fails, the longer one is taken, and nothing shows it: `fell_back` tells those who
listen.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.source import Part, Place, SourceFile
from muster.version import __version__

#: A fault about one object, and one that is about no single object.
OF_OBJECT, OF_STAGE = "MUS490", "MUS491"
CODES = frozenset((OF_OBJECT, OF_STAGE))
#: A built-in policy that failed: it costs its condition or taint, and the object is decided all the same.
OF_POLICY = "MUS402"
#: All that says that muster is wrong.
OURS = CODES | {OF_POLICY}
_HOME = f"{Path(__file__).resolve().parents[1]}/"
_MOST_FRAMES = 3
_REPORT = "Please report this line: there is nothing of your fleet in it but the name of the object."

#: Is told what muster failed in, and the exception.
Listener: TypeAlias = Callable[[str, Exception], None]
#: Of the whole process: pages and agents have threads of their own.
_LISTENERS: Final[list[Listener]] = []

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


def fell_back(doing: str, error: Exception) -> None:
    """Tell that muster failed in `doing` and takes a longer way instead. Tests listen, and raise the exception."""
    for listener in tuple(_LISTENERS):
        listener(doing, error)


@contextmanager
def fallbacks_told_to(listener: Listener) -> Iterator[None]:
    """Tell a listener, too, while the block runs."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def is_fault(found: Finding) -> bool:
    """Whether a finding says that muster itself is wrong."""
    return found.code in CODES


def of_policies(count: int, first: str, target: ObjectId) -> Finding:
    """The finding that built-in policies failed: how many, where the first one did, and for which object."""
    what = "a built-in policy fails" if count == 1 else f"{count} expressions of built-in policies fail"
    message = f"a fault in muster, not in your fleet: {what}, {first} for {target} (muster {__version__})"
    return finding(OF_POLICY, message, hint=_REPORT)


def is_ours(found: Finding) -> bool:
    """Whether a finding says that muster is wrong, be it in a built-in policy."""
    return found.code in OURS


def told(error: BaseException) -> str:
    """What to send us: `KeyError at decide/damping.py:52 in pending, decide/conditions.py:106 in _damped`."""
    codes = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [(code, line) for code, line in codes if code.co_filename.startswith(_HOME)][::-1][:_MOST_FRAMES]
    places = ", ".join(f"{code.co_filename[len(_HOME) :]}:{line} in {code.co_name}" for code, line in ours)
    return f"{type(error).__name__} at {places or 'no line of ours'} (muster {__version__})"
