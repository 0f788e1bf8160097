"""Agents of many clusters in a folder: for each one its token and what runs it, and for the relay the digests.

    relay_tokens          lines `<cluster> <SHA-256 of the token>`, for `muster relay --tokens`
    <cluster>/token       the token
    <cluster>/agent.yaml  the objects to apply, with the token in a Secret
    apply_all.sh          the commands that apply them

The table is the truth: a run keeps the tokens of clusters that it has, makes those of new ones, and ends those of
clusters that are gone. While tokens are renewed, the relay accepts the old ones, too, until a run renews none.
"""

import base64
import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.agents.join.manifests import AgentSetup, manifests
from muster.cli.documents import yaml_stream
from muster.data.agentref import Mandate, is_cluster_name
from muster.data.names import few
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.join.table import JoiningCluster
from muster.net.serving.tokens import token_digest

#: No cluster has such names.
TOKENS: Final = "relay_tokens"
APPLY: Final = "apply_all.sh"
_TOKEN, _AGENT = "token", "agent.yaml"
_BYTES_OF_TOKEN: Final = 32
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Written:
    """What a run wrote: the clusters with a new token, those with another one, and those whose token was ended."""

    made: tuple[str, ...]
    renewed: tuple[str, ...]
    ended: tuple[str, ...]


class TooManyEndError(ValueError):
    """More tokens would end than may at once."""


def write_agents(
    folder: Path, rows: Sequence[JoiningCluster], setup: AgentSetup, renew: Mandate, most: int | None = None
) -> Written:
    """Write what runs the agents of a table's clusters; `renew` names those that get another token. `most`: how many
    tokens may end, of clusters that the table no longer has; None: a tenth of all, at least two, but none by an
    empty table. OSError;
    TooManyEndError, before anything is written."""
    path = folder / TOKENS
    before = _lines(path.read_text(encoding="utf-8")) if path.exists() else []
    present = {words[0] for words in before if _is_agent(words)}
    ended = sorted(present - {row.cluster for row in rows})
    if most is None:
        most = max(2, len(present) // 10) if rows else 0  # an empty table is rather a listing that failed
    if len(ended) > most:
        raise TooManyEndError(
            f"the table no longer has {few(ended)}, so {len(ended)} of {len(present)} tokens would end"
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    digests, made, renewed = dict[str, str](), list[str](), list[str]()
    for row in rows:
        kept_token = _present(folder / row.cluster / _TOKEN)
        if renews := kept_token is not None and row.cluster in renew:
            renewed.append(row.cluster)
        elif kept_token is None:
            made.append(row.cluster)
        token = secrets.token_urlsafe(_BYTES_OF_TOKEN) if kept_token is None or renews else kept_token
        digests[row.cluster] = token_digest(token)
        _write_agent(folder / row.cluster, replace(setup, cluster=row.cluster), token)
    for cluster in ended:  # else the token would count again with the cluster's next row
        for name in (_TOKEN, _AGENT):
            (folder / cluster / name).unlink(missing_ok=True)
    kept = [words for words in before if not _is_agent(words) or (renew.clusters and words[0] in digests)]
    lines = [*kept, *(words for cluster in digests if (words := [cluster, digests[cluster]]) not in kept)]
    _write(folder / APPLY, _script(rows), 0o700)
    _write(path, "".join(f"{' '.join(words)}\n" for words in sorted(lines)))
    return Written(tuple(made), tuple(renewed), tuple(ended))


def _lines(text: str) -> list[list[str]]:
    return [words for line in text.splitlines() if (words := line.split())]


def _is_agent(words: Sequence[str]) -> bool:
    """Is the line of an agent's token? Others are of collectors, or comments: they stay."""
    return len(words) == 2 and is_cluster_name(words[0])


def _present(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def _write_agent(folder: Path, setup: AgentSetup, token: str) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    namespace, *others = manifests(setup)
    _write(folder / _AGENT, yaml_stream([namespace, _secret(setup, token), *others]))
    _write(folder / _TOKEN, f"{token}\n")


def _secret(setup: AgentSetup, token: str) -> Tree:
    data = {"token": base64.b64encode(token.encode()).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": setup.secret, "namespace": setup.namespace},
        "type": "Opaque",
        "data": data,
    }


def _write(path: Path, text: str, mode: int = _PRIVATE) -> None:
    """Replace a file that its owner alone can read."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def _script(rows: Sequence[JoiningCluster]) -> str:
    """The commands that apply the agents. A cluster without a context is left to the user, and said."""
    lines = ["#!/bin/sh", "# Written by muster join.", 'cd "$(dirname "$0")" || exit', "status=0"]
    for row in rows:
        target = ["apply", "--filename", f"{row.cluster}/{_AGENT}"]
        if row.context:
            lines.append(f"{shlex.join(['kubectl', f'--context={printable(row.context)}', *target])} || status=1")
        else:
            left = f"{row.cluster} has no context in the table; in its cluster: kubectl {shlex.join(target)}"
            lines.append(f"echo {shlex.quote(left)} >&2; status=1")
    return "\n".join([*lines, "exit $status", ""])
