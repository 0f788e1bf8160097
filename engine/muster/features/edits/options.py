"""Options that the editing commands share, and the commit that they make."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli.options import combine_options
from muster.cli.outcome import report, say, say_behind
from muster.data.printable import without_secrets

if TYPE_CHECKING:
    from muster.features.edits.editing import Edit

_F = TypeVar("_F", bound=Callable[..., Any])


def names(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a repeatable, comma-separated option, each once, in order."""
    found = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in found if name))


def clusters_option(*, required: bool = True) -> Callable[[_F], _F]:
    """`--clusters A,B`."""
    return click.option(
        "--clusters", multiple=True, required=required, callback=names, metavar="A,B", help="Names of clusters."
    )


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an edit is committed: on `branch`, or the one checked out; with `push` also on the remote."""

    repo: Path
    branch: str | None
    push: bool
    remote: str

    def commit(self, change: "Edit", subject: str) -> int:
        """Make a change in one commit, print what changed, and return the exit code."""
        from muster.features.edits.editing import EditRefusedError, commit_edit
        from muster.git.landing import target_branch
        from muster.git.push import branch_attempts
        from muster.git.recovery import recover
        from muster.git.repository import open_repository

        repository = open_repository(self.repo, os.environ)
        say(*recover(repository), err=True)
        try:
            done = commit_edit(
                repository, change, subject,
                branch=self.branch or target_branch(repository), remote=self.remote if self.push else None,
                attempts=branch_attempts(),
            )  # fmt: skip
        except EditRefusedError as refused:
            say(f"error: {refused}", err=True)
            if refused.hint:
                say(f"hint: {refused.hint}", err=True)
            report(refused.findings)
            return 1
        say(
            f"{done.commit[:12]} {subject}" if done.commit else "nothing to do", *(f"  {line}" for line in done.changes)
        )
        if done.pushed:
            click.echo(f"pushed to {without_secrets(self.remote)}")
        say_behind(done)
        return 0


def edit_options(function: _F) -> _F:
    """`--branch NAME`, `--push` and `--remote NAME`, as one parameter `into` with `--repo`."""
    joined = combine_options(function, "into", Destination, *Destination.__slots__)
    for option in (
        click.option("--remote", default="origin", show_default=True, help="The remote to fetch from and push to."),
        click.option("--push", is_flag=True, help="Fetch first, and push the commit."),
        click.option("--branch", metavar="NAME", help="The branch to commit to.  [default: the one checked out]"),
    ):
        joined = option(joined)
    return joined
