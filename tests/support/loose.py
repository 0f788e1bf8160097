"""Commits without git processes: their objects are written as files. For tests that make thousands of commits."""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.support.git import Repo

_FOLDER: Final = b"40000"
_SUBMODULE: Final = b"160000"
_PERSON: Final = "Ada <ada@example.com> 1767225600 +0000"


class Entry(NamedTuple):
    """A path's new content and mode; without content it is removed."""

    content: bytes | None
    mode: bytes = b"100644"


#: What a commit changes, by path.
Edit = Mapping[bytes, Entry]


def puts(files: Mapping[str, str | None]) -> Edit:
    """Return the edit that writes some files, or removes those that are None."""
    return {path.encode(): Entry(None if text is None else text.encode()) for path, text in files.items()}


@dataclass(frozen=True)
class Revision:
    """A commit and the files in it: mode and object id by path. Without a commit, an empty line to begin."""

    repo: Repo
    id: str = ""
    files: Mapping[bytes, tuple[bytes, str]] = field(default_factory=dict)

    def commit(self, edit: Edit, message: str = "Edit\n") -> Self:
        """Return a commit of `edit` on top. As in git, a file takes the place of a folder, and a folder of a file."""
        files = {path: file for path, file in self.files.items() if path not in edit}
        for path, (content, mode) in edit.items():
            if content is None:
                continue
            for other in [other for other in files if _collide(path, other)]:
                del files[other]
            files[path] = (mode, self.id if mode == _SUBMODULE else self._store("blob", content))
        lines = [f"tree {self._tree(files)}", *([f"parent {self.id}"] if self.id else ())]
        lines += [f"author {_PERSON}", f"committer {_PERSON}", "", message]
        return type(self)(self.repo, self._store("commit", "\n".join(lines).encode()), files)

    def text(self, path: bytes) -> str:
        """Return the text of a file."""
        data = zlib.decompress(self._file(self.files[path][1]).read_bytes())
        return data.partition(b"\0")[2].decode()

    def name(self, ref: str) -> None:
        """Let a ref point at the commit."""
        file = self.repo.path / ".git" / ref
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{self.id}\n")

    def _tree(self, files: Mapping[bytes, tuple[bytes, str]]) -> str:
        folders: dict[bytes, dict[bytes, tuple[bytes, str]]] = {}
        entries: dict[bytes, tuple[bytes, bytes, str]] = {}
        for path, file in files.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                folders.setdefault(name, {})[rest] = file
            else:
                entries[name] = (name, *file)
        entries |= {name + b"/": (name, _FOLDER, self._tree(below)) for name, below in folders.items()}
        lines = (b"%b %b\0%b" % (mode, name, bytes.fromhex(id_)) for _, (name, mode, id_) in sorted(entries.items()))
        return self._store("tree", b"".join(lines))

    def _store(self, sort: str, content: bytes) -> str:
        data = b"%b %d\0%b" % (sort.encode(), len(content), content)
        id_ = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        file = self._file(id_)
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(data, 1))
        return id_

    def _file(self, id_: str) -> Path:
        return self.repo.path / ".git" / "objects" / id_[:2] / id_[2:]


def _collide(path: bytes, other: bytes) -> bool:
    """Can only one of two paths be a file?"""
    return path.startswith(other + b"/") or other.startswith(path + b"/")
