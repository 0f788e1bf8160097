"""CONTRIBUTING.md: whoever follows the recipes for a kind and for a function has them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OBJECT = """\
apiVersion: muster.dev/v1alpha1
kind: Maintenance
metadata: {name: tuesday}
spec: {start: 2026-01-06T22:00:00Z}
"""


def blocks(recipe: str) -> list[str]:
    """The code of a recipe, in order."""
    section = PAGE.split(f"### {recipe}\n")[1].split("\n### ")[0]
    return re.findall(r"^```\w+\n(.*?)^```$", section, re.M | re.S)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the checkout, as far as the program needs it."""
    for folder in ("engine", "schemas", "policies"):
        shutil.copytree(ROOT / folder, tmp_path / "muster" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "muster/fleet").mkdir()
    return tmp_path / "muster"


def muster(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "PYTHONPATH": str(copy / "engine"), "MUSTER_CACHE_DIR": str(copy / "cache")}
    command = [sys.executable, "-m", "muster", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=copy / "fleet")


def test_a_kind(copy: Path) -> None:
    entry, name, schema = blocks("A kind")
    kinds = copy / "engine/muster/model/kinds.py"
    before, all_, rest = kinds.read_text().partition("ALL: tuple")
    listed, end, after = rest.partition("\n)")
    kinds.write_text(f"{before}{entry}\n{all_}{listed}\n    {name.rstrip()}{end}{after}")
    (copy / "schemas/maintenance.json").write_text(schema)
    tuesday = copy / "fleet/tuesday.yaml"
    tuesday.write_text(OBJECT)
    done = muster(copy, "validate")
    assert (done.returncode, done.stdout) == (0, "1 object, no findings\n")
    assert "tuesday" in muster(copy, "get", "maintenance", "--worktree").stdout
    tuesday.write_text(OBJECT.replace("start", "strat"))
    done = muster(copy, "validate")
    assert done.returncode == 1
    assert "unknown field spec.strat" in done.stdout + done.stderr


def test_a_function(copy: Path) -> None:
    (row,) = blocks("A function of CEL")
    library = copy / "engine/muster/cel/library/strings.py"
    library.write_text(f"{library.read_text()}\n\n{row}")
    done = muster(copy, "cel", "'quiet'.shout()")
    assert done.returncode == 0, done.stderr
    assert "'QUIET'" in done.stdout
    refused = muster(copy, "cel", "(1).shout()")
    assert refused.returncode == 1
    assert "shout cannot take (int)" in refused.stdout
