"""`muster watch`: reconcile on every change of the repository, and whenever time alone changes something."""

import contextlib
import os
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.cache import open_state_of, use_cache
from muster.cli.outcome import say
from muster.cli.stopping import until_stopped
from muster.features.metrics.observers import fleet_name, wants_traces
from muster.features.sign.options import Signer, signer_options
from muster.features.watch.serving import Serving, serving_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muster.features.metrics.observers import RunObserver
    from muster.git.repository import Repository
    from muster.run.state import RunState
    from muster.run.workers import Workers


@click.command()
@options.repo_option
@click.option("--branch", metavar="NAME", help="The branch to reconcile.  [default: the one that is checked out]")
@click.option("--push", is_flag=True, help="Push to the remote, and fetch from it at an interval.")
@click.option("--remote", default="origin", show_default=True, help="The remote to fetch from and push to.")
@click.option("--interval", type=float, default=30.0, show_default=True, metavar="SECONDS",
              help="How often to fetch from the remote; without --push, agents' refs alone.")  # fmt: skip
@options.offline_option
@click.option("-v", "--verbose", is_flag=True,
              help="Say how much was looked at, and as of when where that is not the present.")  # fmt: skip
@options.sink_option
@options.state_option
@options.workers_option
@signer_options(required=False)
@serving_options
def command(
    repo: Path, branch: str | None, push: bool, remote: str, interval: float, offline: bool, verbose: bool,
    sink_dir: Path | None, state: Path | None, workers: "Workers", signer: Signer | None,
    serving: Serving,
) -> int:  # fmt: skip
    """Keep a fleet reconciled until stopped by SIGTERM or Ctrl-C.

    With --ca-cert and --ca-key, requests for certificates are signed as soon as they are approved (see muster sign).

    With --serve, the fleet is shown as a page that follows it. Whoever can reach HOST may read it, so another one than
    this machine's own (127.0.0.1) asks for a token, or for certificates.
    """
    from muster.cli.listening import WRITER
    from muster.features.watch.watch import Watcher, watch
    from muster.git.landing import target_branch
    from muster.git.repository import open_repository

    if interval <= 0:
        raise click.UsageError("--interval must be positive.")
    use_cache(os.environ)
    repository = open_repository(repo, os.environ)
    target = branch or target_branch(repository)

    def opened() -> "RunState | None":
        return open_state_of(os.environ, repository, target, state)

    kept = opened()
    if verbose and kept is None:
        _say("nothing can be kept between runs, so each looks at the whole fleet; see muster cache")
    authority = signer.load(repository, options.present()) if signer else None
    stop = Event()
    with serving.observers(repository, _say, opened) as served, _tracers(repository) as tracers:
        watcher = Watcher(
            repository, target, remote if push else None, timedelta(seconds=interval), _say,
            clock=options.present, freshness=replace(WRITER, ask=not offline, lasting=True), verbose=verbose,
            sink_dir=sink_dir, state=kept, workers=workers, authority=authority, observers=(*served, *tracers),
        )  # fmt: skip
        with until_stopped(stop):
            watch(watcher, stop)
    _say("stopped")
    return 0


@contextlib.contextmanager
def _tracers(repository: "Repository") -> "Iterator[tuple[RunObserver, ...]]":
    """Who traces each look, where that is asked for."""
    if not wants_traces(os.environ, _say):
        yield ()
        return
    from muster.features.metrics.tracing import Tracer

    tracer = Tracer(fleet_name(repository.worktree or repository.git_dir))
    try:
        yield (tracer,)
    finally:
        tracer.close()


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # whoever read our output is gone, or the disk is full: the fleet is not
        say(line)
        sys.stdout.flush()
