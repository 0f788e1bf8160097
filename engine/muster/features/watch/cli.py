"""`muster watch`: reconcile on every change of the repository, and whenever time alone changes something."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.cache import open_state_of, use_cache
from muster.cli.outcome import log_writer
from muster.cli.stopping import until_stopped
from muster.features.metrics.observers import tracers
from muster.features.sign.options import Signer, signer_options
from muster.features.watch.serving import Serving, serving_options

if TYPE_CHECKING:
    from muster.run.memo.state import RunState
    from muster.run.shards.workers import Workers


@click.command()
@click.option("--branch", metavar="NAME", help="The branch to reconcile.  [default: the one that is checked out]")
@click.option("--push", is_flag=True, help="Push to the remote, and fetch from it at an interval.")
@click.option(
    "--remote", default="origin", show_default=True, metavar="NAME", help="The remote to fetch from and push to."
)
@click.option(
    "--interval",
    type=options.INTERVAL,
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How often to fetch from the remote; without --push only agents' refs.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Print how much was evaluated, and the instant if it is not the present."
)
@options.sink_option
@options.output_option("text", "json")
@options.log_format_option
@signer_options(required=False)
@serving_options
@options.repo_option
@options.offline_option
@options.state_option
@options.workers_option
def command(
    repo: Path,
    branch: str | None,
    push: bool,
    remote: str,
    interval: float,
    offline: bool,
    verbose: bool,
    sink_dir: Path | None,
    state: Path | None,
    workers: "Workers",
    output: str,
    log_format: str,
    signer: Signer | None,
    serving: Serving,
) -> int:
    """Keep a fleet reconciled, until stopped by SIGTERM or Ctrl-C.

    With --ca-cert and --ca-key, certificate requests are signed as soon as they are approved (see muster sign).

    With --serve, the fleet is shown as a live page. Everyone who can reach HOST can read it, so any address other than
    this machine's own (127.0.0.1) requires a token or certificates.

    With -o json, standard output has one line of JSON for each run that has something to do, as of muster reconcile,
    and the log goes to standard error.

    \b
    Examples:
      muster watch --push
      muster watch --serve 127.0.0.1:8080
    """
    from muster.cli.listening import WRITER
    from muster.features.reconcile.results import written_results
    from muster.features.watch.watch import Pushes, Watcher, watch
    from muster.git.landing.landing import target_branch
    from muster.git.repository import open_repository

    log = log_writer(log_format)
    use_cache(os.environ)
    repository = open_repository(repo, os.environ)
    target = branch or target_branch(repository)

    def opened() -> "RunState | None":
        return open_state_of(os.environ, repository, target, state)

    kept = opened()
    authority = signer.load(repository, options.present()) if signer else None
    stop, pushes = Event(), Pushes()
    with (
        written_results(output, line=True) as results,
        serving.observers(repository, log, opened, pushes.heard) as served,
        tracers(repository.worktree or repository.git_dir, log) as tracing,
    ):
        if verbose and kept is None:
            log("no state can be kept between runs, so each evaluates the whole fleet; see muster version")
        watcher = Watcher(
            repository,
            target,
            remote if push else None,
            timedelta(seconds=interval),
            log,
            clock=options.present,
            freshness=replace(WRITER, ask=not offline, lasting=True),
            verbose=verbose,
            sink_dir=sink_dir,
            state=kept,
            workers=workers,
            authority=authority,
            observers=(*results, *served, *tracing),
            pushes=pushes,
        )
        with until_stopped(stop) as stopped:
            watch(watcher, stop)
        log("stopped")
    return stopped.code
