"""`muster sign`: make the certificates of approved requests, as one commit."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import click

from muster.commands import options
from muster.commands.edits import edit_options
from muster.commands.exits import FINDINGS
from muster.commands.outcome import say
from muster.commands.signer import Signer, sign_once, signer_options
from muster.model.secrets import without_secrets


@click.command()
@options.repo_option
@options.now_option
@signer_options(required=True)
@edit_options
@options.offline_option
@click.pass_context
def command(
    ctx: click.Context, repo: Path, now: datetime, ca_cert: Path, ca_key: Path, longest: timedelta,
    branch: str | None, push: bool, remote: str, offline: bool,
) -> int:  # fmt: skip
    """Sign the requests for certificates that are approved, and commit the certificates.

    What is signed was approved by the policy csr-approval or by a person, with exactly that content. A certificate has
    the name and groups that were approved and nothing beside them, the usages of a client, and lives no longer than it
    asks for, than --longest and than the authority. Run it after a reconcile, or give reconcile or watch these options.
    """
    from dataclasses import replace

    from muster.acts.landing import target_branch
    from muster.answers.listening import WRITER
    from muster.gitio.recovery import recover
    from muster.gitio.repository import open_repository

    given = ctx.get_parameter_source("now") is click.core.ParameterSource.COMMANDLINE
    repository = open_repository(repo, os.environ)
    authority = Signer(ca_cert, ca_key, longest).load(repository, now)
    for line in recover(repository):
        say(line, err=True)
    done = sign_once(
        repository, authority, (lambda: now) if given else options.present, branch or target_branch(repository),
        remote if push else None, replace(WRITER, ask=not offline),
    )  # fmt: skip
    if done.commit is None and not done.refused:
        click.echo("nothing to do")
    if done.pushed:
        click.echo(f"pushed to {without_secrets(remote)}")
    return FINDINGS if done.refused else 0
