"""Bills of what is inside an artifact name the installed packages, and keep to CycloneDX's schema."""

import json
import shutil
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.support.release import ROOT
from tests.support.release.bill import checked, debian_package, write_bill
from tests.support.release.making import Making

pytestmark = pytest.mark.skipif(find_spec("cyclonedx_py") is None, reason="cyclonedx-bom not installed (extra release)")
EPOCH: Final = 1_800_000_000
GIT: Final = {"Package": "git", "Version": "1:2.39.5-0+deb12u2", "Architecture": "amd64"}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with two installed packages, of those of the tests."""
    folder = tmp_path / "packages"
    for name in ("jsonschema", "referencing"):
        installed = distribution(name)
        source = Path(str(installed.locate_file("")))
        shutil.copytree(source / name, folder / name)
        described = f"{name}-{installed.version}.dist-info"
        shutil.copytree(source / described, folder / described)
    return folder


def test_a_bill_names_packages_and_what_they_need_as_the_schema_has_it(packages: Path, tmp_path: Path) -> None:
    making, out = Making(ROOT, tmp_path, tmp_path, EPOCH, "", "", Path()), tmp_path / "bill.json"
    write_bill(making, packages, out, [debian_package(GIT)])
    written = json.loads(out.read_text())
    purls = {component["purl"] for component in written["components"]}
    assert purls == {
        *(f"pkg:pypi/{name}@{distribution(name).version}" for name in ("jsonschema", "referencing")),
        "pkg:deb/debian/git@1:2.39.5-0%2Bdeb12u2?arch=amd64&distro=bookworm",
    }
    (needs,) = (item["dependsOn"] for item in written["dependencies"] if item["ref"].startswith("jsonschema="))
    assert needs == [f"referencing=={distribution('referencing').version}"]
    assert written["metadata"]["component"]["name"] == "muster-fleet"
    written["components"][0]["type"] = "nonsense"
    with pytest.raises(AssertionError, match="'nonsense' is not one of"):
        checked(written)
