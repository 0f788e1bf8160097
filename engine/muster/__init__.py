"""muster turns a git repository into the control plane of a fleet of clusters.

The library comes first; every command is a thin wrapper over it:

    run = muster.evaluate(path, now=datetime.now(timezone.utc), rev=None)
    run.objects, run.files, run.pulses, run.held, run.findings, run.horizon

Importing the package costs nothing: what is used is loaded on first use.
"""

from muster.version import __version__

TYPE_CHECKING = False  # typing takes 6 ms to import
if TYPE_CHECKING:
    from muster.data.codes import Severity
    from muster.data.finding import Finding
    from muster.run.evaluate import evaluate
    from muster.run.run import Run

__all__ = ["Finding", "Run", "Severity", "__version__", "evaluate"]

_MODULES = {
    "evaluate": "muster.run.evaluate",
    "Run": "muster.run.run",
    "Finding": "muster.data.finding",
    "Severity": "muster.data.finding",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found
