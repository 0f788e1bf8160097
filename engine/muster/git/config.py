"""What git's configuration says: who commits, whether commits are signed, which remote a branch follows.

And what a push to a folder of this machine would run. Such a push starts git there, with the hooks and the
configuration of the repository there. If you were given a repository, the other one may have come with it: the
configuration then names it by a relative path, or it lies inside. A push there runs nothing unless you name the path
(`--remote PATH`) or trust the configuration (`MUSTER_TRUST_CONFIG=1`). An absolute path to elsewhere is trusted: `git
clone` writes those, the hooks there decide what may be pushed, and git itself refuses folders of other users.
"""

import os
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from string import ascii_letters, digits
from typing import Final, NamedTuple

from muster.data.wildcards import matches_any
from muster.git.clock import wall_clock
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, current_branch
from muster.git.store.restricted import TRUST

_SCHEME: Final = f"{ascii_letters}{digits}+.-"
_RUN_BY_A_PUSH: Final = (
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "push-to-checkout",
    "proc-receive",
    "reference-transaction",
    "pre-auto-gc",
)
_REMOTE: Final = "remote."
_KEYS: Final = (
    "core.hookspath",
    "core.fsmonitor",
    "core.alternaterefscommand",
    "gc.recentobjectshook",
    "hook.*.command",
)


def require_no_programs(repository: Repository, remote: str) -> None:
    """Raise RepositoryError if a push to `remote` would run programs that the repository's own configuration leads
    to."""
    if repository.git.environ.get(TRUST) == "1":
        return
    for url in _push_urls(repository, remote):
        if url != remote and not _is_elsewhere(url) and _may_come_along(repository, url):
            place = _repository_folder(repository, url)
            if programs := sorted(_programs(repository, place)):
                raise RepositoryError(
                    f"a push to {remote} would run programs of {place}: {', '.join(programs)}",
                    f"the repository's own configuration names that path: give it yourself (--remote {place}), "
                    f"or set {TRUST}=1 if you trust it",
                )


def _is_elsewhere(url: str) -> bool:
    """Is this `host:path` or `scheme://`, and not a path?"""
    before, colon, behind = url.partition(":")
    if not behind.startswith("//"):
        return colon != "" and before != "" and "/" not in before
    return before != "file" and before[:1].isalpha() and before.isascii() and not before.strip(_SCHEME)


def _push_urls(repository: Repository, remote: str) -> list[str]:
    """The URLs to which git pushes, after the configuration's rewriting rules."""
    if remote in remotes(repository):
        done = repository.git.run("remote", "get-url", "--push", "--all", remote)
        return os.fsdecode(done.stdout).splitlines()
    listing = repository.git.run("config", "-z", "--get-regexp", r"^url\..*\.(push)?insteadof$").stdout
    rules = [entry.partition("\n") for entry in os.fsdecode(listing).split("\0") if entry]
    bases = ((key.removeprefix("url.").rpartition(".")[0], prefix) for key, _, prefix in rules)
    return [base + remote.removeprefix(prefix) for base, prefix in bases if remote.startswith(prefix)]


def _may_come_along(repository: Repository, url: str) -> bool:
    """May this path have come in the same folder as the repository?"""
    path, top = Path(url.removeprefix("file://")), repository.worktree or repository.git_dir
    return not path.is_absolute() or path.resolve().is_relative_to(top.resolve())


def _repository_folder(repository: Repository, url: str) -> Path:
    start = repository.worktree or repository.git_dir
    path = (start / url.removeprefix("file://")).absolute()
    tried = (path / ".git", path, path.with_name(f"{path.name}.git"))
    return next((folder for folder in tried if (folder / "objects").is_dir()), path)


def _programs(repository: Repository, place: Path) -> Iterator[str]:
    hooks = place / "hooks"
    yield from (f"hooks/{name}" for name in _RUN_BY_A_PUSH if os.access(hooks / name, os.X_OK))
    listing = repository.git.run("config", "--file", os.fspath(place / "config"), "--includes", "--list", "-z")
    keys = {os.fsdecode(entry.partition(b"\n")[0]) for entry in listing.stdout.split(b"\0")}
    yield from (key for key in keys if matches_any(_KEYS, key))


_FALLBACK_AUTHOR: Final = ("muster", "muster@localhost")
_FALLBACK: Final = ("-c", f"user.name={_FALLBACK_AUTHOR[0]}", "-c", f"user.email={_FALLBACK_AUTHOR[1]}")
_NOT_PLAIN: Final = frozenset("\n<>")
_WHOLE_SECOND: Final = "%Y-%m-%dT%H:%M:%SZ"
_FIRST_YEAR, _LAST_YEAR = 1970, 2099


