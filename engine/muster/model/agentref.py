"""The names of agents' refs: `agents/<cluster>`, of this repository or of a remote, and nothing else.

One ref speaks for one cluster, and the name says for which. It is the only credential there is: whoever may write
`agents/a` is a's agent, as the git host's rules for branches have it. So there is one parser, and it is strict: a name
with anything before, between or after (`agents/zz/agents/a`, `x/agents/a`, `agents/a/b`, `Agents/a`) speaks for nobody.
"""

import re
from typing import Final

# A cluster is named as Kubernetes names things: a DNS subdomain.
_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CLUSTER: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.ASCII)
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
_FOLDER: Final = "agents"


def is_cluster_name(name: str) -> bool:
    """Whether a cluster may have this name."""
    return _CLUSTER.fullmatch(name) is not None


def agent_ref(cluster: str) -> str:
    """The full name of a cluster's ref."""
    return f"{_HEADS}{_FOLDER}/{cluster}"


def short_name(ref: str) -> str:
    """`agents/prod-eu-1` or `origin/agents/prod-eu-1`: how messages and `SourceFile.ref` name a ref."""
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else ref.removeprefix(_REMOTES)


def speaks_for(ref: str) -> str:
    """The cluster that a ref, by its full name, speaks for; empty where it speaks for none."""
    if ref.startswith(_HEADS):
        return _cluster(ref.removeprefix(_HEADS))
    remote, _, branch = ref.removeprefix(_REMOTES).partition("/")
    return _cluster(branch) if ref.startswith(_REMOTES) and remote else ""


def cluster_of(short: str) -> str:
    """The same by the short name, of a ref that `speaks_for` some cluster."""
    return _cluster(short) or _cluster(short.partition("/")[2])


def resembles(ref: str) -> bool:
    """Whether a name looks as if it were meant to be an agent's: it has a folder `agents`, in whatever case."""
    branch = ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else ref.removeprefix(_REMOTES).partition("/")[2]
    return _FOLDER in branch.casefold().split("/")[:-1]


def misplaced(ref: str) -> bool:
    """Whether a name that resembles an agent's is not even in the folder of the agents: more likely a person's."""
    branch = ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else ref.removeprefix(_REMOTES).partition("/")[2]
    return not branch.startswith(f"{_FOLDER}/")


def _cluster(branch: str) -> str:
    folder, _, name = branch.partition("/")
    return name if folder == _FOLDER and is_cluster_name(name) else ""
