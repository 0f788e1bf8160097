"""What a reconcile did, and who is told of it: for the verbs that reconcile, for metrics, traces and notifications."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from muster.cli.instants import Instant
from muster.git.agentrefs import AgentRefs
from muster.run.answer import Figures, figures
from muster.run.question import Question
from muster.run.state import RunState

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from muster.run.answer import RunAnswer
    from muster.run.run import Settled


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconcile did. `commit` is the commit it made, None where nothing had to change; `attempts` counts how
    often it tried to land; `pushed` says whether it pushed anything; `left_behind` says why the local branch does not
    have what was pushed, empty where it has; `followed` that a rewritten history was. `heard` is what was heard of
    agents, `instant` as of when it was decided, `tip` where the local branch was left, None where there is none.
    `found` is what was found, with how much of the fleet was looked at. `overtaken`: people committed more meanwhile,
    which nobody has looked at yet. `waits`: until then nothing is committed, because the fleet wants no more commits in
    this hour. `late`: for so long something was due by then, as far as it is known what was. `state` is where it is
    kept. `head` is the commit at which the branch that was evaluated is now, `question` what was asked before."""

    settled: "Settled"
    question: Question
    heard: AgentRefs
    instant: Instant
    commit: str | None
    attempts: int
    tip: str | None
    found: "RunAnswer"
    pushed: bool = False
    left_behind: str = ""
    followed: str = ""
    overtaken: bool = False
    waits: datetime | None = None
    late: timedelta | None = None
    state: RunState | None = None
    head: str = ""

    @property
    def figures(self) -> Figures:
        """The fleet in numbers."""
        return figures(self.found, self.state)

    @property
    def looked_at(self) -> str:
        """How much of the fleet was."""
        return self.found.looked_at

    @property
    def how(self) -> tuple[str, ...]:
        """How often it tried, and as of when it decided; nothing where it is as usual."""
        tries = f"the branch moved meanwhile: it took {self.attempts} attempts" if self.attempts > 1 else ""
        return tuple(line for line in (tries, self.instant.note) if line)
