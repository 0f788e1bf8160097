"""Faults in muster itself, as opposed to problems of the fleet.

`each` and its siblings are the boundary where an exception becomes a finding. The object concerned counts as broken and
keeps its last derived state; all others are decided as if it did not exist. The finding names the exception's type and
its place in our code, never its text or a value: those may be confidential.

The same boundary stops a decision that reads an object with an error (`muster.fleet.unread`).

If a faster way of deciding fails, the slower one is taken silently; `fell_back` informs listeners.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.source import Part, Place, SourceFile
from muster.fleet.unread import UnreadError
from muster.version import __version__

#: All codes of faults in muster. A failed built-in policy costs its condition or taint alone: the object is still
#: decided.
OURS = frozenset((Code.FAULT_AT_OBJECT, Code.FAULT, Code.FAULT_IN_BUILT_IN_POLICY))
_PACKAGE_FOLDER = f"{Path(__file__).resolve().parents[1]}/"
_MOST_FRAMES = 3
_REPORT = "Please report this line: of your fleet it contains only the object's name."

#: Called with what muster was doing, and the exception.
Listener: TypeAlias = Callable[[str, Exception], None]
#: One list per process: pages and agents run in their own threads.
_LISTENERS: Final[list[Listener]] = []

_T = TypeVar("_T")
_D = TypeVar("_D", bound="Decidable")


class Decidable(Protocol):
    """Anything with the id of an object."""

    @property
    def id(self) -> ObjectId:
        """The id that findings name."""


def each(objects: Iterable[_D], decide: Callable[[_D], Iterable[_T]]) -> Iterator[_T | Finding]:
    """Yield the results of `decide` for each object; for an object on which it fails, or that it cannot decide because
    of something unread, a finding."""
    for obj in objects:
        try:
            results = list(decide(obj))
        except UnreadError as unread:
            yield undecided(obj, unread)
        except Exception as error:  # noqa: BLE001 - the boundary
            yield object_fault(obj, error)
        else:
            yield from results


def attempt(obj: Decidable, compute: Callable[[], _T]) -> _T | Finding:
    """Return the result of `compute` for one object, or a finding if it fails."""
    try:
        return compute()
    except Exception as error:  # noqa: BLE001 - the boundary
        return object_fault(obj, error)


def guarded(doing: str, compute: Callable[[], Iterable[_T]], outcome: str) -> list[_T | Finding]:
    """Return the results of `compute`; if it fails, only a finding."""
    try:
        return list(compute())
    except Exception as error:  # noqa: BLE001 - the boundary
        return [stage_fault(doing, error, outcome)]


def object_fault(obj: Decidable, error: Exception) -> Finding:
    """The finding that muster failed on an object, placed in the object's first file."""
    parts: tuple[Part, ...] = getattr(obj, "parts", ())
    place = parts[0].place if parts else Place("")
    message = f"a fault in muster, not in your fleet, so {obj.id} keeps its last derived state: {fault_text(error)}"
    return finding(Code.FAULT_AT_OBJECT, message, place, hint=_REPORT, object_=obj.id)


def undecided(obj: Decidable, unread: UnreadError) -> Finding:
    """The finding that an object keeps its state because what it depends on cannot be read."""
    parts: tuple[Part, ...] = getattr(obj, "parts", ())
    message = f"{obj.id} stays as it is: {unread}"
    hint = "mend that first: another finding names the mistake"
    return finding(Code.UNDECIDED, message, parts[0].place if parts else Place(""), hint=hint, object_=obj.id)


def keeps_state(finding: Finding) -> bool:
    """Does the finding's object keep its last derived state because it was not decided?"""
    return finding.code in (Code.FAULT_AT_OBJECT, Code.UNDECIDED)


def stage_fault(doing: str, error: Exception, outcome: str = "its last decisions stay") -> Finding:
    """The finding that muster failed in something about no single object."""
    message = f"a fault in muster, not in your fleet, while {doing}, so {outcome}: {fault_text(error)}"
    return finding(Code.FAULT, message, hint=_REPORT)


def file_fault(source: SourceFile, error: Exception) -> Finding:
    """The finding that muster failed to read a file; objects in it keep their last derived state."""
    text = f"a fault in muster, not in your fleet, so this file counts as not read: {fault_text(error)}"
    return finding(Code.FAULT, text, Place(source.label), hint=_REPORT)


def fell_back(doing: str, error: Exception) -> None:
    """Inform listeners that `doing` failed and a slower way is taken. Tests listen, and raise the exception."""
    for listener in tuple(_LISTENERS):
        listener(doing, error)


@contextmanager
def listening_to_fallbacks(listener: Listener) -> Iterator[None]:
    """Call the listener on fallbacks while the block runs."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def is_fault(finding: Finding) -> bool:
    """Is this finding about a fault in muster?"""
    return finding.code in (Code.FAULT_AT_OBJECT, Code.FAULT)


def policy_fault(count: int, first: str, target: ObjectId) -> Finding:
    """The finding that built-in policies failed: how many, where the first did, and for which object."""
    failing = "a built-in policy fails" if count == 1 else f"{count} expressions of built-in policies fail"
    message = f"a fault in muster, not in your fleet: {failing}, {first} for {target} (muster {__version__})"
    return finding(Code.FAULT_IN_BUILT_IN_POLICY, message, hint=_REPORT)


def is_any_fault(finding: Finding) -> bool:
    """Is this finding about a fault in muster or in a built-in policy?"""
    return finding.code in OURS


def fault_text(error: BaseException) -> str:
    """Where an exception arose: `KeyError at decide/damping.py:52 in pending, decide/conditions.py:106 in _damped`."""
    import traceback

    codes = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own_frames = [(code, line) for code, line in codes if code.co_filename.startswith(_PACKAGE_FOLDER)][::-1][
        :_MOST_FRAMES
    ]
    places = ", ".join(
        f"{code.co_filename[len(_PACKAGE_FOLDER) :]}:{line} in {code.co_name}" for code, line in own_frames
    )
    return f"{type(error).__name__} at {places or 'no line of ours'} (muster {__version__})"
