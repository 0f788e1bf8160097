"""The fleet as it is, for whoever looks at it while a watch goes on.

The loop that looks says which commit stands, and goes on: it renders nothing, and waits for nobody. When somebody asks,
what changed since it was shown last is evaluated, in the thread of who asks; the others who ask wait for that. However
many look and however often the branch moves, no more than a sixth of the time goes into it: until then they are shown
what was rendered last.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from threading import Condition, Lock
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.features.page.following import Ahead, Shown, of_clusters, show_update, show_whole
from muster.features.page.pages import site_of
from muster.features.page.timeline import Timeline
from muster.git.agentrefs import AgentRefs
from muster.git.derivedbranch import evaluated_commit
from muster.git.pulse_memory import Remembered
from muster.git.repository import Repository
from muster.run.incremental import answer
from muster.run.question import Question, WholeNeeded

if TYPE_CHECKING:
    from datetime import datetime

    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.page.pages import FleetSite
    from muster.features.pulses.publish import Publication
    from muster.run.run import Run
    from muster.run.state import RunState

#: A look that takes longer has probably come to a halt.
LONGEST_LOOK_SECONDS: Final = 900.0
#: So much later than it said the loop may look again: a burst has to end first, and machines are busy.
_GRACE_SECONDS: Final = 30.0
#: For what was seen while the loop was about to commit something newer, so long is waited for that.
_AHEAD_SECONDS: Final = 3.0
#: After rendering, so many times as long as it took is waited before it is done again, and so long at least.
_PAUSES: Final = 5.0
_SHORTEST_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the last look left: the commit, what was heard of agents, and as of when."""

    commit: str
    heard: AgentRefs
    now: "datetime"


class NothingYet(Exception):  # noqa: N818 - no error: nobody has looked yet
    """No run has completed."""


class Gone(Exception):  # noqa: N818 - no error: there is something newer
    """What was asked for is of another commit than the one that is shown."""


class Live:
    """What is shown, and how the loop is. `title` and `link` are those of `muster site`; `kept` opens what the loop's
    runs leave."""

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
        self._late_at = monotonic() + LONGEST_LOOK_SECONDS
        self._site: FleetSite | None = None
        self._shown, self._again_at = "", 0.0

    # -- told by the loop

    @contextmanager
    def running(self) -> Iterator[None]:
        """A look lasts no longer than it may."""
        self._late_at = monotonic() + LONGEST_LOOK_SECONDS
        yield

    def sleeps(self, seconds: float) -> None:
        """There is another look by then."""
        self._late_at = monotonic() + seconds + _GRACE_SECONDS

    def failed(self, error: Exception) -> None:  # noqa: ARG002 - what is wrong is told elsewhere
        """The last look came to nothing; what was seen before is shown."""
        self._good = False

    def completed(self, done: "ReconcileResult", publication: "Publication") -> None:  # noqa: ARG002
        """There may be another commit to show."""
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

    # -- asked by those who look

    @property
    def alive(self) -> bool:
        """Whether the loop looks when it said it would."""
        return monotonic() <= self._late_at

    @property
    def ready(self) -> bool:
        """Whether a run has completed, and the last look was good."""
        return self._last is not None and self._good

    def news(self, known: str, seconds: float) -> str:
        """Wait, no longer than that, for another commit than the one that is known and that may be rendered; return the
        one that stands then, empty for none."""
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

    def file(self, path: str, at: str = "") -> tuple[bytes, str]:
        """Return a file of the site, and the commit that it shows. `at`: the commit that it has to be of.

        KeyError for no such file, NothingYet, and Gone.
        """
        site, shown = self._rendered()
        if at and at != shown:
            raise Gone
        return site.read(path), shown

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    @property
    def closed(self) -> bool:
        """Whether there is an end to it."""
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
        """The site of what was seen, or of what came after it, and its commit."""
        now = self._after(last) or show_whole(self._question(self._last or last))
        self._before = now
        return site_of(
            now.run, self._repository, self._title, self._link, live=True, timeline=self._timeline, known=now.known,
            details=(lambda names: self._of_clusters(now.question, names)) if now.part else None,
        ), now.question.commit  # fmt: skip

    def _after(self, last: _Seen) -> Shown | None:
        """What is seen, from what was shown; None where that does not do. The loop may be ahead: it keeps what it found
        before it has committed and pushed, and says so then."""
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
        """Wait a moment for something newer to be seen than a commit."""
        with self._news:
            self._news.wait_for(lambda: self._commit != commit, _AHEAD_SECONDS)
            return self._last if self._commit != commit else None

    @property
    def _commit(self) -> str:
        return self._last.commit if self._last else ""

    def _question(self, last: _Seen) -> Question:
        return Question(self._repository, last.commit, last.heard, last.now, Remembered(self._repository))

    def _of_clusters(self, question: Question, names: Sequence[str]) -> "Run":
        """Look at some clusters of what is shown. Gone where that is no more what the last run left."""
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
