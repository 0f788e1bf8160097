"""`muster sign`: signs approved certificate requests, as one commit."""

import os
from dataclasses import replace
from datetime import datetime

import click

from muster.cli import options
from muster.cli.exits import FINDINGS
from muster.cli.listening import WRITER
from muster.cli.outcome import say
from muster.data.printable import without_secrets
from muster.features.edits.options import Destination, edit_options
from muster.features.sign.options import Signer, sign_once, signer_options
from muster.git.landing.landing import target_branch
from muster.git.recovery import recover
from muster.git.repository import open_repository


@click.command()
@signer_options(required=True)
@click.pass_context
@options.repo_option
@edit_options
@options.offline_option
@options.now_option
def command(ctx: click.Context, now: datetime, signer: Signer, into: Destination, offline: bool) -> int:
    """Sign approved certificate requests, and commit the certificates.

    A request must be approved by the policy csr-approval or by a person, with exactly its present content. A
    certificate has the approved name and groups, the usages of a client, and nothing else. The request, --longest and
    the authority limit its lifetime. Run this after a reconcile, or give these options to reconcile or watch.

    \b
    Example:
      muster sign --ca-cert ca.crt --ca-key ~/ca.key --push
    """

    given = ctx.get_parameter_source("now") is click.core.ParameterSource.COMMANDLINE
    repository = open_repository(into.repo, os.environ)
    authority = signer.load(repository, now)
    say(*recover(repository), err=True)
    done = sign_once(
        repository,
        authority,
        (lambda: now) if given else options.present,
        into.branch or target_branch(repository),
        into.remote if into.push else None,
        replace(WRITER, ask=not offline),
    )
    if done.commit is None and not done.refused:
        click.echo("nothing to do")
    say(*done.waiting)
    if done.pushed:
        click.echo(f"pushed to {without_secrets(into.remote)}")
    return FINDINGS if done.refused else 0
