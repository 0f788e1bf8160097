"""Options that the editing commands share, and the commit that they make."""

import os
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli import completion
from muster.cli.options import combine_options
from muster.cli.outcome import report, say, say_behind
from muster.data.printable import without_secrets
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.features.edits.editing import Edit

_F = TypeVar("_F", bound=Callable[..., Any])
_CLUSTER = ("cluster/", "clusters/", "managedcluster/", "managedclusters/")


def names(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a repeatable, comma-separated option, each once, in order."""
    listed = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in listed if name))


#: `--clusters A,B`.
_clusters_option = click.option(
    "--clusters", multiple=True, callback=names, metavar="A,B", help="Names of clusters, in place of arguments."
)


def clusters_named(*, required: bool = True) -> Callable[[_F], _F]:
    """`CLUSTER...` or `--clusters A,B`, as one parameter `clusters`."""

    def joined(function: _F) -> _F:
        def both(named: tuple[str, ...], clusters: tuple[str, ...]) -> tuple[str, ...]:
            return _some(dict.fromkeys((*named, *clusters)), required=required)

        command = combine_options(function, "clusters", both, "named", "clusters")
        argument = click.argument("named", nargs=-1, metavar="CLUSTER...", shell_complete=completion.clusters)
        return argument(_clusters_option(command))

    return joined


def clusters_and_words(word: str, is_word: Callable[[str], bool]) -> Callable[[_F], _F]:
    """`CLUSTER... WORD...`, or `--clusters A,B WORD...`, as the parameters `clusters` and `words`; `word` names them.

    No name of a cluster looks like a word: of a taint, or of a label.
    """

    def joined(function: _F) -> _F:
        @wraps(function)
        def split(arguments: tuple[str, ...], clusters: tuple[str, ...], **given: Any) -> Any:
            named = [] if clusters else [argument for argument in arguments if not is_word(argument)]
            words = tuple(argument for argument in arguments if clusters or is_word(argument))
            chosen = _some(dict.fromkeys((*named, *clusters)), required=True)
            return function(clusters=chosen, words=words, **given)

        argument = click.argument("arguments", nargs=-1, metavar=f"CLUSTER... {word}...")
        return argument(_clusters_option(split))  # type: ignore[return-value]

    return joined


def _some(clusters: Iterable[str], *, required: bool) -> tuple[str, ...]:
    """The names of clusters, also if they were written as `cluster/NAME`."""
    chosen = tuple(name.rpartition("/")[2] if name.lower().startswith(_CLUSTER) else name for name in clusters)
    if len(chosen) > 1 and f"{chosen[0]}/".lower() in _CLUSTER:
        chosen = chosen[1:]  # KIND NAME..., as kubectl takes them
    if required and not chosen:
        raise click.UsageError("name a cluster.")
    return chosen


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
        from muster.git.landing.landing import target_branch
        from muster.git.push import branch_attempts
        from muster.git.recovery import recover
        from muster.git.repository import open_repository

        repository = open_repository(self.repo, os.environ)
        say(*recover(repository), err=True)
        try:
            done = commit_edit(
                repository,
                change,
                subject,
                branch=self.branch or target_branch(repository),
                remote=self.remote if self.push else None,
                attempts=branch_attempts(),
            )
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
        click.option(
            "--remote",
            default="origin",
            show_default=True,
            metavar="NAME",
            help="The remote to fetch from and push to.",
        ),
        click.option("--push", is_flag=True, help="Fetch first, and push the commit."),
        click.option("--branch", metavar="NAME", help="The branch to commit to.  [default: the one checked out]"),
    ):
        joined = option(joined)
    return joined
