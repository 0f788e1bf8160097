"""Progress: on a terminal, after a moment, and nowhere else."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

_WORK = """
import time
from muster.cli import progress
from muster.run.progress import RunStep, doing
progress.PATIENCE_SECONDS = 0.2
with progress.working("looking"):
    time.sleep({before})
    doing(RunStep.DECIDING_SHARDS, 3, 12)
    time.sleep({after})
print("done")
"""


def run(before: float, after: float) -> tuple[str, str]:
    """What is printed on a terminal, and elsewhere."""
    return said_of([sys.executable, "-c", _WORK.format(before=before, after=after)], os.environ)


def said_of(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str, str]:
    """What a command prints on a terminal, which its errors go to, and elsewhere."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env={**environ, "TERM": "xterm", "COLUMNS": "100"}
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # nobody has the other end any more
            break
        if not more:
            break
        said += more
    os.close(ours)
    out = process.communicate()[0]
    assert process.returncode == 0
    return said.decode(), out.decode()


def test_it_says_what_is_done_and_how_much_of_it() -> None:
    said, out = run(0.7, 0.7)
    assert said.index("looking") < said.index("deciding neighbourhoods")
    assert "3/12" in said
    assert out == "done\n"


def test_of_what_is_over_in_a_moment_nothing_is_said() -> None:
    said, _ = run(0, 0)
    assert "looking" not in said
    assert "deciding" not in said


def test_in_a_pipe_nothing_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _WORK.format(before=0.4, after=0)], cwd=tmp_path, check=True)
    assert done.returncode == 0
    assert capfd.readouterr().err == ""