class Upstream(NamedTuple):
    """The remote and its branch that a local branch follows."""

    remote: str
    branch: str


def identity(repository: Repository, role: str) -> str:
    """Return who commits as `AUTHOR` or `COMMITTER`: `Name <mail> seconds zone`, as git writes it.

    As configured or in the environment, dates included (`GIT_AUTHOR_DATE`); by default `muster <muster@localhost>`, and
    the present. git's own guess from the host's name is not used. git is asked unless a plain name and address are set,
    or none at all, and a date in UTC or none.
    """
    name, mail = _set_for(repository, role, "name"), _set_for(repository, role, "email")
    if (name is None or mail is None) and not _sets_roles_apart(repository):
        name, mail = _FALLBACK_AUTHOR
    date = _date(repository.git.environ.get(f"GIT_{role}_DATE"))
    if name is not None and mail is not None and _is_plain(name) and _is_plain(mail) and date is not None:
        return f"{name} <{mail}> {int(date.timestamp())} {date:%z}"
    variable = f"GIT_{role}_IDENT"
    line = repository.git.line("-c", "user.useConfigOnly=true", "var", variable)
    return line or os.fsdecode(repository.git.output(*_FALLBACK, "var", variable)).strip()


def _set_for(repository: Repository, role: str, key: str) -> str | None:
    """The name or address of a role, where git takes it from: the first place that says one, even if it is empty."""
    places = (
        repository.git.environ.get(f"GIT_{role}_{key.upper()}"),
        *(repository.setting(f"{section}.{key}") for section in (role.lower(), "user")),
    )
    return next((text for text in places if text is not None), None)


def _date(text: str | None) -> datetime | None:
    """The present if there is no text; None if it is not a whole second in UTC, as in `2026-01-01T00:00:00Z`: git reads
    many other forms."""
    if text is None:
        return wall_clock().astimezone()
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return date if f"{date:{_WHOLE_SECOND}}" == text and _FIRST_YEAR < date.year < _LAST_YEAR else None


def _is_plain(text: str) -> bool:
    """Does git write this name or address as it is?"""
    return all(end.isalnum() or end == "_" for end in (text[:1], text[-1:])) and _NOT_PLAIN.isdisjoint(text)


def identities(repository: Repository) -> tuple[str, str]:
    """Return author and committer of a commit that is made now."""
    author = identity(repository, "AUTHOR")
    return author, identity(repository, "COMMITTER") if _sets_roles_apart(repository) else author


def _sets_roles_apart(repository: Repository) -> bool:
    """Does anything but `user.name` and `user.email` say who commits, or when?"""
    return any(name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_")) for name in repository.git.environ) or any(
        key.startswith(("author.", "committer.")) for key in repository.settings
    )


def signs_commits(repository: Repository) -> bool:
    """Does `commit.gpgSign` ask for signatures?"""
    return repository.is_set("commit.gpgsign")


def remotes(repository: Repository) -> tuple[str, ...]:
    """Return the names of the configured remotes, sorted."""
    named = (key.removeprefix(_REMOTE).rpartition(".") for key in repository.settings if key.startswith(_REMOTE))
    return tuple(sorted({name for name, _, what in named if name and what}))


def likely_first(repository: Repository, known: Collection[str], likely: Collection[str] = ()) -> list[str]:
    """Return remotes, most likely sources first: the one that the branch follows, then `origin`."""
    if len(known) < 2:
        return list(known)
    branch = current_branch(repository)
    followed = upstream(repository, branch, known) if branch else None
    first = [*([followed.remote] if followed else []), "origin", *sorted(likely), *sorted(known)]
    return [remote for remote in dict.fromkeys(first) if remote in known]


def upstream(repository: Repository, branch: str, known: Collection[str] | None = None) -> Upstream | None:
    """Return which remote branch `branch` follows: as configured, else the branch of its name on the only remote.

    None without a remote, or with several of which none is `origin`. `known` are the remotes, if the caller has asked.
    """
    remote, merge = (repository.setting(f"branch.{branch}.{name}") for name in ("remote", "merge"))
    if remote and remote != "." and merge and merge.startswith("refs/heads/"):
        return Upstream(remote, merge.removeprefix("refs/heads/"))
    known = remotes(repository) if known is None else known
    if "origin" in known:
        return Upstream("origin", branch)
    return Upstream(next(iter(known)), branch) if len(known) == 1 else None
