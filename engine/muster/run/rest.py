"""The rest of a fleet, which stands: when time alone changes anything of it."""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from muster.data.decision import OF_ITSELF, Because, Wake
from muster.data.kinds import FLEET

if TYPE_CHECKING:
    from muster.run.state import State

_BECAUSE: Final = Because("state", OF_ITSELF, "what stands is looked at again then")
_NOBODY: Final = FLEET.id("")


def rest_wakes(state: "State", but: Collection[int]) -> tuple[Wake, ...]:
    """When any neighbourhood but these is due, and when one is of which not only a pulse is."""
    due, settled = state.next_due(but)
    return (*_wakes(due, pulse=True), *_wakes(settled, pulse=False))


def _wakes(second: int | None, *, pulse: bool) -> Iterator[Wake]:
    if second is not None:
        yield Wake(_NOBODY, _BECAUSE, datetime.fromtimestamp(second, UTC), pulse)
