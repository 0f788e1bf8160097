"""Listening before deciding: agents' refs are fetched where they are missing or old, else nothing is decided.

`Ears` is how a command listens, `hear_at` does it, and `require_heard` refuses to go on where clusters that speak
through refs could not be heard: what is not heard would look like silence, and silence makes clusters Unknown.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from muster.data.times import age, format_time
from muster.git.agentrefs import AgentRefs, fetch_agent_refs, local_agent_refs, newest_commit_time, recorded_clusters
from muster.git.config import remotes
from muster.git.errors import RepositoryError
from muster.git.push import LIMIT_SECONDS
from muster.git.repository import Repository

if TYPE_CHECKING:
    from muster.run.run import Run

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Ears:
    """How a command listens: `ask` remotes or not, and not longer than `limit_seconds` each; whether refs that are
    missing everywhere count as `gone`; and whether it must have `news` where what is here are copies.
    `lasting`: the process will listen again."""

    ask: bool = True
    lasting: bool = False
    gone: bool = False
    news: bool = False
    limit_seconds: float = LIMIT_SECONDS


#: Who only reads shows what is known rather than wait for long.
READER = Ears(limit_seconds=30.0)
#: Who commits decides on nothing that may be out of date.
WRITER = Ears(news=True)


def hear_at(repository: Repository, commit: str | None, ears: Ears, *, first: str | None = None) -> AgentRefs:
    """Return the agents' refs with which a commit is evaluated (None: an unborn branch), fetched as `ears` say.

    `first` is the remote that is asked before all others, by name or URL.
    RepositoryError where news are needed and a remote does not answer.
    """

    def recorded() -> frozenset[str]:
        return recorded_clusters(repository, commit) if commit else frozenset()

    if ears.ask:
        heard = fetch_agent_refs(
            repository,
            recorded,
            revision=commit or "HEAD",
            first=first,
            lasting=ears.lasting,
            limit_seconds=ears.limit_seconds,
        )
    else:
        heard = local_agent_refs(repository, commit or "HEAD")
    if heard.stale and ears.news:
        raise RepositoryError(
            f"the agents' refs here are copies and may be old: {heard.trouble}",
            "try again when the remote answers; with --offline what is here counts as the agents' last word",
        )
    if ears.gone:
        known, retired = heard.agents, recorded() - heard.agents.present
        heard = replace(heard, agents=replace(known, gone=known.gone | retired, retired=retired))
    return heard


def require_heard(repository: Repository, run: "Run", heard: AgentRefs, ears: Ears) -> None:
    """Raise RepositoryError where clusters spoke through refs at the last run that could not be heard now."""
    unheard = sorted(run.fleet.refs.unheard - heard.agents.unknown)  # for further repositories nobody has to wait
    if not unheard:
        return
    names = ", ".join(unheard[:_NAMED]) + (f" and {len(unheard) - _NAMED} more" if len(unheard) > _NAMED else "")
    clusters = "1 cluster speaks" if len(unheard) == 1 else f"{len(unheard)} clusters speak"
    raise RepositoryError(f"{clusters} through refs (refs/heads/agents/...) that are not here: {names}",
                          _advice(repository, heard, ears))  # fmt: skip


def _advice(repository: Repository, heard: AgentRefs, ears: Ears) -> str:
    retired = "if those agents have all retired, say so once with muster reconcile --agents-gone"
    if heard.trouble:
        return f"{heard.trouble}; try again when it answers"
    if not remotes(repository):
        return f"name the repository that agents push to (git remote add origin URL), then run it again; {retired}"
    if not ears.ask:
        return "without --offline they are fetched"
    return (
        "no remote here has any of them, as a fork has none: add the one that agents push to (git remote add hub URL), "
        f"then run it again; {retired}"
    )


def age_line(repository: Repository, heard: AgentRefs, now: datetime) -> str:
    """Say how old what is known of agents is; nothing where none of them speaks through a ref."""
    newest = newest_commit_time(repository, heard.refs, now) if heard.refs else None
    if newest is None:
        return heard.trouble
    ago = f"{age(newest, now)} ago" if newest <= now else "later than this instant"
    return f"agents heard until {format_time(newest)} ({ago})" + (f"; {heard.trouble}" if heard.trouble else "")
