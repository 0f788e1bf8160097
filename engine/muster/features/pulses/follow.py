"""Follow pulses: print each once, when it becomes due, with a memory of its own.

Level-based like the watch loop: it evaluates the repository as it is, and sleeps until the horizon, at most for the
interval.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Event
from typing import TypeAlias

from muster.cli.listening import WRITER, agent_refs_at, require_heard
from muster.data.decision import Published, PulseKey
from muster.data.tree import Tree
from muster.git.open import open_commit
from muster.git.push import fetch
from muster.git.repository import Repository, current_branch, resolve
from muster.run.evaluate import evaluate_snapshot

Say: TypeAlias = Callable[[Tree], None]


def follow(
    repository: Repository, remote: str | None, interval: timedelta, stop: Event, now: Callable[[], datetime], say: Say
) -> None:
    """Call `say` with pulses until `stop` is set. With a remote, its branch is evaluated."""
    memory: dict[PulseKey, Published] = {}
    while not stop.is_set():
        horizon = look(repository, remote, now(), memory, say)
        until = interval if horizon is None else min(interval, horizon - now())
        stop.wait(max(until.total_seconds(), 0.0))


def look(
    repository: Repository, remote: str | None, now: datetime, memory: dict[PulseKey, Published], say: Say
) -> datetime | None:
    """Call `say` with the pulses that are due now, add them to `memory`, and return the next horizon."""
    branch = current_branch(repository)
    followed = fetch(repository, remote=remote, branch=branch) if remote and branch else None
    base = resolve(repository, followed or "HEAD")
    heard = agent_refs_at(repository, base, WRITER, first=remote)
    run = evaluate_snapshot(open_commit(repository, base, heard), now, memory)
    require_heard(repository, run, heard, WRITER)
    for pulse in run.fleet.pulses:
        say(pulse.event)
        if pulse.sent is not None:
            memory[PulseKey(pulse.object, pulse.policy)] = pulse.sent
    return run.horizon
