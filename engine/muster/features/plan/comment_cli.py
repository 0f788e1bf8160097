"""`muster comment`: a plan as one comment on a pull request, which is replaced by the next."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.options import FILE
from muster.data.printable import printable

if TYPE_CHECKING:
    from muster.features.plan.commenting import CommentApi


@click.group()
def command() -> None:
    """Comment on a pull request with what `muster plan -o markdown` wrote, in place of what was said before."""


@command.command("github")
@click.argument("file", type=FILE)
@click.option("--head", required=True, metavar="OWNER:BRANCH", help="Where the pull request comes from.")
@click.option("--commit", required=True, metavar="ID", help="Its newest commit, which was planned.")
def github(file: Path, head: str, commit: str) -> int:
    """Comment on the open pull requests that come from --head, as long as --commit is their newest commit.

    As in GitHub's jobs, GITHUB_API_URL and GITHUB_REPOSITORY say where, and GITHUB_TOKEN (or GH_TOKEN) is whose name it
    is in. Where nothing is derived differently, only a comment that said otherwise is replaced.
    """
    from muster.features.plan.commenting import Api, GitHub

    token = os.environ.get("GITHUB_TOKEN") or _required("GH_TOKEN")
    url = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    api = Api(url, {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"})
    return _comment(file, GitHub(api, _required("GITHUB_REPOSITORY"), head, commit))


@command.command("gitlab")
@click.argument("file", type=FILE)
def gitlab(file: Path) -> int:
    """Comment on the merge request of a pipeline.

    As in GitLab's jobs, CI_API_V4_URL, CI_MERGE_REQUEST_PROJECT_ID and CI_MERGE_REQUEST_IID say where;
    MUSTER_GITLAB_TOKEN, with the scope api, is whose name it is in.
    """
    from muster.features.plan.commenting import Api, GitLab

    api = Api(_required("CI_API_V4_URL"), {"PRIVATE-TOKEN": _required("MUSTER_GITLAB_TOKEN")})
    return _comment(file, GitLab(api, _required("CI_MERGE_REQUEST_PROJECT_ID"), _required("CI_MERGE_REQUEST_IID")))


def _comment(file: Path, forge: "CommentApi") -> int:
    from muster.features.plan.commenting import NoCommentError, comment_on, read_comment

    try:
        text = read_comment(file)
    except NoCommentError as error:
        raise click.UsageError(printable(str(error))) from error
    done = comment_on(forge, text)
    for line in done or ("no open pull request has this commit as its newest: nothing to comment on",):
        click.echo(line)
    return 0


def _required(name: str) -> str:
    if not (value := os.environ.get(name)):
        raise click.UsageError(f"the environment variable {name} is not set.")
    return value
