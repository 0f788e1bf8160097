"""`muster get -w`: looks again whenever the branch, or what agents say, becomes another, and when time alone changes
something; in between it sleeps."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING

from muster.cli import options
from muster.cli.listening import READER
from muster.cli.outcome import say
from muster.cli.reading import reading_of, run_of
from muster.cli.stopping import until_stopped
from muster.features.watch.watch import LONGEST_SLEEP, listen
from muster.git.errors import RepositoryError
from muster.git.hearing import here
from muster.git.push import fetch, tracking
from muster.git.repository import common_directory, current_branch, open_repository, resolve

if TYPE_CHECKING:
    from muster.run.run import Run
    from muster.run.warm import Wanted

#: What is due at every instant, as what is decided and not committed yet, is looked at no more often.
_SHORTEST = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed: a fleet as `source` says, with a `remote` its state of the branch, asked for every `interval`.
    Where the time stands still (`--now`), `still` says so."""

    source: options.Source
    wanted: "Wanted | None"
    remote: str | None
    interval: timedelta
    still: bool

    @property
    def now(self) -> datetime:
        """As of when is looked."""
        return self.source.now if self.still else options.present()


def follow(what: Followed, tell: "Callable[[Run], None]") -> None:
    """Call `tell` with what is there, and again whenever it may be another, until stopped by SIGTERM or Ctrl-C.

    RepositoryError where nothing can be read at first; what fails later is told and tried again.
    """
    stop, wake = Event(), Event()
    repository = open_repository(what.source.repo, os.environ)
    ears = Thread(target=listen, args=(common_directory(repository), wake, stop), daemon=True, name="muster-get")
    looker = _Looker(what, tell)
    with until_stopped(stop, wake=wake.set):
        ears.start()
        while not stop.is_set():
            wake.clear()
            looker.look()
            wake.wait(looker.pause())
    ears.join(timeout=2)


class _Looker:
    def __init__(self, what: Followed, tell: "Callable[[Run], None]") -> None:
        self._what, self._tell = what, tell
        self._repository = open_repository(what.source.repo, os.environ)
        self._branch = current_branch(self._repository)
        self._seen: object = None
        self._due: datetime | None = None
        self._fetched: datetime | None = None
        self._trouble = ""
        if what.remote and self._branch is None:
            raise RepositoryError("no branch is checked out here to follow on a remote", "check one out")

    def look(self) -> None:
        """Tell what is there, if that may be another than before."""
        present = options.present()
        try:
            asks = self._fetched is None or (self._what.remote is not None and self._next_fetch <= present)
            if asks:
                self._fetched = present
            tip = self._tip(asks=asks)
            refs: Sequence[object] = here(self._repository, tip).refs
            seen = (tip, tuple(refs))
            if seen == self._seen and (self._due is None or present < self._due):
                return
            now = self._what.now
            ears = replace(READER, ask=asks and not self._what.source.offline)
            reading = reading_of(self._what.source.repo, tip, worktree=False, ears=ears)
            with reading.snapshot:
                run = run_of(reading, now, self._what.wanted)
                self._tell(run)
            self._seen = (tip, tuple(reading.heard.refs)) if reading.heard is not None else seen
            horizon = None if self._what.still else run.horizon
            self._due = max(horizon, present + _SHORTEST) if horizon is not None else None
            self._trouble = ""
        except RepositoryError as error:
            if self._seen is None:
                raise
            if error.message != self._trouble:
                say(error.message, err=True)
            self._trouble, self._due = error.message, present + _SHORTEST

    def _tip(self, *, asks: bool) -> str:
        if self._what.remote is None or self._branch is None:
            return resolve(self._repository, "HEAD")
        if asks:
            fetch(self._repository, remote=self._what.remote, branch=self._branch)
        return resolve(self._repository, f"{tracking(self._repository, self._what.remote)}{self._branch}")

    @property
    def _next_fetch(self) -> datetime:
        assert self._fetched is not None
        return self._fetched + self._what.interval

    def pause(self) -> float:
        """Seconds to sleep when nothing wakes it before."""
        instants = [options.present() + LONGEST_SLEEP]
        if self._due is not None:
            instants.append(self._due)
        if self._what.remote is not None:
            instants.append(self._next_fetch)
        return max(0.0, (min(instants) - options.present()).total_seconds())
