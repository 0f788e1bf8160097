"""The files that arguments of `muster validate` name, as paths from the repository's root.

`muster.cli.reading` is imported on use: the pre-commit hook names no files, and needs none of it.
"""

import os
from collections.abc import Collection
from pathlib import Path

import click

from muster.data.names import did_you_mean
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository, resolve
from muster.git.store.paths import IGNORE_FILE, decode, is_data
from muster.git.trees import list_tree


def is_read(path: str) -> bool:
    """Can the content of a path matter to the fleet?"""
    return is_data(os.fsencode(path)) or path == IGNORE_FILE


def named_paths(files: tuple[str, ...], repo: Path, rev: str | None, *, anything: bool) -> set[str]:
    """Return the named files as paths from the repository's root; for a folder all present and committed files below
    it; `.` for the root. UsageError for a path that exists neither in the work tree nor in the commit, unless
    `anything`: CI names deleted files."""
    names = set(_relative(files, repo))
    if not names or "." in names:
        return names
    from muster.cli.reading import worktree_root

    root = worktree_root(repo)
    folders = {name for name in names if anything or not (root / name).is_file()}
    committed = _committed(repo, rev) if folders else ()
    for folder in sorted(folders):
        inside = root / folder
        paths = {path for path in committed if path.startswith(f"{folder}/")}
        if inside.is_dir() and not inside.is_symlink():
            paths.update(path.relative_to(root).as_posix() for path in inside.rglob("*") if is_read(path.name))
        names.update(paths)
        if not (anything or paths or folder in committed or os.path.lexists(inside)):
            beside = [path.name for path in inside.parent.glob("*")]
            raise click.UsageError(f"there is no {folder!r}; {did_you_mean(inside.name, beside)}".rstrip("; "))
    return names


def _committed(repo: Path, rev: str | None) -> Collection[str]:
    """The paths in a revision, by default HEAD; none without a repository or commit."""
    from muster.cli.reading import own_repository

    try:
        repository = open_repository(repo, os.environ) if rev else own_repository(repo)
        if repository is None:
            return ()
        return {decode(entry.path)[0] for entry in list_tree(repository, resolve(repository, rev or "HEAD"))}
    except RepositoryError:
        return ()  # reading the fleet reports the error


def _relative(files: tuple[str, ...], repo: Path) -> list[str]:
    """Return the files as paths from the repository's root; `.` for the root itself."""
    if not files:
        return []
    from muster.cli.reading import worktree_root

    root = worktree_root(repo).resolve()
    relative = []
    for name in files:
        path = Path(os.path.abspath(name))  # noqa: PTH100 - `..` is resolved, and links are not
        # The file itself may be a symbolic link: only the folder that holds it is resolved.
        whole = path.resolve() if path.is_dir() and not path.is_symlink() else path.parent.resolve() / path.name
        relative.append(whole.relative_to(root).as_posix() if whole.is_relative_to(root) else Path(name).as_posix())
    return relative
