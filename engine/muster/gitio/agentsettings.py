"""What the Fleet says of agents, read before anything is evaluated: it decides what of their refs is fetched and read.

A quick look at a commit, like `muster.gitio.hearing.recorded_at`: at the Fleet in `fleet.yaml`, and where there is none
at what the last run remembered of it. A setting that is not of its form counts as not set; that the Fleet has an error
then is told by its evaluation.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from muster.gitio.errors import UnreadableError
from muster.gitio.objects import Objects
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository
from muster.model.kinds import FLEET
from muster.model.locations import FOLDER
from muster.model.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.model.tree import Tree, dig, mapping_at
from muster.yamlio.loader import load_documents

_FILE: Final = "fleet.yaml"
_RECORD: Final = ("status", "muster", "settings", "agents")


def agent_limits(repository: Repository, revision: str = "HEAD") -> AgentLimits:
    """Return how much an agent's ref may hold, as the Fleet of a revision has it."""
    said, default = _agents(repository, revision), DEFAULT_LIMITS
    return AgentLimits(
        _positive(said.get("maxBytes"), default.max_bytes), _positive(said.get("maxFiles"), default.max_files)
    )


def _positive(value: Tree, default: int) -> int:
    return value if isinstance(value, int) and value is not True and value > 0 else default


def _agents(repository: Repository, revision: str) -> dict[str, Tree]:
    """`spec.agents` of the Fleet."""
    for fleet in _fleets(repository, (f"{revision}:{_FILE}",)):
        return mapping_at(fleet, "spec", "agents")
    listing = repository.git.run("ls-tree", "-r", "-z", "--name-only", revision, f"{FOLDER}{FLEET.plural}/")
    derived = [f"{revision}:{os.fsdecode(path)}" for path in listing.stdout.split(b"\0") if path and b"\n" not in path]
    for fleet in _fleets(repository, derived):
        return mapping_at(fleet, *_RECORD)
    return {}


def _fleets(repository: Repository, names: Sequence[str]) -> Iterator[Tree]:
    objects = Objects(repository.git, max_bytes=MAX_BLOB_BYTES)
    try:
        answers = list(objects.read(names))
    finally:
        objects.close()
    for answer in answers:
        if isinstance(answer, UnreadableError):
            continue
        for document in load_documents(answer.content, _FILE).documents:
            if dig(document.body, "kind") == FLEET.name and dig(document.body, "apiVersion") == FLEET.api_version:
                yield document.body
