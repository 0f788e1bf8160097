"""Whether a file that muster keeps for itself came with a checkout.

A state or a cache may lie inside a work tree: some CI systems keep no other files from job to job. Then a commit may
hold a file of that name, and a checkout puts it there. It is people's word, not what an earlier run kept.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from muster.git.errors import RepositoryError
from muster.git.store.restricted import restricted_git


def why_of_checkout(paths: Sequence[Path], environ: Mapping[str, str]) -> str:
    """Return why one of these files, or of what is below these folders, may have come with a checkout; empty if none
    of them can. They need not exist, and lie in one folder.

    It can if git tracks it, in the index or in HEAD, or if a link of the work tree leads to it. Outside of work trees
    no git is started.
    """
    folder = Path(os.path.abspath(paths[0].parent))  # noqa: PTH100 - resolve() would follow links
    real, top = folder.resolve(), _checkout_around(folder)
    if top is not None:
        if link := next((path for path in paths if path.is_symlink()), None):
            return f"{link} is a symbolic link"
        if top.resolve() / folder.relative_to(top) != real:
            return f"a symbolic link in {top} leads to it"
    elsewhere = _checkout_around(real)
    names = [real / path.name for path in paths]
    tracked = "" if elsewhere is None else next(_tracked(elsewhere, names, environ), "")
    return f"git tracks {tracked}" if tracked else ""


def _checkout_around(folder: Path) -> Path | None:
    """The work tree that a folder lies in; None if it lies in none."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def _tracked(top: Path, paths: Sequence[Path], environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what git tracks at these paths and below; letters of both cases count alike, as on some file systems."""
    names = [os.fspath(path.relative_to(top)) for path in paths]
    try:
        git = restricted_git(top, environ)
        done = git.run("ls-files", "-z", "--with-tree=HEAD", "--", *(f":(literal,icase){name}" for name in names))
        if done.status:  # no commit yet
            done = git.run("ls-files", "-z", "--", *(f":(literal,icase){name}" for name in names))
    except RepositoryError:
        return
    if done.status:
        yield f"{names[0]}, as far as it says: {done.stderr.strip()}"
    yield from (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
