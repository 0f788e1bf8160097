"""What was not fetched of agents' refs, because it is too much: remembered, so that it is asked for once.

A file beside the notes of what is under way. It is a memory and no more: without it the same is refused once more.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.tree import read_json
from muster.git.repository import Repository, common_directory

_FILE: Final = "muster/refused.json"


class Refusal(NamedTuple):
    """At which commit a ref was refused, and why."""

    commit: str
    why: str


def refusals(repository: Repository) -> dict[str, Refusal]:
    """Return what was refused, by the full name of the ref under which it would be kept here."""
    try:
        known = read_json(_path(repository).read_text(encoding="utf-8"))
        return {str(ref): Refusal(str(commit), str(why)) for ref, (commit, why) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def remember(repository: Repository, prefix: str, refused: Mapping[str, Refusal]) -> None:
    """Keep what was refused of the refs below `prefix`, in place of what was known of them."""
    known = refusals(repository)
    present = {ref: found for ref, found in known.items() if not ref.startswith(prefix)} | dict(refused)
    if present == known:
        return
    path = _path(repository)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="refused-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(present, file)
        Path(name).replace(path)


def _path(repository: Repository) -> Path:
    return common_directory(repository) / _FILE
