"""Bills of what is inside an artifact (SBOM), in CycloneDX's JSON: cyclonedx-bom writes them from installed packages,
and its library checks them against the schema.

https://cyclonedx.org/docs/1.6/json/
"""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from muster.data.tree import Tree
from tests.support.release.making import Making, call


def write_bill(making: Making, packages: Path, out: Path, system: Iterable[Tree] = ()) -> None:
    """Write the bill of a folder of installed packages, and of components of the system below them."""
    with TemporaryDirectory() as folder:
        bill = json.loads(_bill_of_packages(making, packages, Path(folder)))
    bill["components"] += system
    out.write_text(checked(bill), encoding="utf-8")


def checked(bill: Tree) -> str:
    """Return a bill as text; AssertionError if the schema forbids it."""
    from cyclonedx.schema import SchemaVersion  # of the extra `release`, which most tests do not need
    from cyclonedx.validation.json import JsonStrictValidator

    text = json.dumps(bill, indent=2) + "\n"
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert problem is None, problem.data.message
    return text


def debian_package(fields: Tree) -> Tree:
    """Return the component of an installed package of Debian's, from its fields in dpkg's status."""
    from packageurl import PackageURL

    name, version = fields["Package"], fields["Version"]
    purl = PackageURL("deb", "debian", name, version, {"arch": fields["Architecture"], "distro": "bookworm"})
    return {"type": "library", "bom-ref": str(purl), "name": name, "version": version, "purl": str(purl)}


def _bill_of_packages(making: Making, packages: Path, environment: Path) -> str:
    """The tool reads environments: one is made that has the folder for its packages."""
    library = environment / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    call([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    library.rmdir()
    library.symlink_to(packages.resolve())
    options = ["--output-reproducible", f"--pyproject={making.source / 'pyproject.toml'}", "--spec-version=1.6"]
    command = [sys.executable, "-m", "cyclonedx_py", "environment", *options, str(environment / "bin/python")]
    return call(command, environ={**os.environ, "SOURCE_DATE_EPOCH": str(making.epoch)})
