"""`muster sign`: make the certificates of approved requests, as one commit."""

import os
from datetime import datetime

import click

from muster.cli import options
from muster.cli.exits import FINDINGS
from muster.cli.outcome import say
from muster.data.printable import without_secrets
from muster.features.edits.options import Destination, edit_options
from muster.features.sign.options import Signer, sign_once, signer_options


@click.command()
@options.repo_option
@options.now_option
@signer_options(required=True)
@edit_options
@options.offline_option
@click.pass_context
def command(ctx: click.Context, now: datetime, signer: Signer, into: Destination, offline: bool) -> int:
    """Sign the requests for certificates that are approved, and commit the certificates.

    What is signed was approved by the policy csr-approval or by a person, with exactly that content. A certificate has
    the name and groups that were approved and nothing beside them, the usages of a client, and lives no longer than it
    asks for, than --longest and than the authority. Run it after a reconcile, or give reconcile or watch these options.
    """
    from dataclasses import replace

    from muster.cli.listening import WRITER
    from muster.git.landing import target_branch
    from muster.git.recovery import recover
    from muster.git.repository import open_repository

    given = ctx.get_parameter_source("now") is click.core.ParameterSource.COMMANDLINE
    repository = open_repository(into.repo, os.environ)
    authority = signer.load(repository, now)
    say(*recover(repository), err=True)
    done = sign_once(
        repository, authority, (lambda: now) if given else options.present, into.branch or target_branch(repository),
        into.remote if into.push else None, replace(WRITER, ask=not offline),
    )  # fmt: skip
    if done.commit is None and not done.refused:
        click.echo("nothing to do")
    say(*done.waiting)
    if done.pushed:
        click.echo(f"pushed to {without_secrets(into.remote)}")
    return FINDINGS if done.refused else 0
