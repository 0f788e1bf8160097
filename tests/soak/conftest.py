"""A soak has so many minutes, `MUSTER_SOAK_MINUTES`: every file's tests in turn, until they are over.

What it has done stands at the end of what it prints: how many tests of each file there was time for, and what they
found worth a figure.
"""

import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator

import pytest

MINUTES = float(os.environ.get("MUSTER_SOAK_MINUTES", "10"))
_began = time.monotonic()
_figures: list[str] = []
_ran: Counter[str] = Counter()
_took: Counter[str] = Counter()
_of: Counter[str] = Counter()


def share(part: float) -> float:
    """So many seconds for whoever can work for as long as one likes: a part of the whole, at least ten."""
    return max(10.0, MINUTES * 60 * part)


@pytest.fixture(name="figures")
def _given_figures() -> list[str]:
    """Where a test puts what it would like to be read at the end."""
    return _figures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One of each file after the other: so every file has its turn before the time is over."""
    by_file: dict[str, deque[pytest.Item]] = defaultdict(deque)
    for item in items:
        by_file[item.path.stem].append(item)
        _of[item.path.stem] += 1
    items[:] = _in_turn(list(by_file.values()))


def _in_turn(queues: list[deque[pytest.Item]]) -> Iterator[pytest.Item]:
    while queues:
        for queue in queues:
            yield queue.popleft()
        queues = [queue for queue in queues if queue]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin nothing when the time is over."""
    if time.monotonic() - _began > MINUTES * 60:
        pytest.skip(f"the {MINUTES:g} minutes are over")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what was run."""
    if report.when == "call" and not report.skipped:
        file = report.location[0].rpartition("/")[2].removesuffix(".py")
        _ran[file] += 1
        _took[file] += report.duration  # type: ignore[assignment]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was done."""
    terminalreporter.section(f"{(time.monotonic() - _began) / 60:.1f} minutes")
    for file, count in sorted(_of.items()):
        terminalreporter.line(f"{file:18}{_ran[file]:5} of {count:<5}{_took[file]:7.0f} s")
    for figure in _figures:
        terminalreporter.line(figure)
