"""People at terminals, as pages of the documentation show them: commands, and what they print."""

import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Final

from tests.support.forking import search_path
from tests.support.git import git_environ
from tests.support.in_process import muster
from tests.support.patience import PATIENCE_SECONDS

#: A line that begins with a command of muster, and the words of that command.
_MUSTER: Final = re.compile(r"muster ((?:[\w./:=,~ -]|'[^']*')+)")
#: Times, commit ids, ages, and the spaces of columns that hold them.
_VARIES: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT[\d:]+Z)|(?P<id>\b[0-9a-f]{7,40}\b)|(?P<age>\b(?:\d+[dhms]){1,4}\b)"
    r"|(?P<gap> {2,})"
)
#: The ports that the page names may be in use here.
_PORT: Final = re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=http\.server )\d+")
#: Commands that a person repeats until the others are so far, or until no other has pushed in between.
_REPEATED: Final = re.compile(r"muster (?:get|history) |git (?:log|push) ")


class Session:
    """A person at a terminal, who goes from folder to folder.

    A line's first command of muster runs in this process, which has compiled the policies; the shell gets what it
    wrote.
    """

    def __init__(self, folder: Path) -> None:
        self._where = self._home = folder.resolve()
        self._environ = git_environ(self._where, PATH=search_path(), COLUMNS="80")

    def block(self, block: re.Match[str]) -> str:
        """Return a block of a page, after its `file` was written or what it has `told` was played."""
        return self.written(block) if block["file"] else self.played(block["told"])

    def written(self, block: re.Match[str]) -> str:
        """Write the file that a block holds where the person is; return the block."""
        file = self._where / block["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block["told"], encoding="utf-8")
        return block[0]

    def played(self, block: str) -> str:
        """Return a block with what its commands print."""
        printed = []
        for line in (line for line in block.splitlines() if line.startswith("$ ")):
            printed += [line, self.told(line.removeprefix("$ "))]
        return "```console\n" + "\n".join(filter(None, printed)) + "\n```"

    def told(self, line: str) -> str:
        """Run a line; return what it prints."""
        done = subprocess.run(
            ["bash", "-c", f"{self._run_first(line)}\necho; pwd"],
            cwd=self._where,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            encoding="utf-8",
        )
        told, _, where = done.stdout.rstrip("\n").rpartition("\n")
        self._where = Path(where)
        return told.rstrip("\n").replace(str(self._home), "/home/ada")

    def _run_first(self, line: str) -> str:
        if not (first := _MUSTER.match(line)):
            return line
        code, out, err = muster(*shlex.split(first[1]), environ=self._environ, cwd=self._where)
        said = f"printf %s {shlex.quote(err)} >&2; printf %s {shlex.quote(out)}; return {code}"
        return f"muster() {{ {said}; }}\n{line}"


def masked(text: str) -> str:
    """Return a text without what varies from run to run."""
    return _VARIES.sub(lambda found: f"<{found.lastgroup}>", text)


class LiveSession(Session):
    """A person at a terminal who starts processes in the background, and notes their ids in files `NAME.pid`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._environ = {name: value for name, value in self._environ.items() if not name.endswith("_DATE")}
        self._ports = dict[str, str]()

    def played(self, block: str) -> str:
        """Return a block with what its commands print."""
        lines, printed = block.splitlines(), list[str]()
        for number, line in enumerate(lines):
            if line.startswith("$ "):
                command = [line]
                while command[-1].endswith("\\"):
                    command.append(lines[number + len(command)])
                after = lines[number + len(command) :]
                shown = "\n".join(takewhile(lambda text: not text.startswith("$ "), after))
                joined = " ".join(part.removesuffix("\\").strip() for part in command)
                printed += [*command, self._as_shown(joined.removeprefix("$ "), shown)]
        return "```console\n" + "\n".join(filter(None, printed)) + "\n```"

    def _as_shown(self, line: str, shown: str) -> str:
        """What a line prints; as the page shows it, if no more differs than may."""
        inside = _PORT.sub(lambda found: self._port(found[0]), line)
        deadline = time.monotonic() + (PATIENCE_SECONDS / 2 if _REPEATED.search(line) else 0)
        parts = inside.split(" && ") if inside.startswith("git pull --quiet && muster ") else [inside]
        while True:
            told = "".join(self.told(part) for part in parts)
            for port, real in self._ports.items():
                told = told.replace(real, port)
            if masked(told) == masked(shown):
                return shown
            if time.monotonic() > deadline:
                return told
            time.sleep(0.1)

    def _run_first(self, line: str) -> str:
        return line if " & " in line else super()._run_first(line)

    def _port(self, shown: str) -> str:
        if shown not in self._ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._ports[shown] = str(free.getsockname()[1])
        return self._ports[shown]

    @contextmanager
    def ended(self) -> Iterator["LiveSession"]:
        """End at last what the session started and did not stop."""
        try:
            yield self
        finally:
            # Unlike rglob, walk takes it that git removes folders meanwhile.
            found = [Path(at, name) for at, _, names in os.walk(self._home) for name in names if name.endswith(".pid")]
            for file in found:
                with suppress(OSError, ValueError):
                    os.kill(int(file.read_text()), signal.SIGKILL)
