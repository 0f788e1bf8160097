"""Coverage-guided fuzzing of whatever eats bytes that somebody else wrote."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.soak.conftest import share


@pytest.mark.parametrize("name", TARGETS)
def test_it_takes_whatever_is_found(tmp_path: Path, name: str, figures: list[str]) -> None:
    pytest.importorskip("atheris", reason="it is there for Linux and macOS only")
    seconds = int(share(0.25) / len(TARGETS))
    command = [sys.executable, "-m", "tests.fuzz", name, str(seconds), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds * 3 + 120)
    assert done.returncode == 0, (done.stderr[-4000:], [path.read_bytes()[:200] for path in tmp_path.glob("*-*")])
    said = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    assert int(said["number_of_executed_units"]) > 20
    figures.append(
        f"{name}: {said['number_of_executed_units']} inputs in {seconds} s, {said['new_units_added']} of them reached "
        f"something new, {said['peak_rss_mb']} MiB at most"
    )
