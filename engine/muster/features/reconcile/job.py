"""One reconcile from start to end, as a scheduled job: run, publish, notify, sign, propose, and print what was done."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.cache import open_state_of, use_cache
from muster.cli.exits import FINDINGS
from muster.cli.listening import WRITER, Freshness, age_line
from muster.cli.outcome import report, say, say_behind
from muster.cli.progress import working
from muster.cli.reconcile_result import ReconcileResult
from muster.cli.uncommitted import note_uncommitted
from muster.data.printable import printable, without_secrets
from muster.data.times import format_time
from muster.features.metrics.observers import RunObserver, fleet_name, missing_metrics, wants_traces
from muster.features.notify.notify import notify_due
from muster.features.plan.planfile import PlanFileError, PlanMovedError, Planned, read_plan
from muster.features.pulses.publish import Publication, publish_due
from muster.features.reconcile.proposals import propose
from muster.features.reconcile.reconcile import reconcile, waiting_text
from muster.features.sign.options import Signer, sign_once
from muster.git.landing.landing import target_branch
from muster.git.push import branch_attempts
from muster.git.recovery import recover
from muster.git.repository import Repository, open_repository
from muster.git.upkeep import run_maintenance
from muster.rules.checks.waivers import shown
from muster.run.transitions.subjects import subject_line
from muster.run.transitions.transitions import held_lines, lines_for_people

if TYPE_CHECKING:
    from muster.run.shards.workers import Workers


def reconcile_once(
    repo: Path,
    now: Callable[[], datetime],
    branch: str | None,
    remote: str | None,
    *,
    freshness: Freshness = WRITER,
    back_in_time: bool = False,
    verbose: bool = False,
    sink_dir: Path | None = None,
    state: Path | None = None,
    workers: "Workers | None" = None,
    plan: Path | None = None,
    signer: Signer | None = None,
    metrics: Path | None = None,
    results: Sequence[RunObserver] = (),
) -> int:
    """Reconcile, print what was done, and return the exit code."""
    with ExitStack() as measured:
        observers = [*results, *(measured.enter_context(one) for one in _observers(metrics, repo))]
        use_cache(os.environ)
        repository = open_repository(repo, os.environ)
        authority = signer.load(repository, now()) if signer else None
        say(*recover(repository), err=True)
        note_uncommitted(repository, "commit them, or see their effect with muster plan --worktree", writes=True)
        target = branch or target_branch(repository)
        kept = open_state_of(os.environ, repository, target, state)
        planned = _read(plan) if plan else None
        done = _as_planned(
            lambda: reconcile(
                repository,
                now,
                branch=target,
                remote=remote,
                attempts=branch_attempts(),
                freshness=freshness,
                back_in_time=back_in_time,
                state=kept,
                workers=workers,
                planned=planned,
            ),
            results,
        )
        if done is None:
            return FINDINGS
        _tell(done, remote)
        publication = _publish(repository, done, remote, sink_dir)
        for observer in observers:
            observer.completed(done, publication)
        refused = sign_once(repository, authority, now, target, remote, freshness).refused if authority else ()
        troubles = _propose(repository, done, target, remote)
        run_maintenance(repository)
        say_behind(done)
        say(*held_lines(done.settled.last.fleet.held))
        if verbose:
            _print_details(repository, done)
        code = report([*shown(done.settled.findings, done.settled.last.now), *publication.faults])
        return code or (FINDINGS if refused or troubles else 0)


def _observers(metrics: Path | None, repo: Path) -> Iterator[AbstractContextManager[RunObserver]]:
    """The observers of the run, as contexts."""
    tell = partial(say, err=True)
    if metrics is not None:
        if missing := missing_metrics():
            raise click.UsageError(f"--metrics: {missing}")
        from muster.features.metrics.metering import metered

        yield metered(metrics, time.time, fleet_name(repo), tell)
    if wants_traces(os.environ, tell):
        from muster.features.metrics.tracing import traced

        yield traced(fleet_name(repo))


def _publish(repository: Repository, done: ReconcileResult, remote: str | None, sink_dir: Path | None) -> Publication:
    """Publish the due pulses and notifications after the commit, and print how many."""
    pulses = len(done.settled.last.pulses)
    publication = publish_due(repository, done.settled.last, remote, folder=sink_dir)
    if publication.published:
        click.echo(f"published {publication.published} pulses" if pulses != 1 else "published 1 pulse")
    elif pulses and not publication.failures and not publication.faults:
        due = "1 pulse is due" if pulses == 1 else f"{pulses} pulses are due"
        click.echo(f"{due} and there is no sink for them; see muster get pulses")
    notified = notify_due(repository, done, remote)
    if notified.published:
        click.echo("sent 1 notification" if notified.published == 1 else f"sent {notified.published} notifications")
    say(*publication.lines(), *notified.lines(), err=True)
    publication.faults.extend(notified.faults)
    publication.told = notified.told
    return publication


def _as_planned(run: Callable[[], ReconcileResult], results: Sequence[RunObserver]) -> ReconcileResult | None:
    """Run; if the result differs from the plan, print the differences and return None."""
    try:
        with working("evaluating the fleet"):
            return run()
    except PlanMovedError as moved:
        click.echo("the plan no longer holds, and nothing was written:", err=True)
        say(*(f"  {line}" for line in moved.lines), err=True)
        click.echo("hint: make a new one with muster plan --out", err=True)
        for observer in results:
            observer.failed(moved)
        return None


def _tell(done: ReconcileResult, remote: str | None) -> None:
    """Print what was committed, or why nothing was."""
    if done.commit:
        transitions = done.settled.changes
        say(f"{done.commit[:12]} {subject_line(transitions)}", *(f"  {line}" for line in lines_for_people(transitions)))
    elif done.waits:
        say(waiting_text(done.settled, format_time(done.waits)))
    else:
        click.echo("nothing to do")
    if done.pushed:
        click.echo(f"pushed to {without_secrets(remote or '')}")


def _propose(repository: Repository, done: ReconcileResult, branch: str, remote: str | None) -> list[str]:
    """Propose effects that wait for approval, and print the proposals; return errors."""
    proposed = propose(repository, done, branch, remote)
    say(*map(str, proposed.proposals))
    say(*proposed.troubles, err=True)
    return proposed.troubles


def _read(plan: Path) -> Planned:
    try:
        return read_plan(plan)
    except PlanFileError as error:
        raise click.UsageError(printable(str(error))) from error


def _print_details(repository: Repository, done: ReconcileResult) -> None:
    """Print how the run was made, and the age of agents' refs."""
    lines = (f"looked at {done.looked_at}", *done.how, age_line(repository, done.heard, done.instant.now))
    say(*filter(None, lines), err=True)
