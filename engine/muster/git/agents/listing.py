"""Fetches the agents' refs that a run needs, and says how current they are.

A clone has copies of the agents' refs, as old as its last fetch; a clone of a single branch, as CI makes it, has none.
So configured remotes are asked for the refs that counted at the last run and are missing here, and for updates of
copies. Only agents' refs are fetched, to where the remote's branches are kept anyway (`refs/remotes/<remote>/agents/`;
in a mirror `refs/heads/agents/`): no branches, tags or settings of people change.

A repository without remotes is the place that agents push to, so its refs are complete.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Final

from muster.data.agentref import FROM, ref_of, remote_of
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.locations import FOLDER, SUFFIX, file_name
from muster.data.names import few
from muster.data.snapshot import Agents, Withheld
from muster.dataclass import dataclass
from muster.git.agents.fetch import Failures, fetch_agents, fetching_remotes
from muster.git.agents.refs import AgentRef, agent_refs, list_refs_of_run
from muster.git.agents.settings import AgentSettings, agent_settings
from muster.git.clock import CLOCK_SKEW, wall_clock
from muster.git.config import likely_first, remotes
from muster.git.errors import RepositoryError
from muster.git.push import LIMIT_SECONDS, tracking
from muster.git.repository import Repository, grep_lines

#: So many unknown clusters are read, so many refs that do not count are reported one by one, and so many of the other
#: names are listed.
MOST_UNKNOWN, MOST_REFUSED = 100, 20
_IN_NAMES: Final = b"abcdefghijklmnopqrstuvwxyz0123456789-."
#: Every octet that is in no cluster's name as a blank.
_NAMES: Final = bytes(octet if octet in _IN_NAMES else ord(" ") for octet in range(256))
_PEOPLES: Final = ("*.yaml", "*.yml", "*.json", f":(exclude){FOLDER}")
_RECORD: Final = b"agentRef: "
_AGENTS: Final = b"agents/"
_PLACES: Final = ("derived/managedclusters", "derived/clusters")
_COPIES: Final = "refs/remotes/"


@dataclass(frozen=True, slots=True)
class AgentRefs:
    """The agents' refs of a repository, as far as they are known.

    `refs` are in this clone now; `agents` says which agents could be reached. `has_remote`: there is a remote to fetch
    from. `stale`: refs here are copies of a remote that did not answer; `trouble` says why not. `own` are muster's own
    refs that were listed with them.
    """

    refs: tuple[AgentRef, ...]
    agents: Agents
    has_remote: bool = False
    stale: bool = False
    trouble: str = ""
    own: Mapping[str, str] = field(default_factory=dict, compare=False)


def local_agent_refs(repository: Repository, revision: str = "HEAD") -> AgentRefs:
    """Return the refs in this clone, by the settings of a revision. Nothing is fetched."""
    settings, listing = agent_settings(repository, revision), list_refs_of_run(repository)
    refs = agent_refs(repository, settings=settings, listing=listing)
    asked = not remotes(repository) and not settings.remotes
    local_refs = AgentRefs(refs, Agents(_clusters(refs), asked=asked, limits=settings.limits), own=listing.own())
    return _complete(repository, local_refs, settings, revision)


def fetch_agent_refs(
    repository: Repository,
    recorded: Callable[[], Collection[str]],
    *,
    revision: str = "HEAD",
    governing: str = "",
    first: str | None = None,
    lasting: bool = False,
    limit_seconds: float = LIMIT_SECONDS,
) -> AgentRefs:
    """Fetch agents' refs and return what is here then. A remote that does not answer raises nothing: see
    `AgentRefs.trouble`.

    The Fleet of `governing`, by default that of `revision`, says which repositories are asked, and how much is fetched
    and read. A revision under review has no say in that: `revision` only says which of the refs here count for what.

    The remotes of which refs here are copies are asked, and the one that the branch follows; the other remotes too as
    long as refs are missing.

    `recorded` gives the clusters whose refs counted at the last run. `first` is the remote that is asked before all
    others, by name or URL. A process that is `lasting` does not wait for other repositories that did not answer before
    (see `agentfetch`).
    """
    settings = agent_settings(repository, governing or revision)
    with fetching_remotes(repository, settings, lasting=lasting) as failures:
        fetched = _fetch_from_remotes(repository, settings, recorded, first, limit_seconds, failures)
    if governing not in ("", revision):
        settings = replace(agent_settings(repository, revision), limits=settings.limits)
        refs = agent_refs(repository, settings=settings)
        fetched = replace(fetched, refs=refs, agents=replace(fetched.agents, present=_clusters(refs)))
    return _complete(repository, fetched, settings, revision)


def _complete(repository: Repository, fetched: AgentRefs, settings: AgentSettings, revision: str) -> AgentRefs:
    """Bound the refs of unknown clusters, and add who signed each ref if agents have to sign."""
    refs = bound_unknown(repository, fetched.refs, partial(recorded_clusters, repository, revision), revision)
    # Clusters whose refs are left out are in no fleet: all that counts is in the refs.
    fetched = replace(fetched, refs=refs, agents=replace(fetched.agents, present=_clusters(refs)))
    if not settings.signed:
        return fetched
    from muster.git.agents.identities import identify_signers

    refs = identify_signers(repository, fetched.refs, revision, wall_clock())
    identities = {ref.cluster: ref.identity for ref in refs if ref.cluster and ref.identity is not None}
    return replace(fetched, refs=refs, agents=replace(fetched.agents, identities=identities))


def _fetch_from_remotes(
    repository: Repository,
    settings: AgentSettings,
    recorded: Callable[[], Collection[str]],
    first: str | None,
    limit_seconds: float,
    failures: Failures,
) -> AgentRefs:
    remote_names, limits, listing = remotes(repository), settings.limits, list_refs_of_run(repository)
    refs, local_ids = agent_refs(repository, settings=settings, listing=listing), listing.own()
    had = _clusters(refs)
    space = tracking(repository, first, remote_names) if first is not None else ""
    if orphans := _unknown_source(refs, space):
        source = f"the repository that {orphans} was fetched from is not configured"
        trouble = f"{source}: name it with --remote, or git remote add"
        return AgentRefs(refs, Agents(had, limits=limits), has_remote=True, stale=True, trouble=trouble, own=local_ids)
    if not remote_names and first is None and not settings.remotes:
        return AgentRefs(refs, Agents(had, asked=True, limits=limits), own=local_ids)
    wanted, reached = cache(lambda: frozenset(recorded())), not remote_names and first is None
    is_mirror = cache(partial(_is_mirror, repository))
    sources, troubles, stale = _source_remotes(refs, remote_names, first, space, is_mirror), list[str](), False
    order = list(dict.fromkeys((*([first] if first else []), *likely_first(repository, remote_names, sources))))
    for remote in order:
        if not (remote in sources or remote == order[0] or wanted() - _clusters(refs)):
            continue
        try:
            into = "refs/heads/" if is_mirror(remote) else tracking(repository, remote, remote_names)
            moved = fetch_agents(repository, remote=remote, into=into, settings=settings, limit_seconds=limit_seconds)
            reached = True
        except RepositoryError as error:
            troubles.append(
                f"{remote} could not be asked: {error.message}" + (f" ({error.hint})" if error.hint else "")
            )
            stale |= remote in sources
            moved = True  # some of them, perhaps
        refs = agent_refs(repository, settings=settings) if moved else refs
    silent = failures()
    refs = agent_refs(repository, settings=settings) if settings.remotes else refs
    present = _clusters(refs)
    withheld = {name: _clusters_of_remote(refs, settings, name, {*wanted(), *present}) for name in silent}
    gone = frozenset(had - present) if reached else frozenset()
    withheld_remotes = tuple(Withheld(name, why, withheld[name]) for name, why in sorted(silent.items()))
    agents = Agents(present, reached, gone, limits, withheld_remotes)
    return AgentRefs(refs, agents, has_remote=True, stale=stale, trouble="; ".join(troubles), own=local_ids)


def _clusters_of_remote(
    refs: Collection[AgentRef], settings: AgentSettings, remote: str, clusters: Collection[str]
) -> frozenset[str]:
    """The clusters that another repository speaks for, as far as this clone knows."""
    speakers = {ref.cluster: remote_of(ref.name) for ref in refs if ref.is_agent}
    mandate = next(source.mandate for source in settings.remotes if source.name == remote)
    return frozenset(
        cluster for cluster in clusters if speakers.get(cluster, remote if cluster in mandate else "") == remote
    )


def recorded_clusters(repository: Repository, commit: str) -> frozenset[str]:
    """Return the clusters whose refs counted at the last run before a commit, as its derived files record them.

    A quick look, to know what to fetch; the decision reads the files themselves (`muster.fleet.agent_refs`).
    """
    lines = grep_lines(repository, "^ +agentRef: ", commit, *_PLACES)
    refs = (line.partition(_RECORD)[2].strip(b"\"'") for line in lines.split(b"\n"))
    return frozenset(
        os.fsdecode(ref.removeprefix(_AGENTS)) for ref in refs if ref.startswith(_AGENTS) and ref != _AGENTS
    )


def newest_commit_time(repository: Repository, refs: Collection[AgentRef], now: datetime) -> datetime | None:
    """Return when the newest of the refs was committed; None without refs.

    A commit dated after `now` counts only if all are.
    """
    listing = repository.git.output(
        "for-each-ref",
        "--format=%(committerdate:unix) %(refname)",
        "refs/heads/agents/",
        "refs/remotes/*/agents/**",
        "refs/heads/relays/",
        "refs/remotes/*/relays/**",
        FROM,
    )
    names = {ref_of(ref.name) for ref in refs if not ref.refused}
    instants = [instant for name, instant in _dated(listing) if name in names]
    return max((instant for instant in instants if instant <= now + CLOCK_SKEW), default=max(instants, default=None))


def _dated(listing: bytes) -> Iterator[tuple[str, datetime]]:
    for line in os.fsdecode(listing).splitlines():
        seconds, _, name = line.partition(" ")
        if seconds.isdigit():
            try:
                yield name, datetime.fromtimestamp(int(seconds), UTC)
            except (ValueError, OverflowError, OSError):
                continue


def _clusters(refs: Collection[AgentRef]) -> frozenset[str]:
    return frozenset([ref.cluster for ref in refs if ref.is_agent])


def _unknown_source(refs: Collection[AgentRef], space: str) -> str:
    """Return a ref that was fetched from a URL (see `push.tracking`) and not from the one with the prefix `space`;
    empty if there is none.

    Its repository is not known any more, so it cannot be asked for updates.
    """
    copies = (ref.name for ref in refs if not ref.refused and ref.name.startswith(f"{_COPIES}url-"))
    return next((name for name in copies if not (space and name.startswith(space))), "")


def _source_remotes(
    refs: Collection[AgentRef],
    remote_names: Collection[str],
    first: str | None,
    space: str,
    is_mirror: Callable[[str], bool],
) -> set[str]:
    """The remotes of which refs here are copies: configured ones, and `first`, whose refs are below `space`."""
    named = {ref.name.removeprefix(_COPIES).partition("/")[0] for ref in refs if ref.name.startswith(_COPIES)}
    mirrored = {remote for remote in remote_names if refs and is_mirror(remote)}
    if first is not None and space.removeprefix(_COPIES).rstrip("/") in named:
        named.add(first)
    return (named | mirrored) & {*remote_names, first}


def _is_mirror(repository: Repository, remote: str) -> bool:
    """Are the remote's branches kept here as our own (`git clone --mirror`)?"""
    return repository.is_set(f"remote.{remote}.mirror")


