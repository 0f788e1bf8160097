"""The policy library: policies that many fleets want, each with its tests, to copy into a fleet and change there.

A file's first line says what its policy decides, and which other policy of the library that needs.
"""

from collections.abc import Iterable
from pathlib import Path

from muster.data.names import did_you_mean
from muster.fleet.bundle import bundle_path

_NEEDS = "Needs "
_TESTS = ".test.yaml"


def library() -> dict[str, str]:
    """Return what each policy of the library decides, by its name."""
    files = sorted(_folder().glob("*.yaml"))
    return {path.stem: _first_line(path) for path in files if not path.name.endswith(_TESTS)}


def files_of(names: Iterable[str]) -> dict[str, str]:
    """Return the files of these policies, of those that they need, and of their tests, by name. ValueError for a name
    that the library does not have."""
    policies, files, left = library(), dict[str, str](), list(names)
    while left:
        name = left.pop(0)
        if name not in policies:
            hint = did_you_mean(name, policies) or "docs/policy-library.md lists its policies"
            raise ValueError(f"the policy library has no {name!r}; {hint.rstrip('?')}")
        for file in (f"{name}.yaml", f"{name}{_TESTS}"):
            files[file] = (_folder() / file).read_text(encoding="utf-8")
        _, needs, other = policies[name].rpartition(_NEEDS)
        left += [other.removesuffix(".")] if needs and other.endswith(".") and " " not in other else []
    return files


def _folder() -> Path:
    return bundle_path("policies") / "library"


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
