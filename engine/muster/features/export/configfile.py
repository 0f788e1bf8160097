"""`muster export endpoints --out FILE`: the file of a load balancer, replaced as a whole, and what reloads it."""

import shlex
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from muster.cli.following import TryAgainError

#: A reload that takes longer counts as failed.
_RELOAD_SECONDS: Final = 60


class ConfigFile:
    """A file, and the command to run after it has changed; none if it is empty."""

    def __init__(self, path: Path, command: str) -> None:
        self._path, self._command = path, command
        self._loaded: str | None = None

    def put(self, text: str) -> bool:
        """Write the text and run the command, unless this was done with the same text; was it done? The first time the
        command runs in any case: an earlier process may have ended before. TryAgainError if that fails."""
        if text == self._loaded:
            return False
        try:
            self._write(text)
            if self._command:
                subprocess.run(shlex.split(self._command), check=True, timeout=_RELOAD_SECONDS)
        except OSError as error:
            raise TryAgainError(f"error: {error}") from error
        except subprocess.SubprocessError as error:
            raise TryAgainError(f"error: {self._path} is written, but not loaded: {error}") from error
        self._loaded = text
        return True

    def _write(self, text: str) -> None:
        """Nobody sees half a file. It keeps its mode; a new one may be read by everyone."""
        mode = self._path.stat().st_mode & 0o777 if self._path.exists() else 0o644
        with NamedTemporaryFile("w", dir=self._path.parent, prefix=f".{self._path.name}.", delete=False) as file:
            file.write(text)
        Path(file.name).chmod(mode)
        Path(file.name).replace(self._path)
