"""A run as an OpenTelemetry trace: a span for the run, one for each of its steps, and below these one for each git
command.

The usual variables configure the receiver (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
`OTEL_RESOURCE_ATTRIBUTES`). Spans have verbs and numbers, never arguments, which may hold secrets. A receiver that does
not answer delays the end of a run, and does no other harm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context
from requests import Response, Session
from requests.adapters import HTTPAdapter

from muster.features.pulses.http import origin
from muster.git.errors import RepositoryError
from muster.git.store.process import observe_commands
from muster.net.deadline import Deadline
from muster.net.http import bounded, sending
from muster.run.progress import RunStep, told_to
from muster.version import __version__

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.pulses.publish import Publication

#: How long a receiver may take.
_TIMEOUT_SECONDS: Final = 3


class _Adapter(HTTPAdapter):
    """Gives each request one deadline: the time limit of requests starts again with every byte."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """See `HTTPAdapter`."""
        super().init_poolmanager(*arguments, **options)
        bounded(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """See `HTTPAdapter`."""
        return bounded(super().proxy_manager_for(*arguments, **options))

    def send(self, *arguments: Any, **options: Any) -> Response:
        """See `HTTPAdapter`."""
        with sending(Deadline.after(_TIMEOUT_SECONDS)):
            return super().send(*arguments, **options)


class _Session(Session):
    """Follows redirections only on the same origin: traces and the token are for the named receiver."""

    def __init__(self) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())

    def get_redirect_target(self, resp: Response) -> str | None:
        """Return the target of the base class; None for another origin."""
        target = super().get_redirect_target(resp)
        try:
            stays = target is not None and origin(urljoin(resp.url or "", target)) == origin(resp.url or "")
        except ValueError:
            return None
        return target if stays else None


class Tracer:
    """Traces the runs of a fleet."""

    def __init__(self, fleet: str) -> None:
        named = OTELResourceDetector().detect()  # the environment overrides our values
        resource = Resource({SERVICE_NAME: "muster", SERVICE_VERSION: __version__, "muster.fleet": fleet})
        self._provider = TracerProvider(resource=resource.merge(named), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(timeout=_TIMEOUT_SECONDS, session=_Session())
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("muster", __version__)
        self._run: Span | None = None
        self._step: Span | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Trace the block; the span is sent only if a run completes or fails."""
        self._run, self._step = self._tracer.start_span("run", Context()), None
        with told_to(self._at), observe_commands(self._command):
            yield

    def completed(self, done: "ReconcileResult", publication: "Publication") -> None:
        """Send the trace of a completed run."""
        if self._run is not None:
            self._run.set_attributes(
                {
                    "muster.looked_at": done.looked_at,
                    "muster.transitions": len(done.settled.changes),
                    "muster.attempts": done.attempts,
                    "muster.pulses": publication.published,
                    "muster.commit": done.commit or "",
                }
            )
        self._end(None)

    def failed(self, error: Exception) -> None:
        """Send the trace of a failed run."""
        self._end(error)

    def sleeps(self, seconds: float) -> None:
        """Ignored."""

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()

    def _at(self, step: RunStep, _done: int, _total: int) -> None:
        name = step.name.lower()
        if self._run is None or getattr(self._step, "name", "") == name:
            return
        if self._step is not None:
            self._step.end()
        self._step = self._tracer.start_span(name, set_span_in_context(self._run))

    @contextmanager
    def _command(self, verb: str) -> Iterator[None]:
        above = self._step or self._run
        if above is None:
            yield
            return
        span = self._tracer.start_span(f"git {verb}", set_span_in_context(above))
        try:
            yield
        finally:
            span.end()

    def _end(self, error: Exception | None) -> None:
        for span in (self._step, self._run):
            if span is not None:
                if error is not None:
                    text = error.message if isinstance(error, RepositoryError) else type(error).__name__
                    span.set_status(Status(StatusCode.ERROR, text))
                span.end()
        self._run = self._step = None


@contextmanager
def traced(fleet: str) -> Iterator[Tracer]:
    """Trace the run in the block."""
    tracer = Tracer(fleet)
    try:
        with tracer.running():
            yield tracer
    except Exception as error:
        tracer.failed(error)
        raise
    finally:
        tracer.close()
