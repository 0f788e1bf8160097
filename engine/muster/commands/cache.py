"""The disposable cache of the command line: `$MUSTER_CACHE_DIR`, else `$XDG_CACHE_HOME/muster`, else `~/.cache/muster`.

It holds data only and may be deleted at any time; with `MUSTER_CACHE_DIR` set to nothing there is none. The library
never uses it by itself: what evaluates a fleet for somebody else's program writes nowhere.
"""

from collections.abc import Mapping
from pathlib import Path


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Return where the cache lies; None where there is none to be."""
    if (named := environ.get("MUSTER_CACHE_DIR")) is not None:
        return Path(named) if named else None
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "muster"
    home = environ.get("HOME")
    return Path(home) / ".cache" / "muster" if home else None


def use_cache(environ: Mapping[str, str]) -> None:
    """Use the cache in this process, if its directory can be made; never an error."""
    from muster.cel import cache

    directory = cache_directory(environ)
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            directory = None
    cache.use(directory)
