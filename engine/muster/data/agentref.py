"""The names of agents' refs: `agents/<cluster>`, of this repository or of a remote, and nothing else.

One ref reports for one cluster, and its name says for which. The name is the only credential: the git host's branch
rules decide who may write `agents/a` and so is a's agent. So there is one parser, and it is strict: a name with
anything before, between or after (`agents/zz/agents/a`, `x/agents/a`, `agents/a/b`, `Agents/a`) counts for no cluster.

Two other sources report for the clusters that the Fleet gives them (their `Mandate`). The agents of a further
repository are kept as `refs/muster/from/<remote>/agents/<cluster>`. A relay has one ref for many clusters,
`relays/<relay>`; its folder for one cluster is named `relays/<relay>~<cluster>`, which no ref can be. What its
collectors report of a cluster is named `relays/<relay>~collected~<cluster>`, and counts beside what the agent reports.
"""

from collections.abc import Iterable
from functools import lru_cache
from string import ascii_letters, digits
from typing import Final

from muster.data.names import is_label, is_subdomain
from muster.data.wildcards import matches_any

#: The prefix of proposals' branches.
BRANCHES: Final = "muster/proposals/"


def proposal_branch(topic: str) -> str:
    """Return the branch that proposes a topic's effects."""
    return f"{BRANCHES}{topic}"


def approval_file(topic: str) -> str:
    """Return the file that merging it adds."""
    return f"approvals/{topic}.yaml"


#: The characters of the agent's part of a certificate's user name, and the prefix before the cluster's.
_AGENT: Final = f"{ascii_letters}{digits}._-"
_LONGEST_AGENT: Final = 64
GROUP: Final = "system:open-cluster-management:"
_HEADS, _REMOTES, FROM = "refs/heads/", "refs/remotes/", "refs/muster/from/"
_FOLDER, RELAYS = "agents", "relays/"
_SEPARATOR: Final = "~"
#: The folder of a relay's ref for what collectors report.
COLLECTED: Final = "collected"
_BESIDE: Final = f"{_SEPARATOR}{COLLECTED}{_SEPARATOR}"
#: How many parsed names are cached: each is parsed several times in every run.
_CACHED_NAMES: Final = 1 << 16


class Mandate:
    """The clusters that a source may report for: names, and patterns in which `*` matches anything."""

    def __init__(self, clusters: Iterable[str] = ()) -> None:
        self.clusters = frozenset(clusters)
        self._patterns = tuple(sorted(name for name in self.clusters if "*" in name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mandate) and other.clusters == self.clusters

    def __hash__(self) -> int:
        return hash(self.clusters)

    def __contains__(self, cluster: str) -> bool:
        return cluster in self.clusters or matches_any(self._patterns, cluster)


def is_cluster_name(name: str) -> bool:
    """Is this a valid name of a cluster?"""
    return is_subdomain(name)  # as Kubernetes names things


def agent_named(user: str) -> str:
    """Return the cluster of an agent's user name, `system:open-cluster-management:<cluster>:<agent>`; empty for other
    names.

    Names go into lists that other programs read (`export allowed-signers`), so they contain no separator of such a
    list.
    """
    cluster, _, agent = user.removeprefix(GROUP).partition(":")
    sound = 0 < len(agent) <= _LONGEST_AGENT and not agent.strip(_AGENT)
    return cluster if sound and user.startswith(GROUP) and is_cluster_name(cluster) else ""


def agent_ref(cluster: str) -> str:
    """Return the full name of a cluster's ref."""
    return f"{_HEADS}{_FOLDER}/{cluster}"


def short_name(ref: str) -> str:
    """Return `agents/prod-eu-1` or `origin/agents/prod-eu-1`: how messages and `SourceFile.ref` name a ref."""
    if ref.startswith(FROM):
        return f"from {ref.removeprefix(FROM)}"
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else ref.removeprefix(_REMOTES)


@lru_cache(maxsize=_CACHED_NAMES)
def speaks_for(ref: str) -> str:
    """Return the cluster that a ref, by its full name, reports for; empty for none."""
    return _cluster(_branch(ref))


def cluster_of(short: str) -> str:
    """Return the same by the short name of a ref that `speaks_for` some cluster."""
    return short.rpartition("/")[2].rpartition(_SEPARATOR)[2]


def remote_of(ref: str) -> str:
    """Return the further repository, by its name in the Fleet, that a ref is copied from; empty for other refs."""
    return ref.removeprefix(FROM).partition("/")[0] if ref.startswith(FROM) else ""


def relay_of(ref: str) -> str:
    """Return the relay of a ref, or of a folder in its ref; empty for none."""
    branch = _branch(ref)
    return branch.removeprefix(RELAYS).partition(_SEPARATOR)[0] if branch.startswith(RELAYS) else ""


def relayed(ref: str, cluster: str) -> str:
    """Return the name of a cluster's folder in a relay's ref."""
    return f"{ref}{_SEPARATOR}{cluster}"


def collected(ref: str, cluster: str) -> str:
    """The name of what the collectors of a relay's ref say of a cluster."""
    return f"{ref}{_BESIDE}{cluster}"


def is_collected(name: str) -> bool:
    """Whether a collector speaks there, by a full or short name: no agent, so no sign of the cluster's life."""
    return _BESIDE in name


def ref_of(name: str) -> str:
    """Return the ref of a name: the name itself, or the relay's ref for a folder in it."""
    return name.partition(_SEPARATOR)[0]


def resembles(ref: str) -> bool:
    """Does a name look like an agent's ref: does it have a folder `agents`, in any case?"""
    return _FOLDER in _branch(ref).casefold().split("/")[:-1]


def misplaced(ref: str) -> bool:
    """Is a name that resembles an agent's ref outside the folder `agents/`, and so more likely a person's?"""
    return not _branch(ref).startswith(f"{_FOLDER}/")


def _branch(ref: str) -> str:
    """The branch of a ref or of the copied ref; empty for other refs."""
    if ref.startswith(_HEADS):
        return ref.removeprefix(_HEADS)
    for prefix in (_REMOTES, FROM):
        remote, _, branch = ref.removeprefix(prefix).partition("/")
        if ref.startswith(prefix) and remote:
            return branch
    return ""


def _cluster(branch: str) -> str:
    relay, has_separator, name = branch.partition(_SEPARATOR)
    if has_separator:
        name = name.removeprefix(f"{COLLECTED}{_SEPARATOR}")
        valid = relay.startswith(RELAYS) and is_label(relay.removeprefix(RELAYS)) and is_cluster_name(name)
        return name if valid else ""
    folder, _, name = branch.partition("/")
    return name if folder == _FOLDER and is_cluster_name(name) else ""
