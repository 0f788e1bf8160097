"""Versions of muster and of what it needs, and what it keeps on this machine."""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from stat import S_ISREG

from muster.cli.cache import cache_directory
from muster.data.tree import Tree

#: The module by which an extra is known.
_EXTRAS = {
    "amqp": "pika",
    "dask": "distributed",
    "detect": "dns",
    "hub": "kubernetes",
    "identity": "cryptography",
    "mcp": "mcp",
    "metrics": "prometheus_client",
    "prove": "z3",
    "telemetry": "opentelemetry",
}


def versions(muster: str) -> dict[str, Tree]:
    """Return `muster`, `python` and `git` (empty if there is none); `extras`: whether each is installed; and `cache`:
    the directory with what is kept between runs, and its size, or null if nothing is kept."""
    try:
        git = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        git = ""
    extras = {name: find_spec(module) is not None for name, module in _EXTRAS.items()}
    return {"muster": muster, "python": platform.python_version(), "git": git, "extras": extras, "cache": _cache()}


def _cache() -> dict[str, Tree] | None:
    directory = cache_directory(os.environ)
    return None if directory is None else {"directory": str(directory), "bytes": sum(_sizes(directory))}


def _sizes(directory: Path) -> Iterator[int]:
    """The sizes of files that are there. Other processes may be deleting some."""
    for path in directory.rglob("*"):
        with suppress(OSError):
            status = path.lstat()
            if S_ISREG(status.st_mode):
                yield status.st_size
