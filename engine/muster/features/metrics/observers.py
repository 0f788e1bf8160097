"""Observers of runs, metrics and traces: their protocol, and what they need to be started."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from muster.data.extras import install_command

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.pulses.publish import Publication

#: Either of these variables turns traces on.
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class RunObserver(Protocol):
    """Is called about each run, by the thread that runs, which waits for it."""

    def running(self) -> AbstractContextManager[None]:
        """Return the context of a run, even of one that finds nothing to do."""

    def completed(self, done: "ReconcileResult", publication: "Publication") -> None:
        """A run has completed and published."""

    def failed(self, error: Exception) -> None:
        """A run has failed."""

    def sleeps(self, seconds: float) -> None:
        """The next run begins after so many seconds, if nothing happens before."""


def wants_traces(environ: Mapping[str, str], say: Callable[[str], None]) -> bool:
    """Are traces configured, and is their library installed? If it is not, say so."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    if off or not any(environ.get(name) for name in _ENDPOINTS):
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        say(f"no traces are sent: they need an extra: {install_command('telemetry')}")
        return False
    return True


def missing_metrics() -> str:
    """What to install for metrics; empty if it is installed."""
    return "" if find_spec("prometheus_client") else f"metrics need an extra: {install_command('metrics')}"


def fleet_name(repository: Path) -> str:
    """The name of a fleet in metrics and traces: that of its repository's folder."""
    return repository.resolve().name.removesuffix(".git") or "fleet"


@contextmanager
def tracers(repository: Path, say: Callable[[str], None]) -> Iterator[tuple[RunObserver, ...]]:
    """Yield the tracer of runs, if traces are configured; it sends what is left after the block."""
    if not wants_traces(os.environ, say):
        yield ()
        return
    from muster.features.metrics.tracing import Tracer

    with closing(Tracer(fleet_name(repository))) as tracer:
        yield (tracer,)