def bound_unknown(
    repository: Repository, refs: Sequence[AgentRef], recorded: Callable[[], Collection[str]], revision: str
) -> tuple[AgentRef, ...]:
    """Return the refs without those of unknown clusters beyond the first, and those that do not count beyond the first;
    one finding each reports the rest.

    Whoever may push can make thousands of branches, and each costs a run as much as a cluster does. A cluster is known
    if its name is a word in any file of people's, or if it was ever in the fleet: no cluster of the fleet is left out.
    `recorded` gives the clusters whose refs counted at the last run.
    """
    if len(refs) <= min(MOST_UNKNOWN, MOST_REFUSED):
        return tuple(refs)
    dropped, summaries = set[str](), dict[str, AgentRef]()

    def summarise(beyond: Sequence[AgentRef], reason: str) -> None:
        if beyond:
            dropped.update(ref.name for ref in beyond)
            summaries[beyond[0].name] = replace(beyond[0], refused=(reason, _count(beyond)))

    for reason in sorted({ref.refused[0] for ref in refs if ref.refused}):
        summarise([ref for ref in refs if ref.refused and ref.refused[0] == reason][MOST_REFUSED:], "too-many-refused")
    counting = [ref for ref in refs if not ref.refused]
    if len(counting) > MOST_UNKNOWN and {ref.cluster for ref in counting} - frozenset(recorded()):
        is_known = _known(repository, revision)
        unknown = sorted((ref for ref in counting if not is_known(ref.cluster)), key=lambda ref: ref.cluster)
        summarise(unknown[MOST_UNKNOWN:], "too-many-unknown")
    return tuple(summaries.get(ref.name, ref) for ref in refs if ref.name in summaries or ref.name not in dropped)


def _count(refs: Sequence[AgentRef]) -> str:
    return f"{len(refs)}: {few([ref.short for ref in refs])}"


def _known(repository: Repository, revision: str) -> Callable[[str], bool]:
    """Return a test whether a cluster is named in people's files, is or was in the fleet, or was removed from it."""
    lines = grep_lines(repository, ".", revision, *_PEOPLES) + grep_lines(
        repository, ".", revision, f"{FOLDER}{FLEET.plural}"
    )
    words = {word.strip(b".-").decode() for word in lines.translate(_NAMES).split()}
    listing = repository.git.run(
        "grep", "-l", "-z", "-e", ACCEPTED, revision, "--", f"{FOLDER}{MANAGED_CLUSTER.plural}"
    )
    paths = (os.fsdecode(path) for path in listing.stdout.split(b"\0") if path)
    files = {path.rsplit("/", 1)[-1].removesuffix(SUFFIX) for path in paths}
    return lambda cluster: cluster in words or file_name(cluster) in files
