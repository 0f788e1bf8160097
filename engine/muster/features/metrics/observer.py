"""Who is told what runs do: metrics and traces."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from muster.cli.reconcile_result import ReconcileResult
from muster.features.pulses.publish import Publication

if TYPE_CHECKING:
    pass
if TYPE_CHECKING:
    pass


class LookObserver(Protocol):
    """Whoever is told of each look, by the thread that looks: it waits for them."""

    def looking(self) -> AbstractContextManager[None]:
        """What is there while a look lasts; one at which there is nothing to look at, too."""

    def looked(self, done: ReconcileResult, publication: Publication) -> None:
        """A run is done, and what it made due is published."""

    def failed(self, error: Exception) -> None:
        """A run came to nothing."""

    def rests(self, seconds: float) -> None:
        """There is another look after so many seconds, if nothing happens before."""
