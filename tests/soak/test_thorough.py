"""What the gate tries on a few examples, or on some of its inputs, tried on many and on all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(
    str(path.relative_to(TESTS))
    for path in TESTS.rglob("test_*.py")
    if path.parent != Path(__file__).parent and any(mark in path.read_text() for mark in ("often(", "mark.sampled("))
)


@pytest.mark.parametrize("file", FILES)
def test_of_many_more(file: str, figures: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / file)],
        env={**os.environ, "EXAMPLES": "20"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    figures.append(f"{file}: {done.stdout.strip().splitlines()[-1]}")
