"""What the Fleet of a commit says, read before anything is evaluated: it decides what else of a repository is read.

A quick look, like `muster.git.hearing.recorded_at`: at the Fleet in `fleet.yaml`, and where there is none at what the
last run remembered of it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

from muster.data.kinds import FLEET
from muster.data.locations import FLEET_FILE, FOLDER
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.loader import load_documents
from muster.git.errors import LostObjectError, TooLargeError, UnreadableError
from muster.git.objects import Objects
from muster.git.paths import MAX_BLOB_BYTES
from muster.git.repository import Repository, blob_at

_RECORD: Final = ("status", "muster", "settings")


def fleet_spec(repository: Repository, revision: str) -> dict[str, Tree]:
    """Return the Fleet's spec. LostObjectError where the repository has lost a file that may hold it."""
    said = blob_at(repository, revision, FLEET_FILE)  # which is kept, and has been asked for the branch of derived/
    for fleet in _fleets([said] if said is not None and len(said) <= MAX_BLOB_BYTES else []):
        return mapping_at(fleet, "spec")
    listing = repository.git.run("ls-tree", "-r", "-z", "--name-only", revision, f"{FOLDER}{FLEET.plural}/")
    paths = [os.fsdecode(path) for path in listing.stdout.split(b"\0") if path and b"\n" not in path]
    with closing(Objects(repository.git)) as objects:
        answers = list(objects.read([f"{revision}:{path}" for path in paths]))
    for path, answer in zip(paths, answers, strict=True):
        if isinstance(answer, TooLargeError):
            continue
        if isinstance(answer, UnreadableError):
            raise LostObjectError(path, str(answer))
        for fleet in _fleets([answer.content]):
            return mapping_at(fleet, *_RECORD)
    return {}


def _fleets(contents: Iterable[bytes]) -> Iterator[Tree]:
    for content in contents:
        for document in load_documents(content, FLEET_FILE).documents:
            if dig(document.body, "kind") == FLEET.name and dig(document.body, "apiVersion") == FLEET.api_version:
                yield document.body
