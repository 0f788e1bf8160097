"""What git ignores: a file that is never committed is no part of a fleet."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from muster.git.errors import RepositoryError
from muster.git.process import Git, without_location


def ignored_by_git(root: Path, paths: Iterable[str], environ: Mapping[str, str]) -> frozenset[str]:
    """Return those of some paths below `root` that git would leave out; none where git has no say."""
    names = sorted(paths)
    if not names:
        return frozenset()
    stdin = b"".join(name.encode() + b"\0" for name in names)
    try:
        answer = Git(root, without_location(environ)).run("check-ignore", "-z", "--stdin", stdin=stdin)
    except RepositoryError:
        return frozenset()
    return frozenset(name.decode() for name in answer.stdout.split(b"\0") if name and not answer.status)
