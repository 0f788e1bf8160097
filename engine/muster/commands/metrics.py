"""The extra `metrics`: asked for before anything is done that would be lost without it."""

from importlib.util import find_spec

import click


def require_metrics() -> None:
    """click.UsageError where the library that writes metrics is not installed."""
    if find_spec("prometheus_client") is None:
        raise click.UsageError("Metrics need an extra: pip install 'muster-fleet[metrics]'.")
