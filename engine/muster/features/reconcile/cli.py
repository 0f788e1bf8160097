"""`muster reconcile`: evaluate the fleet and commit the result; the scheduled job."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.cache import open_state_of, use_cache
from muster.cli.exits import FINDINGS
from muster.cli.outcome import report, say, say_behind
from muster.cli.progress import working
from muster.data.printable import printable, without_secrets
from muster.data.times import format_time
from muster.features.metrics.observers import fleet_name, require_metrics, wants_traces
from muster.features.sign.options import Signer, sign_once, signer_options

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from muster.cli.listening import Freshness
    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.metrics.observers import RunObserver
    from muster.features.plan.planfile import Planned
    from muster.features.pulses.publish import Publication
    from muster.git.repository import Repository
    from muster.run.workers import Workers


@click.command()
@options.repo_option
@options.now_option
@click.option("--branch", metavar="NAME", help="The branch to reconcile.  [default: the one that is checked out]")
@click.option("--push", is_flag=True, help="Fetch first, and push the commit.")
@click.option("--remote", default="origin", show_default=True, help="The remote to fetch from and push to.")
@options.offline_option
@options.agents_gone_option
@click.option("--back-in-time", is_flag=True, help="Evaluate at --now even if the last run was later.")
@click.option(
    "--plan",
    type=options.FILE,
    metavar="FILE",
    help="Commit exactly what this file of muster plan --out says, at its instant, or nothing.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print the instant of the run, and the age of agents' refs.")
@options.sink_option
@options.state_option
@options.workers_option
@options.output_option("text", "json")
@click.option("--metrics", type=options.FILE, metavar="FILE",
              help="Write metrics for Prometheus' textfile collector, continuing from those in FILE.")  # fmt: skip
@signer_options(required=False)
@click.pass_context
def command(
    ctx: click.Context, repo: Path, now: datetime, branch: str | None, push: bool, remote: str, offline: bool,
    agents_gone: bool, back_in_time: bool, plan: Path | None, verbose: bool, sink_dir: Path | None, state: Path | None,
    workers: "Workers", output: str, metrics: Path | None, signer: Signer | None,
) -> int:  # fmt: skip
    """Evaluate the fleet at one instant and commit the result, in one commit or none.

    Nothing outside derived/ is changed; uncommitted and staged edits stay as they are. If the branch moves meanwhile,
    the new head is evaluated: at --now if it was given, else at the present.

    Agents' refs are fetched first if they are on a remote. If refs that the last run read cannot be fetched, nothing is
    decided. Nor is it at an instant more than five minutes before the last run's.

    With --ca-cert and --ca-key, approved certificate requests are then signed, in a commit of their own (see muster
    sign).

    Effects that wait for approval (spec.approval of the Fleet) are proposed on branches muster/proposals/TOPIC, with
    --push on the remote. The branches are kept up to date, and deleted when nothing waits any more.

    With --plan, exactly the agreed plan is committed, or nothing: if the result differs, the differences are printed
    and the exit code is 1.

    With -o json, standard output has one object: the commit, counts, transitions, what is held, findings, and the next
    instant at which time alone changes something. Lines for people go to standard error.
    """
    from muster.cli.listening import WRITER

    given = ctx.get_parameter_source("now") is click.core.ParameterSource.COMMANDLINE
    if plan and (given or back_in_time):
        raise click.UsageError("--plan has its own instant: it does not go with --now or --back-in-time.")
    from muster.features.reconcile.results import written_results

    with written_results(output) as results:
        return reconcile_once(
            repo, (lambda: now) if given else options.present, branch, remote if push else None,
            freshness=replace(WRITER, ask=not offline, gone=agents_gone), back_in_time=back_in_time, verbose=verbose,
            sink_dir=sink_dir, state=state, workers=workers, plan=plan, signer=signer, metrics=metrics,
            results=results,
        )  # fmt: skip


def publish(
    repository: "Repository", done: "ReconcileResult", remote: str | None, sink_dir: Path | None
) -> "Publication":
    """Publish the due pulses and notifications after the commit, and print how many."""
    from muster.features.notify.notify import notify_due
    from muster.features.pulses.publish import publish_due

    pulses = len(done.settled.last.pulses)
    publication = publish_due(repository, done.settled.last, remote, folder=sink_dir)
    if publication.published:
        click.echo(f"published {publication.published} pulses" if pulses != 1 else "published 1 pulse")
    elif pulses and not publication.failures and not publication.faults:
        due = "1 pulse is due" if pulses == 1 else f"{pulses} pulses are due"
        click.echo(f"{due} and there is no sink for them; see muster pulses")
    notified = notify_due(repository, done, remote)
    if notified.published:
        click.echo("sent 1 notification" if notified.published == 1 else f"sent {notified.published} notifications")
    say(*publication.lines(), *notified.lines(), err=True)
    publication.faults.extend(notified.faults)
    publication.told = notified.told
    return publication


def reconcile_once(
    repo: Path, now: Callable[[], datetime], branch: str | None, remote: str | None, *,
    freshness: "Freshness | None" = None, back_in_time: bool = False, verbose: bool = False,
    sink_dir: Path | None = None, state: Path | None = None, workers: "Workers | None" = None, plan: Path | None = None,
    signer: Signer | None = None, metrics: Path | None = None, results: "Sequence[RunObserver]" = (),
) -> int:  # fmt: skip
    """Reconcile, print what was done, and return the exit code."""
    from muster.cli.listening import WRITER
    from muster.features.reconcile.reconcile import reconcile
    from muster.git.landing import target_branch
    from muster.git.push import branch_attempts
    from muster.git.recovery import recover
    from muster.git.repository import open_repository
    from muster.git.upkeep import run_maintenance
    from muster.rules.checks.waivers import shown

    with ExitStack() as measured:
        observers = [*results, *(measured.enter_context(one) for one in _observers(metrics, repo))]
        use_cache(os.environ)
        repository = open_repository(repo, os.environ)
        authority = signer.load(repository, now()) if signer else None
        say(*recover(repository), err=True)
        target, freshness = branch or target_branch(repository), freshness or WRITER
        kept = open_state_of(os.environ, repository, target, state)
        planned = _read(plan) if plan else None
        done = _as_planned(lambda: reconcile(
            repository, now, branch=target, remote=remote, attempts=branch_attempts(), freshness=freshness,
            back_in_time=back_in_time, state=kept, workers=workers, planned=planned,
        ))  # fmt: skip
        if done is None:
            return FINDINGS
        _tell(done, remote)
        publication = publish(repository, done, remote, sink_dir)
        for observer in observers:
            observer.completed(done, publication)
        refused = sign_once(repository, authority, now, target, remote, freshness).refused if authority else ()
        troubles = _propose(repository, done, target, remote)
        run_maintenance(repository)
        say_behind(done)
        say(*(f"held: {one['kind']}/{one['name']}: {one['effect']}: {one['reason']}" for one in done.settled.last.held))
        if verbose:
            _print_details(repository, done)
        code = report([*shown(done.settled.findings, done.settled.last.now), *publication.faults])
        return code or (FINDINGS if refused or troubles else 0)


def _observers(metrics: Path | None, repo: Path) -> "Iterator[AbstractContextManager[RunObserver]]":
    """The observers of the run, as contexts."""
    tell = partial(say, err=True)
    if metrics is not None:
        require_metrics()
        from muster.features.metrics.metering import metered

        yield metered(metrics, time.time, fleet_name(repo), tell)
    if wants_traces(os.environ, tell):
        from muster.features.metrics.tracing import traced

        yield traced(fleet_name(repo))


def _as_planned(run: "Callable[[], ReconcileResult]") -> "ReconcileResult | None":
    """Run; if the result differs from the plan, print the differences and return None."""
    from muster.features.plan.planfile import PlanMovedError

    try:
        with working("evaluating the fleet"):
            return run()
    except PlanMovedError as moved:
        click.echo("the plan no longer holds, and nothing was written:", err=True)
        say(*(f"  {line}" for line in moved.lines), err=True)
        click.echo("hint: make a new one with muster plan --out", err=True)
        return None


def _tell(done: "ReconcileResult", remote: str | None) -> None:
    """Print what was committed, or why nothing was."""
    from muster.features.reconcile.reconcile import waiting_text
    from muster.run.changes import summary

    if done.commit:
        say(f"{done.commit[:12]} {summary(done.settled.changes)}", *(f"  {change}" for change in done.settled.changes))
    elif done.waits:
        say(waiting_text(done.settled, format_time(done.waits)))
    else:
        click.echo("nothing to do")
    if done.pushed:
        click.echo(f"pushed to {without_secrets(remote or '')}")


def _propose(repository: "Repository", done: "ReconcileResult", branch: str, remote: str | None) -> list[str]:
    """Propose effects that wait for approval, and print the proposals; return errors."""
    from muster.features.reconcile.proposals import propose

    proposed = propose(repository, done, branch, remote)
    say(*map(str, proposed.proposals))
    say(*proposed.troubles, err=True)
    return proposed.troubles


def _read(plan: Path) -> "Planned":
    from muster.features.plan.planfile import PlanFileError, read_plan

    try:
        return read_plan(plan)
    except PlanFileError as error:
        raise click.UsageError(printable(str(error))) from error


def _print_details(repository: "Repository", done: "ReconcileResult") -> None:
    """Print how the run was made, and the age of agents' refs."""
    from muster.cli.listening import age_line

    said = (f"looked at {done.looked_at}", *done.how, age_line(repository, done.heard, done.instant.now))
    say(*filter(None, said), err=True)
