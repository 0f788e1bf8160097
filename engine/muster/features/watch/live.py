"""The live page of a watch.

The watch loop only records the present commit: it renders nothing and waits for nobody. A request evaluates what
changed since the last rendering, in its own thread, while others wait for it. Rendering takes at most a sixth of the
time, however many requests and commits there are; until then the last rendering is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from threading import Condition, Lock
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.dataclass import dataclass
from muster.features.api.routes import Seen
from muster.features.page.following import Ahead, Shown, of_clusters, show_update, show_whole
from muster.features.page.pages import site_of
from muster.features.page.timeline import Timeline
from muster.git.agents.listing import AgentRefs
from muster.git.derivedbranch import evaluated_commit
from muster.git.memory.pulses import Remembered
from muster.git.repository import Repository
from muster.run.incremental import answer
from muster.run.question import Question, WholeNeeded

if TYPE_CHECKING:
    from datetime import datetime

    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.page.pages import FleetSite
    from muster.features.pulses.publish import Publication
    from muster.run.memo.state import RunState
    from muster.run.run import Run

#: A run that takes longer has probably hung.
MAX_RUN_SECONDS: Final = 900.0
#: How late the loop may be: a burst has to end first, and machines are busy.
_GRACE_SECONDS: Final = 30.0
#: How long to wait for the newer commit of a run that is about to land.
_AHEAD_SECONDS: Final = 3.0
#: The pause after a rendering: this multiple of its duration, and at least this long.
_PAUSES: Final = 5.0
_SHORTEST_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last run: its commit, its agent refs, and its instant."""

    commit: str
    heard: AgentRefs
    now: "datetime"


class NothingYet(Exception):  # noqa: N818 - no error: the first run is not complete
    """No run has completed."""


class Gone(Exception):  # noqa: N818 - no error: a newer commit is shown
    """The request is for another commit than the shown one."""


class Live:
    """The shown site, and the health of the loop. `title` and `link` are those of `muster site`; `kept` opens the state
    that the loop's runs keep."""

    def __init__(
        self, repository: Repository, title: str, link: str | None, kept: "Callable[[], RunState | None]" = lambda: None
    ) -> None:
        self._kept = kept
        self._state: RunState | None = None
        self._before: Shown | None = None
        self._repository, self._title, self._link = repository, title, link
        self._news, self._rendering, self._timeline = Condition(), Lock(), Timeline(repository)
        self._last: _Seen | None = None
        self._good = self._closed = False
        self._late_at = monotonic() + MAX_RUN_SECONDS
        self._site: FleetSite | None = None
        self._shown, self._again_at = "", 0.0

    # -- called by the loop

    @contextmanager
    def running(self) -> Iterator[None]:
        """A run begins."""
        self._late_at = monotonic() + MAX_RUN_SECONDS
        yield

    def sleeps(self, seconds: float) -> None:
        """The next run begins by then."""
        self._late_at = monotonic() + seconds + _GRACE_SECONDS

    def failed(self, error: Exception) -> None:  # noqa: ARG002 - it is reported elsewhere
        """The last run failed; the one before is shown."""
        self._good = False

    def completed(self, done: "ReconcileResult", publication: "Publication") -> None:  # noqa: ARG002
        """Record the commit to show."""
        # Not the local branch, which may stay behind what was pushed; but where `derived/` has a branch of its own,
        # what that and the local one are together.
        shown = done.commit or done.settled.last.commit
        joined = evaluated_commit(self._repository, done.tip) if done.tip else None
        if joined is not None and joined != done.tip:
            shown = joined
        self._good = shown is not None
        if shown is None:
            return
        with self._news:
            news = self._last is None or self._last.commit != shown
            self._last = _Seen(shown, done.heard, done.settled.last.now)
            if news:
                self._news.notify_all()

    # -- called by requests

    @property
    def alive(self) -> bool:
        """Is the loop on time?"""
        return monotonic() <= self._late_at

    @property
    def ready(self) -> bool:
        """Has a run completed, and was the last one good?"""
        return self._last is not None and self._good

    def news(self, known: str, seconds: float) -> str:
        """Wait up to `seconds` for a commit other than `known` that may be rendered; return the present one, or
        `known`."""
        until = monotonic() + seconds
        with self._news:
            while not self._closed:
                revision = self._commit
                now, possible = monotonic(), self._again_at if revision != known else inf
                if now >= possible:
                    return revision
                if now >= until:
                    break
                self._news.wait(min(possible, until) - now)
        return known

    def seen(self) -> Seen | None:
        """Return what the last run decided about; None before it."""
        last = self._last
        return None if last is None else Seen(self._repository, last.commit, last.heard, last.now)

    def file(self, path: str, at: str = "") -> tuple[bytes, str]:
        """Return a file of the site, and its commit, which must be `at`. Raises KeyError, NothingYet and Gone."""
        site, shown = self._rendered()
        if at and at != shown:
            raise Gone
        return site.read(path), shown

    def close(self) -> None:
        """Wake all that wait."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    @property
    def closed(self) -> bool:
        """Has it been closed?"""
        return self._closed

    def _rendered(self) -> "tuple[FleetSite, str]":
        with self._rendering:
            last = self._last
            if last is None:
                raise NothingYet
            if self._site is None or (self._shown != last.commit and monotonic() >= self._again_at):
                began = monotonic()
                self._site, self._shown = self._evaluated(last)
                took = monotonic() - began
                self._again_at = monotonic() + max(_SHORTEST_PAUSE_SECONDS, took * _PAUSES)
            return self._site, self._shown

    def _evaluated(self, last: _Seen) -> "tuple[FleetSite, str]":
        """Render the latest commit; return the site and the commit."""
        now = self._after(last) or show_whole(self._question(self._last or last))
        self._before = now
        return site_of(
            now.run,
            self._repository,
            self._title,
            self._link,
            live=True,
            timeline=self._timeline,
            known=now.known,
            details=(lambda names: self._of_clusters(now.question, names)) if now.part else None,
        ), now.question.commit

    def _after(self, last: _Seen) -> Shown | None:
        """Update the shown commit incrementally; None if a full run is required. The state may be ahead of the last
        run: it is written before the commit is pushed."""
        if self._before is None:
            return None
        if self._state is None:
            self._state = self._kept()
        while self._state is not None:
            try:
                return show_update(self._question(last), self._state, self._before)
            except Ahead:
                newer = self._newer(last.commit)
                if newer is None:
                    return None
                last = newer
            except WholeNeeded:
                return None
        return None

    def _newer(self, commit: str) -> _Seen | None:
        """Wait a moment for a newer commit."""
        with self._news:
            self._news.wait_for(lambda: self._commit != commit, _AHEAD_SECONDS)
            return self._last if self._commit != commit else None

    @property
    def _commit(self) -> str:
        return self._last.commit if self._last else ""

    def _question(self, last: _Seen) -> Question:
        return Question(self._repository, last.commit, last.heard, last.now, Remembered(self._repository))

    def _of_clusters(self, question: Question, names: Sequence[str]) -> "Run":
        """Evaluate some clusters of the shown commit. Gone if it is no longer the latest."""
        with self._rendering:
            if self._state is not None:
                try:
                    return of_clusters(question, self._state, names)
                except Ahead:
                    self._newer(question.commit)
                except WholeNeeded:
                    pass
            if self._commit != question.commit:
                raise Gone
            return answer(question, None).settled.first
