"""Writing files into a work tree: only below it, and over nothing unless that is requested.

Each folder is opened inside the one before it, never through a symbolic link, so a link out of the tree is an obstacle.
An existing file is replaced at once and as a whole, or not at all.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HALF: Final = ".muster-import"  # begins with a dot, so nothing reads it if we are killed before it has its name


def obstacle(root: Path, path: str) -> str:
    """Return why no new file can be written at a path below `root`; nothing where it can."""
    here, steps = root, path.split("/")
    for number, step in enumerate(steps):
        here = here / step
        try:
            mode = os.lstat(here).st_mode
        except FileNotFoundError:
            return ""
        except OSError as error:
            return error.strerror or str(error)
        shown = "/".join(steps[: number + 1])
        if stat.S_ISLNK(mode):
            return f"{shown} is a symbolic link"
        if number == len(steps) - 1:
            return "there is something of that name"
        if not stat.S_ISDIR(mode):
            return f"{shown} is no folder"
    return ""


def create(root: Path, path: str, text: str) -> None:
    """Write a new file, and the folders on the way. FileExistsError if something is there; OSError for the rest."""
    with folder_of(root, path) as folder, os.fdopen(os.open(_name(path), _NEW, 0o666, dir_fd=folder), "wb") as file:
        file.write(text.encode())


def replace(root: Path, path: str, text: str) -> None:
    """Write a file anew. OSError if that cannot be."""
    with folder_of(root, path) as folder:
        try:
            with os.fdopen(os.open(_HALF, _NEW, 0o666, dir_fd=folder), "wb") as file:
                file.write(text.encode())
            os.rename(_HALF, _name(path), src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(_HALF, dir_fd=folder)
            raise


def _name(path: str) -> str:
    return path.rpartition("/")[2]


@contextmanager
def folder_of(root: Path, path: str) -> Iterator[int]:
    """Open the folder of a file, making those on the way that are missing."""
    here = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for step in path.split("/")[:-1]:
            if step in ("", ".", ".."):
                raise OSError(f"{path!r} is no path below a folder")
            with contextlib.suppress(FileExistsError):
                os.mkdir(step, dir_fd=here)
            below = os.open(step, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)
