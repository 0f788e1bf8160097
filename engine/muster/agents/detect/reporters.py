"""Reporters: where a detector's judgement goes, and when. Only transitions and renewals are written."""

import contextlib
import os
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from muster.agents.detect.election import RENEWALS, LeaseHold, Sighting, Turn, next_hold, sight, turn
from muster.agents.detect.report import StandingReport, Subject, condition, read_report, report_text
from muster.agents.hub.pushed_ref import PushedRef
from muster.data.times import format_time
from muster.git.errors import RepositoryError
from muster.git.rootref import NOTHING, Standing, update

_RACES: Final = 5  # lost in a row, before the next period tries again
_FIRST_BACK_OFF, _LAST_BACK_OFF = 1.0, 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is reported: whether it works, the probe's words, and when that was: by the clock on the wall, and in
    seconds on one that never goes back."""

    healthy: bool
    detail: str
    instant: datetime
    now: float


class Reporter(Protocol):
    """Where judgements go."""

    def standing(self) -> bool | None:
        """Return what was reported last, by whomever; None where nothing was. Never raises."""
        ...

    def report(self, judgement: Judgement) -> str:
        """Write the judgement if it is time to, and return what is worth telling people, else nothing."""
        ...

    def close(self, instant: datetime) -> None:
        """Make way for others. Never raises."""
        ...


class FileReporter:
    """Writes a file, alone: there is no election, and no lease in it."""

    def __init__(self, path: Path, subject: Subject, renew_seconds: float) -> None:
        self._path, self._subject, self._renew_seconds = path, subject, renew_seconds
        self._said: bool | None = None
        self._due = float("-inf")

    def standing(self) -> bool | None:
        """Read the file."""
        return self._read().healthy

    def report(self, judgement: Judgement) -> str:
        """Replace the file at a transition, and at every renewal. RepositoryError where it cannot be written."""
        if judgement.healthy == self._said and judgement.now < self._due:
            return ""
        made = condition(
            self._subject, self._read().condition,
            healthy=judgement.healthy, detail=judgement.detail, now=judgement.instant,
        )  # fmt: skip
        try:
            _replace_file(self._path, report_text(self._subject, StandingReport(made)))
        except OSError as error:
            raise RepositoryError(f"{self._path} cannot be written: {error.strerror}") from error
        news = "" if judgement.healthy == self._said else f"reported {judgement.healthy}: {judgement.detail}"
        self._said, self._due = judgement.healthy, judgement.now + self._renew_seconds
        return news

    def close(self, instant: datetime) -> None:
        """Nothing to give up."""

    def _read(self) -> StandingReport:
        with contextlib.suppress(OSError):
            return read_report(self._subject, self._path.read_bytes())
        return StandingReport()


class RefReporter:
    """Writes to the cluster's ref if it holds the lease there; the others look now and then whether it lives."""

    def __init__(self, ref: PushedRef, subject: Subject, me: str, lease_seconds: int) -> None:
        self._ref, self._subject, self._me, self._lease_seconds = ref, subject, me, lease_seconds
        self._known = NOTHING
        self._fresh = False  # whether `_known` may be built upon without another look
        self._sighting: Sighting | None = None
        self._holding = False
        self._said: bool | None = None
        self._due = float("-inf")
        self._not_before = float("-inf")
        self._failures = 0
        self._other = ""

    def standing(self) -> bool | None:
        """Look at the ref."""
        with contextlib.suppress(RepositoryError):
            self._known = self._ref.look()
        return self._read(self._known).healthy

    def report(self, judgement: Judgement) -> str:
        """Renew the lease or report a transition if it is ours, take it if it may be taken.

        RepositoryError where the remote cannot be used; it is then left alone for a while, twice as long each time.
        """
        transition = self._holding and judgement.healthy != self._said
        if judgement.now < self._not_before or (judgement.now < self._due and not transition):
            return ""
        try:
            news = self._exchange(judgement)
        except RepositoryError:
            self._fresh = False
            self._not_before = judgement.now + min(_FIRST_BACK_OFF * 2**self._failures, _LAST_BACK_OFF)
            self._failures = min(self._failures + 1, 10)
            raise
        self._failures = 0
        self._due = judgement.now + self._lease_seconds / RENEWALS
        return news

    def close(self, instant: datetime) -> None:
        """Give the lease up, so that another instance need not wait for its end."""

        def given_up(standing: Standing) -> dict[str, bytes] | None:
            report = self._read(standing)
            if report.hold is None or report.hold.holder != self._me:
                return None
            hold = replace(report.hold, holder="", renewed=format_time(instant))
            return self._with(standing, replace(report, hold=hold))

        if self._holding:
            with contextlib.suppress(RepositoryError):
                update(self._ref, given_up, "give up the lease", attempts=range(_RACES), standing=self._known)
        self._holding = False

    def _exchange(self, judgement: Judgement) -> str:
        def made(standing: Standing) -> dict[str, bytes] | None:
            report = self._read(standing)
            self._sighting = sight(self._sighting, report.hold, judgement.now)
            if turn(self._sighting, self._me, judgement.now) is Turn.WAIT:
                return None
            said = condition(
                self._subject, report.condition,
                healthy=judgement.healthy, detail=judgement.detail, now=judgement.instant,
            )  # fmt: skip
            hold = next_hold(report.hold, self._me, format_time(judgement.instant), self._lease_seconds)
            return self._with(standing, StandingReport(said, hold))

        known = self._known if self._holding and self._fresh else self._ref.look(self._known)
        message = f"{self._subject.type} {judgement.healthy}"
        done = update(self._ref, made, message, attempts=range(_RACES), standing=known)
        if not isinstance(done, Standing):
            raise RepositoryError(f"{self._ref.ref} was moved by others {_RACES} times in a row")
        self._known, self._fresh = done, True
        hold = self._read(done).hold
        ours = hold is not None and hold.holder == self._me
        return self._reporting(judgement) if ours else self._waiting(hold)

    def _read(self, standing: Standing) -> StandingReport:
        return read_report(self._subject, standing.files.get(self._subject.path))

    def _with(self, standing: Standing, report: StandingReport) -> dict[str, bytes]:
        """The report among what else is on the ref."""
        return {**standing.files, self._subject.path: report_text(self._subject, report).encode()}

    def _waiting(self, hold: LeaseHold | None) -> str:
        holder = hold.holder if hold else ""
        news = "" if holder == self._other else f"{holder} reports"
        self._holding, self._said, self._other = False, None, holder
        return news

    def _reporting(self, judgement: Judgement) -> str:
        news = "" if self._holding and judgement.healthy == self._said else f"reported {judgement.healthy}"
        self._holding, self._said, self._other = True, judgement.healthy, ""
        return f"{news}: {judgement.detail}" if news and judgement.detail else news


def _replace_file(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False, encoding="utf-8") as file:
        written = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            written.replace(path)
        except OSError:
            written.unlink(missing_ok=True)
            raise
