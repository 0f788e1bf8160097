"""The result of a reconcile: for the commands that reconcile, and for metrics, traces and notifications."""

from datetime import datetime, timedelta

from muster.cli.instants import Instant
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs
from muster.run.answer import Figures, RunAnswer, figures
from muster.run.memo.state import RunState
from muster.run.question import Question
from muster.run.run import Settled


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """The result of one reconcile.

    `commit`: the commit that it made, None if nothing had to change. `attempts`: how often it tried to land.
    `pushed`: did it push anything? `left_behind`: why the local branch lacks what was pushed, empty if it has it.
    `followed`: a line about a rewritten history that was followed. `heard`: the agents' refs. `instant`: the instant of
    the decisions. `tip`: the tip of the local branch afterwards, None if there is none. `found`: the answer of the run.
    `waits`: until when nothing is committed, because of the fleet's limit of commits per hour. `late`: how long
    something had been due, as far as known. `state`: where the run's state is kept. `head`: the present commit of the
    evaluated branch. `question`: the question that the run answered.
    """

    settled: Settled
    question: Question
    heard: AgentRefs
    instant: Instant
    commit: str | None
    attempts: int
    tip: str | None
    found: RunAnswer
    pushed: bool = False
    left_behind: str = ""
    followed: str = ""
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
        """How much of the fleet the run looked at."""
        return self.found.looked_at

    @property
    def how(self) -> tuple[str, ...]:
        """Lines about unusual attempts and an unusual instant."""
        tries = f"the branch moved meanwhile: it took {self.attempts} attempts" if self.attempts > 1 else ""
        return tuple(line for line in (tries, self.instant.note) if line)
