"""Facts of a cluster that a file gives, in place of those of its API server."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from muster.data.tree import Tree
from muster.data.yaml.loader import load_documents

_FACTS: Final = ("version", "capacity", "allocatable", "clusterClaims")


class GivenFacts:
    """The facts of a file, which others write while the agent runs, as its token and its kubeconfig.

    While it cannot be read, perhaps because it is being written, they stay; `tell` hears of that once.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        """Read them for the first time. Raises ValueError, with a sentence that names the file."""
        self._path, self._tell = path, tell
        self._facts, self._problem = read_given(path), ""

    def read(self) -> Mapping[str, Tree]:
        """Return the facts as of now."""
        problem = ""
        try:
            self._facts = read_given(self._path)
        except ValueError as error:
            problem = str(error)
        if problem and problem != self._problem:
            self._tell(f"{problem}; what it said before is reported")
        self._problem = problem
        return self._facts


def read_given(path: Path) -> dict[str, Tree]:
    """Return the facts of a file; whatever else it has does not count. Raises ValueError, with a sentence that names
    the file."""
    try:
        loaded = load_documents(path.read_bytes(), path.name)
    except OSError as error:
        raise ValueError(f"--status {path} cannot be read: {error.strerror}") from error
    if loaded.problems:
        problem = loaded.problems[0]
        raise ValueError(f"--status {path}:{problem.line}:{problem.column}: {problem.message}")
    if len(loaded.documents) != 1:
        raise ValueError(f"--status {path} is not a mapping")
    body = loaded.documents[0].body
    return {name: body[name] for name in _FACTS if name in body}
