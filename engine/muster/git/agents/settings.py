"""What the Fleet of a commit says about agents, read before anything is evaluated: it decides which refs are fetched.

A quick look at the Fleet in `fleet.yaml`, and without one at what the last run recorded of it. An invalid setting
counts as not set; the evaluation reports the error.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from muster.data.agentref import FROM, Mandate, remote_of
from muster.data.kinds import FLEET
from muster.data.locations import FLEET_FILE, FOLDER
from muster.data.names import is_short_label
from muster.data.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.git.errors import LostObjectError, TooLargeError, UnreadableError
from muster.git.repository import Repository, blob_at
from muster.git.store.entries import DIRECTORY
from muster.git.store.objects import raw_entries
from muster.git.store.paths import MAX_BLOB_BYTES

_RECORD: Final = ("status", "muster", "settings")


def fleet_spec(repository: Repository, revision: str) -> dict[str, Tree]:
    """Return the Fleet's spec. LostObjectError if the repository has lost a file that may hold it."""
    content = blob_at(repository, revision, FLEET_FILE)
    for fleet in _fleets([content] if content is not None and len(content) <= MAX_BLOB_BYTES else []):
        return mapping_at(fleet, "spec")
    files = _derived_fleets(repository, revision)
    for path, answer in zip(files, repository.objects.read([*files.values()]), strict=True):
        if isinstance(answer, TooLargeError):
            continue
        if isinstance(answer, UnreadableError):
            raise LostObjectError(path, str(answer))
        for fleet in _fleets([answer.content]):
            return mapping_at(fleet, *_RECORD)
    return {}


def _derived_fleets(repository: Repository, revision: str) -> dict[str, str]:
    """Return the ids of the derived files of Fleets, by path; none if their folder cannot be read."""
    folder = f"{FOLDER}{FLEET.plural}"
    answer = next(repository.objects.read((f"{revision}:{folder}",), sys.maxsize))
    if isinstance(answer, UnreadableError) or answer.kind != "tree":
        return {}
    try:
        entries = [*raw_entries(answer.content, repository.id_bytes)]
    except ValueError:
        return {}
    return {f"{folder}/{os.fsdecode(name)}": oid for mode, name, oid in entries if mode != DIRECTORY}


def _fleets(contents: Iterable[bytes]) -> Iterator[Tree]:
    for content in contents:
        for document in load_documents(content, FLEET_FILE).documents:
            if dig(document.body, "kind") == FLEET.name and dig(document.body, "apiVersion") == FLEET.api_version:
                yield document.body


_NO_MANDATE: Final = Mandate()


@dataclass(frozen=True, slots=True)
class AgentRemote:
    """Another repository that agents push to: its `name` here, its URL, and the clusters it may speak for."""

    name: str
    url: str
    mandate: Mandate

    @property
    def space(self) -> str:
        """The prefix under which its branches are kept here."""
        return f"{FROM}{self.name}/"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How much an agent's ref may hold, the other repositories, the relays with the clusters they may speak for, and
    whether agents' commits have to be `signed`."""

    limits: AgentLimits = DEFAULT_LIMITS
    remotes: tuple[AgentRemote, ...] = ()
    relays: Mapping[str, Mandate] = field(default_factory=dict)
    signed: bool = False

    def mandate_of(self, ref: str) -> Mandate | None:
        """Return the clusters that the repository of a ref may speak for; None if the ref is of no such repository."""
        remote = remote_of(ref)
        if not remote:
            return None
        return next((source.mandate for source in self.remotes if source.name == remote), _NO_MANDATE)


DEFAULTS: Final = AgentSettings()


def agent_settings(repository: Repository, revision: str = "HEAD") -> AgentSettings:
    """Return what the Fleet of a revision says about agents."""
    spec = mapping_at(fleet_spec(repository, revision), "agents")
    limits = AgentLimits(
        _positive(spec.get("maxBytes"), DEFAULT_LIMITS.max_bytes),
        _positive(spec.get("maxFiles"), DEFAULT_LIMITS.max_files),
    )
    remotes = {
        str(entry["name"]): AgentRemote(str(entry["name"]), str(entry["url"]), _mandate(entry))
        for entry in mappings_at(spec, "remotes")
        if is_valid_name(str(entry.get("name"))) and _is_url(str(entry.get("url")))
    }
    relays = {
        str(entry["name"]): _mandate(entry)
        for entry in mappings_at(spec, "relays")
        if is_valid_name(str(entry.get("name")))
    }
    sources = tuple(remotes[name] for name in sorted(remotes))
    return AgentSettings(limits, sources, relays, spec.get("signing") == "required")


def unasked_remotes(repository: Repository, revision: str, governing: str) -> tuple[AgentRemote, ...]:
    """Return the repositories that the Fleet of a revision names and that of `governing` does not, or at another URL:
    nobody asks them before the revision is merged."""
    asked = {(remote.name, remote.url) for remote in agent_settings(repository, governing).remotes}
    named = agent_settings(repository, revision).remotes
    return tuple(remote for remote in named if (remote.name, remote.url) not in asked)


def is_valid_name(name: str) -> bool:
    """Is this a valid name for a repository or a relay?"""
    return is_short_label(name)


def _is_url(text: str) -> bool:
    """Is this one word, and no option of git?"""
    return text.split() == [text] and not text.startswith("-")


def _mandate(entry: Mapping[str, Tree]) -> Mandate:
    clusters = entry.get("clusters")
    return (
        Mandate(cluster for cluster in clusters if isinstance(cluster, str))
        if isinstance(clusters, list)
        else Mandate()
    )


def _positive(value: Tree, default: int) -> int:
    return value if isinstance(value, int) and value is not True and value > 0 else default
