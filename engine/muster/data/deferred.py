"""Public names of a package that are loaded on first use, so that importing it costs nothing."""

import sys
from collections.abc import Callable, Collection, Mapping


def deferred(package: str, names: Mapping[str, Collection[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package with these public names, by module."""
    homes = {name: module for module, some in names.items() for name in some}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
