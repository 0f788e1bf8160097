"""Traces, where the environment asks for them as it does of any program; nothing of it is imported otherwise."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Final

#: Where spans are sent.
_ASKED_BY: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def wants_traces(environ: Mapping[str, str], say: Callable[[str], None]) -> bool:
    """Whether traces are asked for, and can be had; it is said where they cannot."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    if off or not any(environ.get(name) for name in _ASKED_BY):
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        say("no traces are sent: they need an extra: pip install 'muster-fleet[telemetry]'")
        return False
    return True
