"""The extra `metrics`, asked for before anything is done that would be lost without it; and whose metrics they are."""

from importlib.util import find_spec
from pathlib import Path

import click


def require_metrics() -> None:
    """click.UsageError where the library that writes metrics is not installed."""
    if find_spec("prometheus_client") is None:
        raise click.UsageError("Metrics need an extra: pip install 'muster-fleet[metrics]'.")


def fleet_name(repository: Path) -> str:
    """What a fleet is called beside others: as the folder of its repository is."""
    return repository.resolve().name.removesuffix(".git") or "fleet"
