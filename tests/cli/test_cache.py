"""The command line's cache: an unchanged policy is not parsed again, and a damaged cache costs nothing but time."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.cli.cache import cache_directory
from tests.features.pulses.test_walkthrough import fleet
from tests.support.git import Repo

PROGRAM = """
import sys
from muster import commandline as cli
code = cli.run(["get", "--repo", sys.argv[1], "--now", "2026-01-01T00:00:30Z"])
print("imported" if {"celpy", "lark"} & set(sys.modules) else "not imported")
sys.exit(code)
"""


def run(repo: Repo, cache: Path) -> str:
    environ = {**repo.environ, "MUSTER_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(repo.path)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_second_process_does_not_import_the_parser(tmp_path: Path) -> None:
    repo, cache = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z"), tmp_path / "cache"
    first, second = run(repo, cache), run(repo, cache)
    assert first.endswith("\nimported\n")
    assert second == first.replace("\nimported\n", "\nnot imported\n")


def test_a_damaged_cache_is_passed_over(tmp_path: Path) -> None:
    repo, cache = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z"), tmp_path / "cache"
    first = run(repo, cache)
    for file in (path for path in cache.rglob("*") if path.is_file()):
        file.write_bytes(b"\x00\xff" + file.read_bytes()[::-1])
    assert run(repo, cache) == first


def test_a_cache_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    (tmp_path / "file").write_text("")
    assert "imported" in run(repo, tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("environ", "directory"),
    [
        ({"MUSTER_CACHE_DIR": "/x", "HOME": "/h"}, Path("/x")),
        ({"MUSTER_CACHE_DIR": "", "HOME": "/h"}, None),
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, Path("/c/muster")),
        ({"HOME": "/h"}, Path("/h/.cache/muster")),
        ({}, None),
    ],
)
def test_where_the_cache_lies(environ: dict[str, str], directory: Path | None) -> None:
    assert cache_directory(environ) == directory
