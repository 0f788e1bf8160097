"""A real terminal of so many columns: what verbs print on it. `python -m tests.support.terminal` writes the files by
which `tests/cli/test_terminal.py` knows how they should look; read them before you commit them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from muster.data.times import format_time
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, new_repository

GOLDEN = Path(__file__).parents[1] / "cli" / "terminal"
WIDTHS = (80, 120, 200)
_NOW = format_time(NOON.replace(minute=10))
#: What people look at first.
LINES = (
    "get clusters",
    "get pools",
    "get reports -n prod-eu-1",
    "get placements -A",
    "get cluster prod-eu-1 prod-us-1 -o wide",
    "plan",
)
_MAIN = """
import shlex, sys
from muster.commandline import run
for line in sys.argv[1:]:
    print(f"$ muster {line}", flush=True)
    try:
        run([*shlex.split(line), "--now", %r])
    except SystemExit:
        pass
"""


def example_in(folder: Path) -> Repo:
    """The example fleet as a repository."""
    repo = new_repository(folder / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return repo


def printed(repo: Repo, columns: int, lines: Sequence[str], environ: Mapping[str, str] = MappingProxyType({})) -> str:
    """What a process prints on a terminal for these command lines in a repository, escapes and all."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    inherited = {name: value for name, value in repo.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN % _NOW, *lines],
        cwd=repo.path,
        stdin=there,
        stdout=there,
        stderr=subprocess.DEVNULL,
        env={**inherited, "TERM": "xterm", **environ},
    )
    os.close(there)
    said = b""
    try:
        while some := os.read(here, 1 << 16):
            said += some
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(here)
    assert process.wait() == 0
    return said.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def main() -> None:
    """Write the files."""
    with tempfile.TemporaryDirectory() as folder:
        repo = example_in(Path(folder))
        for columns in WIDTHS:
            (GOLDEN / f"{columns}.txt").write_text(plain(printed(repo, columns, LINES)), encoding="utf-8")


if __name__ == "__main__":
    main()
