"""What this muster is, and what it can name."""

import json
from pathlib import Path

import pytest

from muster.version import __version__
from tests.support.commandline import Run


def test_versions(muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE_DIR", str(tmp_path))
    (tmp_path / "state").mkdir()
    (tmp_path / "state/a.sqlite").write_bytes(b"x" * 250_000)
    code, out, _ = muster("version", "-o", "json")
    found = json.loads(out)
    assert (code, found["muster"], found["extras"]["identity"]) == (0, __version__, True)
    assert found["cache"] == {"directory": str(tmp_path), "bytes": 250_000}
    text = muster("version")[1]
    assert text.startswith(f"muster {__version__}, Python 3.")
    assert text.endswith(f"\ncache: {tmp_path}, 0.2 MB\n")
    monkeypatch.setenv("MUSTER_CACHE_DIR", "")
    assert muster("version")[1].endswith("\ncache: nothing is kept: MUSTER_CACHE_DIR is empty\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_shell(muster: Run, shell: str) -> None:
    code, out, _ = muster("completion", shell)
    assert (code, f"_MUSTER_COMPLETE={shell}_source muster" in out) == (0, True)


def test_an_unknown_shell_is_a_mistake_of_usage(muster: Run) -> None:
    assert muster("completion", "cmd")[0] == 2
