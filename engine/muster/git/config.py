"""What git's configuration says: who commits, whether commits are signed, and where a branch goes."""

import os
from collections.abc import Collection
from typing import NamedTuple

from muster.git.repository import Repository, current_branch

_FALLBACK = ("-c", "user.name=muster", "-c", "user.email=muster@localhost")


class Upstream(NamedTuple):
    """The remote, and the branch there, that a local branch follows."""

    remote: str
    branch: str


def identity(repository: Repository, role: str) -> str:
    """Return who commits as `AUTHOR` or `COMMITTER`: `Name <mail> seconds zone`, as git writes it.

    As configured or in the environment, dates included (`GIT_AUTHOR_DATE`); what is set nowhere is
    `muster <muster@localhost>`, and the date now. git's own guess from the host's name is not used.
    """
    variable = f"GIT_{role}_IDENT"
    found = repository.git.line("-c", "user.useConfigOnly=true", "var", variable)
    return found or os.fsdecode(repository.git.output(*_FALLBACK, "var", variable)).strip()


def signs_commits(repository: Repository) -> bool:
    """Tell whether `commit.gpgSign` asks for signatures."""
    return repository.git.line("config", "--type=bool", "--get", "commit.gpgSign") == "true"


def remotes(repository: Repository) -> tuple[str, ...]:
    """Return the names of the configured remotes, sorted."""
    return tuple(sorted(os.fsdecode(repository.git.output("remote")).splitlines()))


def in_order(repository: Repository, known: Collection[str], likely: Collection[str] = ()) -> list[str]:
    """Return remotes, those first that most likely have what is asked for: that which the branch follows, `origin`."""
    if len(known) < 2:
        return list(known)
    branch = current_branch(repository)
    followed = upstream(repository, branch, known) if branch else None
    first = [*([followed.remote] if followed else []), "origin", *sorted(likely), *sorted(known)]
    return [remote for remote in dict.fromkeys(first) if remote in known]


def upstream(repository: Repository, branch: str, known: Collection[str] | None = None) -> Upstream | None:
    """Return where `branch` goes: as configured, else to the branch of its name on the one remote there is.

    None where there is no remote, or several and none of them is `origin`. `known` are the remotes that there are,
    where that has been asked.
    """
    said = repository.git.run("config", "-z", "--get-regexp", r"^branch\.").stdout
    settings = dict(os.fsdecode(one).split("\n", 1) for one in said.split(b"\0") if b"\n" in one)
    remote, merge = settings.get(f"branch.{branch}.remote"), settings.get(f"branch.{branch}.merge")
    if remote and remote != "." and merge and merge.startswith("refs/heads/"):
        return Upstream(remote, merge.removeprefix("refs/heads/"))
    known = remotes(repository) if known is None else known
    if "origin" in known:
        return Upstream("origin", branch)
    return Upstream(next(iter(known)), branch) if len(known) == 1 else None
