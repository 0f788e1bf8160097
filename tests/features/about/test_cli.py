"""What this muster is, and what it can name."""

import json

import pytest

from muster.version import __version__
from tests.support.commandline import Run


def test_versions(muster: Run) -> None:
    code, out, _ = muster("version", "-o", "json")
    found = json.loads(out)
    assert (code, found["muster"], found["extras"]["identity"]) == (0, __version__, True)
    assert muster("version")[1].startswith(f"muster {__version__}, Python 3.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_shell(muster: Run, shell: str) -> None:
    code, out, _ = muster("completion", shell)
    assert (code, f"_MUSTER_COMPLETE={shell}_source muster" in out) == (0, True)


def test_an_unknown_shell_is_a_mistake_of_usage(muster: Run) -> None:
    assert muster("completion", "cmd")[0] == 2
