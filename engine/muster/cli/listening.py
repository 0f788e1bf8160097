"""How commands get the agents' refs: fetched if they are missing or old, and required if decisions depend on them.

Clusters whose refs cannot be read look silent, and silence makes clusters Unknown. So `require_heard` stops a command
that lacks the refs of clusters that reported through refs before.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from muster.data.names import few
from muster.data.times import ago, format_time
from muster.dataclass import dataclass
from muster.git.agents.listing import (
    AgentRefs,
    fetch_agent_refs,
    local_agent_refs,
    newest_commit_time,
    recorded_clusters,
)
from muster.git.config import remotes
from muster.git.errors import RepositoryError
from muster.git.push import LIMIT_SECONDS
from muster.git.repository import Repository

if TYPE_CHECKING:
    from muster.run.run import Run


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh the agents' refs of a command must be.

    `ask`: fetch from remotes. `lasting`: the process will fetch again. `gone`: refs that no repository has any more
    count as removed. `news`: fail if the local copies may be old. `limit_seconds` bounds each remote.
    """

    ask: bool = True
    lasting: bool = False
    gone: bool = False
    news: bool = False
    limit_seconds: float = LIMIT_SECONDS


#: Commands that only read show what is known rather than wait for long.
READER = Freshness(limit_seconds=30.0)
#: How much later than its instant a command may fetch.
_FETCHED_LATER: Final = timedelta(minutes=1)
#: Commands that commit decide on nothing that may be outdated.
WRITER = Freshness(news=True)


def agent_refs_at(
    repository: Repository, commit: str | None, freshness: Freshness, *, first: str | None = None, governing: str = ""
) -> AgentRefs:
    """Return the agents' refs for the evaluation of a commit (None: an unborn branch).

    `first` is the remote to ask before all others, by name or URL. The Fleet of the commit `governing`, by default of
    the same, says what is asked (see `fetch_agent_refs`). RepositoryError if news are required and a remote
    does not answer.
    """

    def recorded() -> frozenset[str]:
        return recorded_clusters(repository, commit) if commit else frozenset()

    if freshness.ask:
        agent_refs = fetch_agent_refs(
            repository,
            recorded,
            revision=commit or "HEAD",
            governing=governing,
            first=first,
            lasting=freshness.lasting,
            limit_seconds=freshness.limit_seconds,
        )
    else:
        agent_refs = local_agent_refs(repository, commit or "HEAD")
    if agent_refs.stale and freshness.news:
        raise RepositoryError(
            f"the agents' refs here are copies and may be old: {agent_refs.trouble}",
            "try again when the remote answers; with --offline the copies count as current",
        )
    if freshness.gone:
        agents, retired = agent_refs.agents, recorded() - agent_refs.agents.present
        agent_refs = replace(agent_refs, agents=replace(agents, gone=agents.gone | retired, retired=retired))
    return agent_refs


def require_heard(repository: Repository, run: "Run", agent_refs: AgentRefs, freshness: Freshness) -> None:
    """Raise RepositoryError if clusters that reported through refs at the last run have no refs now."""
    unheard = sorted(run.fleet.refs.unheard - agent_refs.agents.unknown)  # refs of additional remotes are optional
    if not unheard:
        return
    clusters = "1 cluster reports" if len(unheard) == 1 else f"{len(unheard)} clusters report"
    raise RepositoryError(
        f"{clusters} through refs (refs/heads/agents/...) that are missing here: {few(unheard)}",
        _advice(repository, agent_refs, freshness),
    )


def _advice(repository: Repository, agent_refs: AgentRefs, freshness: Freshness) -> str:
    retired = "if all those agents were removed, run muster reconcile --agents-gone once"
    if agent_refs.trouble:
        return f"{agent_refs.trouble}; try again when it answers"
    if not remotes(repository):
        return f"add the repository that agents push to (git remote add origin URL), and run it again; {retired}"
    if not freshness.ask:
        return "run it without --offline to fetch them"
    return (
        "no remote here has any of them, for example because this is a fork: add the one that agents push to "
        f"(git remote add hub URL), and run it again; {retired}"
    )


def age_line(repository: Repository, agent_refs: AgentRefs, now: datetime) -> str:
    """Return a line about the age of the agents' refs; empty if no agent uses a ref."""
    newest = newest_commit_time(repository, agent_refs.refs, now) if agent_refs.refs else None
    if newest is None:
        return agent_refs.trouble
    # Refs are fetched after the command has taken its instant, so a heartbeat may be a little younger.
    when = ago(min(newest, now), now) if newest <= now + _FETCHED_LATER else "later than this instant"
    return f"agents heard until {format_time(newest)} ({when})" + (
        f"; {agent_refs.trouble}" if agent_refs.trouble else ""
    )
