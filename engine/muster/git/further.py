"""Further repositories that agents push to (`Fleet.spec.agents.remotes`): all asked at once, beside everything else.

Each is asked in a thread of its own, and one that does not answer keeps nobody waiting for longer than it takes to know
that. A process that lasts (`muster watch`) does not even wait for that from then on: it asks more and more rarely, goes
on meanwhile, and finds the refs moved when there is an answer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import Final

from muster.git.agentfetch import fetch_agents
from muster.git.agentsettings import AgentSettings, FurtherRemote
from muster.git.errors import RepositoryError
from muster.git.push import LIMIT_SECONDS
from muster.git.repository import Repository, common_directory

#: For so long a repository is waited for that says nothing; and one that sends much, by a process that lasts.
_ANSWER_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 10.0
_FIRST_AGAIN_SECONDS, _LAST_AGAIN_SECONDS = 15.0, 300.0

#: Ends what is asked and not answered yet, and says for each repository that was not heard why.
Answers = Callable[[], dict[str, str]]


@dataclass
class _RemoteLine:
    """What is known of a repository, and what is asked of it."""

    stop: Event = field(default_factory=Event)
    thread: Thread | None = None
    trouble: str = ""
    failures: int = 0
    again: float = 0.0
    awaited: bool = False

    def ask(self, repository: Repository, remote: FurtherRemote, settings: AgentSettings) -> None:
        """Ask, unless that is under way, or it is too early to try again."""
        self.awaited = False
        if (self.thread and self.thread.is_alive()) or time.monotonic() < self.again:
            return
        self.awaited, self.stop = self.failures == 0, Event()
        through = replace(repository, git=replace(repository.git, stopped=self.stop))
        self.thread = Thread(target=self._ask, args=(through, remote, settings), daemon=True, name=remote.name)
        self.thread.start()

    def _ask(self, repository: Repository, remote: FurtherRemote, settings: AgentSettings) -> None:
        try:
            fetch_agents(
                repository, remote=remote.url, into=remote.space, settings=settings, mandate=remote.mandate,
                answer_seconds=_ANSWER_SECONDS, limit_seconds=LIMIT_SECONDS,
            )  # fmt: skip
        except RepositoryError as error:
            self.trouble = error.message
            pause = min(_FIRST_AGAIN_SECONDS * (1 << min(self.failures, 10)), _LAST_AGAIN_SECONDS)
            self.failures, self.again = self.failures + 1, time.monotonic() + pause
        else:
            self.trouble, self.failures, self.again = "", 0, 0.0


#: By the directory of the repository here, and the name of the one that is asked.
_lines: dict[tuple[Path, str], _RemoteLine] = {}


@contextmanager
def asking(repository: Repository, settings: AgentSettings, *, lasting: bool) -> Iterator[Answers]:
    """Ask all further repositories while the block runs. What has not answered at its end is given up, unless the
    process is `lasting`."""
    here = common_directory(repository)
    lines = {remote: _lines.setdefault((here, remote.name), _RemoteLine()) for remote in settings.remotes}
    if not lasting:
        lines = {remote: _RemoteLine() for remote in settings.remotes}

    def answers() -> dict[str, str]:
        until = time.monotonic() + _PATIENCE_SECONDS
        for line in lines.values():
            if line.thread and (line.awaited or not lasting):
                line.thread.join(max(0.0, until - time.monotonic()) if lasting else None)
        return {remote.name: why for remote, line in lines.items() if (why := _why(line))}

    try:
        for remote, line in lines.items():
            line.ask(repository, remote, settings)
        yield answers
    except BaseException:
        lasting = False
        raise
    finally:
        if not lasting:
            for line in lines.values():
                line.stop.set()


def _why(line: _RemoteLine) -> str:
    if line.thread and line.thread.is_alive():
        return line.trouble or "it has not answered yet"
    return line.trouble
