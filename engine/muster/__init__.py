"""muster turns a git repository into the control plane of a fleet of clusters.

The library comes first; every command is a thin wrapper over it:

    run = muster.evaluate(path, now=datetime.now(timezone.utc), rev=None)
    run.objects, run.files, run.pulses, run.held, run.findings, run.horizon

Importing the package costs nothing: what is used is loaded on first use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.engine.evaluate import evaluate
    from muster.engine.run import Run
    from muster.model.finding import Finding, Severity

__version__ = "0.1.0"
__all__ = ["Finding", "Run", "Severity", "__version__", "evaluate"]

_HOMES = {
    "evaluate": "muster.engine.evaluate",
    "Run": "muster.engine.run",
    "Finding": "muster.model.finding",
    "Severity": "muster.model.finding",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
