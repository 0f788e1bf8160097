"""The commands that the README shows run, and its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git import git_environ

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def environ(tmp_path: Path) -> dict[str, str]:
    binaries = Path(sys.executable).parent
    return git_environ(tmp_path, PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}", TMPDIR=str(tmp_path))


def test_the_commands_for_ones_own_repository_run(tmp_path: Path) -> None:
    """The first line in the checkout, into a folder of its own and offline; the others with what it installed."""
    blocks = re.findall(r"^```\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    commands = next(block for block in blocks if "muster init my-fleet" in block)
    install, rest = commands.split("\n", 1)
    target = tmp_path / "target"
    offline = {
        "PIP_TARGET": str(target),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_COMPILE": "1",
    }
    paths = {"PYTHONPATH": str(target), "PATH": f"{target / 'bin'}{os.pathsep}{environ(tmp_path)['PATH']}"}
    for cwd, script, more in ((ROOT, install, offline), (tmp_path, rest, paths)):
        done = subprocess.run(
            ["sh", "-c", f"set -e\n{script}"],
            cwd=cwd,
            env={**environ(tmp_path), **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "example" in done.stdout
    assert list(target.glob("muster_fleet-*.dist-info"))


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
