"""Reporters: they write a detector's judgements, to a file or to the cluster's ref, at transitions and renewals
only."""

import contextlib
import os
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from muster.agents.detect.election import (
    RENEWALS,
    LeaseAction,
    LeaseHold,
    ObservedLease,
    next_action,
    observe_lease,
    renewed_hold,
)
from muster.agents.detect.report import DetectorReport, Subject, condition, read_report, report_text
from muster.data.times import format_time
from muster.dataclass import dataclass
from muster.git.errors import RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents, ReplaceableRef, update

_RACES: Final = 5  # lost in a row, before the next period tries again
_FIRST_BACK_OFF, _LAST_BACK_OFF = 1.0, 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is reported: the status, the probe's message, and its time: as an instant, and in seconds on a monotonic
    clock."""

    healthy: bool
    detail: str
    instant: datetime
    now: float


class NamedRef(ReplaceableRef, Protocol):
    """The ref of a cluster, wherever it is."""

    @property
    def ref(self) -> str:
        """Its full name."""
        ...


class Reporter(Protocol):
    """Writes judgements."""

    def last_status(self) -> bool | None:
        """Return the status that was reported last, by any instance; None if there is none. Never raises."""
        ...

    def report(self, judgement: Judgement) -> str:
        """Write the judgement if that is due. Return what to tell people, empty for nothing."""
        ...

    def close(self, instant: datetime) -> None:
        """Release the lease for other instances. Never raises."""
        ...


class FileReporter:
    """Writes a file, as its only writer: without election and lease."""

    def __init__(self, path: Path, subject: Subject, renew_seconds: float) -> None:
        self._path, self._subject, self._renew_seconds = path, subject, renew_seconds
        self._reported: bool | None = None
        self._due = float("-inf")

    def last_status(self) -> bool | None:
        """Read the status from the file."""
        return self._read().healthy

    def report(self, judgement: Judgement) -> str:
        """Replace the file at a transition and at every renewal. RepositoryError if it cannot be written."""
        if judgement.healthy == self._reported and judgement.now < self._due:
            return ""
        made = condition(
            self._subject,
            self._read().condition,
            healthy=judgement.healthy,
            detail=judgement.detail,
            now=judgement.instant,
        )
        try:
            _replace_file(self._path, report_text(self._subject, DetectorReport(made)))
        except OSError as error:
            raise RepositoryError(f"{self._path} cannot be written: {error.strerror}") from error
        news = "" if judgement.healthy == self._reported else f"reported {judgement.healthy}: {judgement.detail}"
        self._reported, self._due = judgement.healthy, judgement.now + self._renew_seconds
        return news

    def close(self, instant: datetime) -> None:
        """Nothing to release."""

    def _read(self) -> DetectorReport:
        with contextlib.suppress(OSError):
            return read_report(self._subject, self._path.read_bytes())
        return DetectorReport()


class RefReporter:
    """Writes to the cluster's ref while it holds the lease there; otherwise it checks regularly whether the holder
    is alive."""

    def __init__(self, ref: NamedRef, subject: Subject, me: str, lease_seconds: int) -> None:
        self._ref, self._subject, self._me, self._lease_seconds = ref, subject, me, lease_seconds
        self._known = NO_CONTENTS
        self._fresh = False  # may `_known` be used without reading the ref again?
        self._lease: ObservedLease | None = None
        self._holding = False
        self._reported: bool | None = None
        self._due = float("-inf")
        self._not_before = float("-inf")
        self._failures = 0
        self._other_holder = ""

    def last_status(self) -> bool | None:
        """Read the status from the ref."""
        with contextlib.suppress(RepositoryError):
            self._known = self._ref.look()
        return self._read(self._known).healthy

    def report(self, judgement: Judgement) -> str:
        """Renew the lease or report a transition as its holder; take the lease if that is allowed.

        RepositoryError if the remote does not work; the reporter then leaves it alone for a while, twice as long each
        time.
        """
        transition = self._holding and judgement.healthy != self._reported
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
        """Release the lease, so that another instance need not wait for its end."""

        def released(standing: RefContents) -> dict[str, bytes] | None:
            report = self._read(standing)
            if report.hold is None or report.hold.holder != self._me:
                return None
            hold = replace(report.hold, holder="", renewed=format_time(instant))
            return self._with(standing, replace(report, hold=hold))

        if self._holding:
            with contextlib.suppress(RepositoryError):
                update(self._ref, released, "give up the lease", attempts=range(_RACES), known=self._known)
        self._holding = False

    def _exchange(self, judgement: Judgement) -> str:
        def made(standing: RefContents) -> dict[str, bytes] | None:
            report = self._read(standing)
            self._lease = observe_lease(self._lease, report.hold, judgement.now)
            if next_action(self._lease, self._me, judgement.now) is LeaseAction.WAIT:
                return None
            reported = condition(
                self._subject,
                report.condition,
                healthy=judgement.healthy,
                detail=judgement.detail,
                now=judgement.instant,
            )
            hold = renewed_hold(report.hold, self._me, format_time(judgement.instant), self._lease_seconds)
            return self._with(standing, DetectorReport(reported, hold))

        contents = self._known if self._holding and self._fresh else self._ref.look(self._known)
        message = f"{self._subject.type} {judgement.healthy}"
        done = update(self._ref, made, message, attempts=range(_RACES), known=contents)
        if not isinstance(done, RefContents):
            raise RepositoryError(f"other writers moved {self._ref.ref} {_RACES} times in a row")
        self._known, self._fresh = done, True
        hold = self._read(done).hold
        ours = hold is not None and hold.holder == self._me
        return self._reporting(judgement) if ours else self._waiting(hold)

    def _read(self, standing: RefContents) -> DetectorReport:
        return read_report(self._subject, standing.files.get(self._subject.path))

    def _with(self, standing: RefContents, report: DetectorReport) -> dict[str, bytes]:
        """The ref's files with this report."""
        return {**standing.files, self._subject.path: report_text(self._subject, report).encode()}

    def _waiting(self, hold: LeaseHold | None) -> str:
        holder = hold.holder if hold else ""
        news = "" if holder == self._other_holder else f"{holder} reports"
        self._holding, self._reported, self._other_holder = False, None, holder
        return news

    def _reporting(self, judgement: Judgement) -> str:
        news = "" if self._holding and judgement.healthy == self._reported else f"reported {judgement.healthy}"
        self._holding, self._reported, self._other_holder = True, judgement.healthy, ""
        return f"{news}: {judgement.detail}" if news and judgement.detail else news


def _replace_file(path: Path, text: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False, encoding="utf-8") as file:
        temporary = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
