"""The data shipped with muster: schemas, built-in policies and the example fleet.

A wheel has it inside the package (`muster/_bundle`), a checkout at the repository's root. It does not depend on the
working directory.
"""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def bundle_path(name: str) -> Path:
    """Return the folder `policies`, `schemas` or `fleet-repo-example`. FileNotFoundError if the installation lacks
    it."""
    for root in (_PACKAGE / "_bundle", _PACKAGE.parents[1]):
        if (folder := root / name).is_dir():
            return folder
    raise FileNotFoundError(f"the installation of muster is incomplete: its folder {name}/ is missing")
