"""Following a repository: look again when a ref changes, and when time alone changes something.

`get -w`, `wait` and `export endpoints --follow` evaluate the fleet again, `sync --watch` syncs a hub.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.cli import options
from muster.cli.exits import INTERRUPTED, TERMINATED
from muster.cli.listening import READER
from muster.cli.outcome import say
from muster.cli.reading import evaluate_reading, open_reading
from muster.cli.stopping import until_stopped
from muster.dataclass import dataclass
from muster.fleet.faults import fell_back
from muster.git.agents.listing import local_agent_refs
from muster.git.errors import RepositoryError
from muster.git.push import fetch, tracking
from muster.git.repository import Repository, common_directory, current_branch, open_repository, resolve

if TYPE_CHECKING:
    from muster.run.incremental import Wanted
    from muster.run.run import Run

#: Pause between runs that find something due at every instant, such as decisions that nobody commits.
_SHORTEST_PAUSE: Final = timedelta(seconds=5)
#: The longest sleep, however far the horizon: the clock may be set.
LONGEST_SLEEP: Final = timedelta(minutes=15)
#: How often refs are checked if the system does not report changes.
_DEAF_SECONDS: Final = 5.0


def listen(git_dir: Path, wake: Event, stop: Event) -> None:
    """Set `wake` whenever a ref changes, and at the end."""
    from watchfiles import watch as changes

    places = [place for place in (git_dir / "refs", git_dir / "reftable") if place.is_dir()]
    # No filter: the default one ignores everything in .git.
    try:
        events = changes(
            *places,
            watch_filter=None,
            stop_event=stop,
            debounce=200,
            step=20,
            rust_timeout=500,
            raise_interrupt=False,
            yield_on_timeout=True,
        )
        deaf = True  # changes before the first event count as one
        for happened in events:
            if happened or deaf:
                wake.set()
            deaf = False
    except Exception as error:  # noqa: BLE001 - the system's watches are exhausted, or the folder was replaced
        fell_back("listening for changes of refs", error)
        while not stop.wait(_DEAF_SECONDS):
            wake.set()
    wake.set()


def follow_refs(repository: Repository, look: Callable[[], float], stop: Event, wake: Event) -> None:
    """Call `look` at once, when a ref changes, when `wake` is set, and after as many seconds as it returned, until
    `stop` is set."""
    listener = Thread(target=listen, args=(common_directory(repository), wake, stop), daemon=True, name="muster-refs")
    listener.start()
    try:
        while not stop.is_set():
            wake.clear()
            wake.wait(max(0.0, look()))
    finally:
        stop.set()
    listener.join(timeout=2)


class TryAgainError(Exception):
    """What was done with a run failed, and is to be tried again soon."""


@dataclass(frozen=True, slots=True)
class FollowedFleet:
    """The fleet to follow: `source`; with a `remote` its branch, fetched every `interval`."""

    source: options.Source
    wanted: "Wanted | None"
    remote: str | None
    interval: timedelta

    @property
    def fixed_now(self) -> bool:
        """Was `--now` given, so that time does not pass?"""
        return self.source.asked is not None

    @property
    def now(self) -> datetime:
        """The instant of the next run."""
        return self.source.now if self.fixed_now else options.present()


def follow(fleet: FollowedFleet, show: "Callable[[Run], None]", timeout: timedelta | None = None) -> None:
    """Call `show` with a run, and again whenever the result may differ, until stopped by SIGTERM or Ctrl-C, or until
    the timeout.

    Raises KeyboardInterrupt after Ctrl-C. With a timeout, `show` is waiting for something: SIGTERM exits with 143.

    RepositoryError if the first read fails. Later failures, and TryAgainError from `show`, are printed and retried.
    """
    stop, wake = Event(), Event()
    follower = _Follower(fleet, show)
    end = None if timeout is None else monotonic() + timeout.total_seconds()

    def look() -> float:
        follower.update()
        if end is None:
            return follower.pause()
        left = end - monotonic()
        if left <= 0:
            stop.set()
        return min(follower.pause(), left)

    with until_stopped(stop, wake=wake.set) as stopped:
        follow_refs(follower.repository, look, stop, wake)
    if stopped.code == INTERRUPTED:
        raise KeyboardInterrupt
    if stopped.number is not None and timeout is not None:
        sys.exit(TERMINATED)


class _Follower:
    def __init__(self, fleet: FollowedFleet, show: "Callable[[Run], None]") -> None:
        self._fleet, self._show = fleet, show
        self.repository = open_repository(fleet.source.repo, os.environ)
        self._branch = current_branch(self.repository)
        self._seen: object = None
        self._due: datetime | None = None
        self._fetched: datetime | None = None
        self._last_error = ""
        if fleet.remote and self._branch is None:
            raise RepositoryError("no branch is checked out here to follow on a remote", "check one out")

    def update(self) -> None:
        """Evaluate and show the fleet, if a ref changed or something is due."""
        present = options.present()
        try:
            fetches = self._fetched is None or (self._fleet.remote is not None and self._next_fetch <= present)
            if fetches:
                self._fetched = present
            tip = self._tip(fetches=fetches)
            refs: Sequence[object] = local_agent_refs(self.repository, tip).refs
            refs_read = (tip, tuple(refs))
            if refs_read == self._seen and (self._due is None or present < self._due):
                return
            now = self._fleet.now
            freshness = replace(READER, ask=fetches and not self._fleet.source.offline)
            reading = open_reading(self._fleet.source.repo, tip, worktree=False, freshness=freshness, governing=tip)
            run = evaluate_reading(reading, now, self._fleet.wanted)
            self._seen = (tip, tuple(reading.heard.refs)) if reading.heard is not None else refs_read
            horizon = None if self._fleet.fixed_now else run.horizon
            self._due = max(horizon, present + _SHORTEST_PAUSE) if horizon is not None else None
            self._show(run)
            self._last_error = ""
        except (RepositoryError, TryAgainError) as error:
            if self._seen is None:
                raise
            if str(error) != self._last_error:
                say(str(error), err=True)
            self._last_error, self._due = str(error), present + _SHORTEST_PAUSE

    def _tip(self, *, fetches: bool) -> str:
        if self._fleet.remote is None or self._branch is None:
            return resolve(self.repository, "HEAD")
        if fetches:
            fetch(self.repository, remote=self._fleet.remote, branch=self._branch)
        return resolve(self.repository, f"{tracking(self.repository, self._fleet.remote)}{self._branch}")

    @property
    def _next_fetch(self) -> datetime:
        assert self._fetched is not None
        return self._fetched + self._fleet.interval

    def pause(self) -> float:
        """Seconds until the next update, unless something changes before."""
        instants = [options.present() + LONGEST_SLEEP]
        if self._due is not None:
            instants.append(self._due)
        if self._fleet.remote is not None:
            instants.append(self._next_fetch)
        return max(0.0, (min(instants) - options.present()).total_seconds())
