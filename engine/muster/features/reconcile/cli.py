"""`muster reconcile`: evaluate the fleet and commit the result; the scheduled job."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.features.sign.options import Signer, signer_options

if TYPE_CHECKING:
    from muster.run.shards.workers import Workers


@click.command()
@click.option("--branch", metavar="NAME", help="The branch to reconcile.  [default: the one that is checked out]")
@click.option("--push", is_flag=True, help="Fetch first, and push the commit.")
@click.option(
    "--remote", default="origin", show_default=True, metavar="NAME", help="The remote to fetch from and push to."
)
@click.option("--back-in-time", is_flag=True, help="Evaluate at --now even if the last run was later.")
@click.option(
    "--plan",
    type=options.FILE,
    metavar="FILE",
    help="Commit exactly what this file of muster plan --out says, at its instant, or nothing.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print the instant of the run, and the age of agents' refs.")
@options.sink_option
@options.output_option("text", "json")
@click.option(
    "--metrics",
    type=options.FILE,
    metavar="FILE",
    help="Write metrics for Prometheus' textfile collector, continuing from those in FILE.",
)
@signer_options(required=False)
@click.pass_context
@options.repo_option
@options.offline_option
@options.agents_gone_option
@options.now_option
@options.state_option
@options.workers_option
def command(
    ctx: click.Context,
    repo: Path,
    now: datetime,
    branch: str | None,
    push: bool,
    remote: str,
    offline: bool,
    agents_gone: bool,
    back_in_time: bool,
    plan: Path | None,
    verbose: bool,
    sink_dir: Path | None,
    state: Path | None,
    workers: "Workers",
    output: str,
    metrics: Path | None,
    signer: Signer | None,
) -> int:
    """Evaluate the fleet at one instant, and commit the result if anything changes.

    Only files below derived/ are written, in one commit; your uncommitted and staged edits stay as they are. If the
    branch moves meanwhile, its new head is evaluated: at --now if it was given, else at the present.

    Agents' refs are fetched first if they are on a remote. Nothing is decided if refs that the last run read cannot be
    fetched, or if --now is more than five minutes before the last run. With --push, --now may not lie ahead of the
    clock.

    With --ca-cert and --ca-key, approved certificate requests are then signed, in a commit of their own (see muster
    sign).

    Effects that wait for approval (spec.approval of the Fleet) are proposed on branches muster/proposals/TOPIC, with
    --push also on the remote. A branch is deleted when nothing waits there any more.

    With --plan, exactly the agreed plan is committed, or nothing: if the result differs, the differences are printed,
    and the exit code is 1.

    With -o json, standard output has one object: the commit, counts, transitions, held effects, findings, and the time
    of the next change without new input; or `moved`, if the plan no longer holds. Lines for people go to standard
    error.

    \b
    Examples:
      muster reconcile
      muster reconcile --push
      muster reconcile --plan plan.json --push
    """
    from muster.cli.instants import is_ahead
    from muster.cli.listening import WRITER

    given = ctx.get_parameter_source("now") is click.core.ParameterSource.COMMANDLINE
    if plan and (given or back_in_time):
        raise click.UsageError("--plan has its own instant: it does not go with --now or --back-in-time.")
    if given and push and is_ahead(now):
        raise click.UsageError(
            "--now lies ahead of the clock, and with --push its decisions would count for everybody: leave it out, or "
            "try that instant without --push, with muster plan or muster forecast."
        )
    from muster.features.reconcile.job import reconcile_once
    from muster.features.reconcile.results import written_results

    with written_results(output) as results:
        return reconcile_once(
            repo,
            (lambda: now) if given else options.present,
            branch,
            remote if push else None,
            freshness=replace(WRITER, ask=not offline, gone=agents_gone),
            back_in_time=back_in_time,
            verbose=verbose,
            sink_dir=sink_dir,
            state=state,
            workers=workers,
            plan=plan,
            signer=signer,
            metrics=metrics,
            results=results,
        )
