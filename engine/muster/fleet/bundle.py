"""The data that ships with muster: schemas, built-in policies, the example fleet.

In a wheel they lie inside the package (`muster/_bundle`), in a checkout at the repository's root. Nothing here
depends on the working directory.
"""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def bundle_path(name: str) -> Path:
    """Return the folder `policies`, `schemas` or `fleet-repo-example`. FileNotFoundError if the install lost it."""
    for root in (_PACKAGE / "_bundle", _PACKAGE.parents[1]):
        if (folder := root / name).is_dir():
            return folder
    raise FileNotFoundError(f"the installation of muster is incomplete: its folder {name}/ is missing")
