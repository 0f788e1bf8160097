"""Versions of muster and of what it stands on."""

import platform
import subprocess
from importlib.util import find_spec

from muster.data.tree import Tree

#: The module by which an extra is known.
_EXTRAS = {
    "amqp": "pika", "dask": "distributed", "detect": "dns", "hub": "kubernetes", "identity": "cryptography",
    "metrics": "prometheus_client", "prove": "z3", "telemetry": "opentelemetry",
}  # fmt: skip


def versions(muster: str) -> dict[str, Tree]:
    """Return `muster`, `python` and `git` (empty if there is none), and `extras`: whether each is installed."""
    try:
        git = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        git = ""
    extras = {name: find_spec(module) is not None for name, module in _EXTRAS.items()}
    return {"muster": muster, "python": platform.python_version(), "git": git, "extras": extras}
