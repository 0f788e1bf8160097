"""What cannot be read changes nothing: a decision that would read an object with an error is not made.

`View.lookup` and `View.lookup_all` raise this error; the boundary in which stages go from object to object
(`muster.fleet.faults.each`) turns it into a finding, and the pipeline lets the object that was being decided keep its
last derived state, as if it had the error itself. So stages read what they need and have no treatment of their own.
"""

from typing import Final

from muster.data.ids import ObjectId

#: The name in the id of "any object of its kind and namespace that is not there": no object can have it.
ANY_NAME: Final = "*"


class UnreadError(Exception):
    """An object that a decision needs has an error, or may be in a file that cannot be read."""

    def __init__(self, id_: ObjectId | None, kind: str = "") -> None:
        """`id_`: the object; None if some object of a kind may be in an unreadable file."""
        super().__init__(f"{id_} has an error" if id_ is not None else f"a file that cannot be read may hold a {kind}")
