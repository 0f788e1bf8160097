"""Many detectors in one process: the rows of a table, each probed in its period by one of a few threads.

A probe that hangs ends at its time limit, and from then on its row has other threads than those that answer in time,
so that it does not delay them. What a cluster's rows report goes to one ref, one after the other.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Final

from muster.agents.detect.detector import Detection, Detector, resumed
from muster.agents.detect.reporters import Judgement, Reporter
from muster.agents.detect.table import TableKey, TableRow
from muster.dataclass import dataclass
from muster.git.clock import wall_clock

_RELOAD_SECONDS: Final = 1.0
#: Of so many threads, one more is for rows that were late.
_LATE_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class TurnReporter:
    """A reporter that shares its cluster's ref with others of this process: one reports at a time."""

    reporter: Reporter
    turn: Lock

    def last_status(self) -> bool | None:
        """See `Reporter`."""
        with self.turn:
            return self.reporter.last_status()

    def report(self, judgement: Judgement) -> str:
        """See `Reporter`."""
        with self.turn:
            return self.reporter.report(judgement)

    def close(self, instant: datetime) -> None:
        """See `Reporter`."""
        with self.turn:
            self.reporter.close(instant)


@dataclass
class _RunningRow:
    """A row, and how its detector stands. `late`: the last probe or report took longer than a probe may."""

    row: TableRow
    detector: Detector
    state: Detection | None = None
    begun: bool = False
    trouble: str = ""
    due: float = 0.0
    busy: bool = False
    late: bool = False

    def step(self) -> None:
        """Probe and report once."""
        began = time.monotonic()
        try:
            if not self.begun:
                before = self.detector.reporter.last_status()
                self.state, self.begun = None if before is None else resumed(before, began), True
            self.state, complaint = self.detector.step(self.state)
        except Exception as error:  # noqa: BLE001 - the boundary between rows
            complaint = f"this row failed: {type(error).__name__}: {error}"
        if complaint and complaint != self.trouble:
            self.detector.tell(complaint)
        self.trouble = complaint
        self.late = time.monotonic() - began >= self.row.timeout
        self.due = began + self.row.period


class TableDetector:
    """Detects what the rows of a table say, until it is stopped."""

    def __init__(
        self,
        read: Callable[[], Sequence[TableRow] | None],
        reporter: Callable[[TableRow], Reporter],
        say: Callable[[str], None],
        threads: int,
    ) -> None:
        """`read` returns the rows if they changed, else None; `reporter` makes the reporter of a row."""
        self._read, self._reporter, self._say, self._threads = read, reporter, say, threads
        self._rows: dict[TableKey, _RunningRow] = {}
        self._turns: dict[str, Lock] = {}
        self._punctual, self._late = SimpleQueue[_RunningRow | None](), SimpleQueue[_RunningRow | None]()

    def run(self, stop: Event, wake: Event) -> None:
        """Detect until `stop` is set; `wake` is set then, too."""
        late = max(1, self._threads // _LATE_SHARE)
        queues = [self._punctual] * self._threads + [self._late] * late
        workers = [
            Thread(target=self._work, args=(waiting, wake), daemon=True, name="muster-detect") for waiting in queues
        ]
        for worker in workers:
            worker.start()
        while not stop.is_set():
            self._reload()
            now = time.monotonic()
            next_due = now + _RELOAD_SECONDS
            for row in self._rows.values():
                if row.busy:
                    continue
                if row.due <= now:
                    row.busy = True
                    (self._late if row.late else self._punctual).put(row)
                else:
                    next_due = min(next_due, row.due)
            wake.wait(max(0.0, next_due - time.monotonic()))
            wake.clear()
        for queue in queues:
            queue.put(None)
        self._close(self._rows)

    def _work(self, queue: "SimpleQueue[_RunningRow | None]", wake: Event) -> None:
        while (row := queue.get()) is not None:
            row.step()
            row.busy = False
            wake.set()

    def _reload(self) -> None:
        rows = self._read()
        if rows is None:
            return
        before, self._rows = self._rows, {}
        for row in rows:
            running = before.pop(row.key, None)
            if running is not None and running.row == row:
                self._rows[row.key] = running
                continue
            turn = self._turns.setdefault(row.subject.cluster, Lock())
            say = self._said(row.key)
            detector = Detector(row.probe(), row.period, row.thresholds, TurnReporter(self._reporter(row), turn), say)
            made = _RunningRow(row, detector)
            if running is not None:  # a changed row skips no threshold
                made.state, made.begun = running.state, running.begun
            self._rows[row.key] = made
        self._say(f"detecting {len(self._rows)} conditions of {len({key.cluster for key in self._rows})} clusters")
        self._close(before)

    def _close(self, rows: Mapping[TableKey, _RunningRow]) -> None:
        """Release the leases of rows, for other instances."""
        for row in rows.values():
            if not row.busy:
                with suppress(Exception):
                    row.detector.reporter.close(wall_clock())

    def _said(self, key: TableKey) -> Callable[[str], None]:
        return lambda line: self._say(f"{key}: {line}")
