"""Branches of clusters that nobody knows: the first are looked at, the others are counted.

Whoever may push can make thousands of them, and each costs a run as much as a cluster does. So of the clusters that
people's files do not name and that were never in the fleet, the first by name are looked at, and one finding tells of
the others. The same holds for branches that do not count. A cluster is known where its name is a word in a file of
people's, whatever that file means: no cluster of the fleet is ever left out.
"""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.locations import FOLDER, SUFFIX, file_name
from muster.git.agents import AgentRef
from muster.git.repository import Repository, lines_at

#: So many clusters that nobody knows are looked at, so many branches that do not count are told one by one, and so
#: many names are given of the others.
MOST_UNKNOWN, MOST_REFUSED, _NAMED = 100, 20, 5
_WORD: Final = re.compile(rb"[a-z0-9][-a-z0-9.]*")
_PEOPLES: Final = ("*.yaml", "*.yml", "*.json", f":(exclude){FOLDER}")


def bounded(
    repository: Repository, refs: Sequence[AgentRef], recorded: Callable[[], Collection[str]], revision: str
) -> tuple[AgentRef, ...]:
    """Return the refs without those of unknown clusters beyond the first, and those that do not count beyond the first.

    `recorded` gives the clusters that spoke through refs at the last run.
    """
    if len(refs) <= min(MOST_UNKNOWN, MOST_REFUSED):
        return tuple(refs)
    dropped, told = set[str](), dict[str, AgentRef]()

    def summarise(beyond: Sequence[AgentRef], reason: str) -> None:
        if beyond:
            dropped.update(ref.name for ref in beyond)
            told[beyond[0].name] = replace(beyond[0], refused=(reason, _count(beyond)))

    for reason in sorted({ref.refused[0] for ref in refs if ref.refused}):
        summarise([ref for ref in refs if ref.refused and ref.refused[0] == reason][MOST_REFUSED:], "too-many-refused")
    counting = [ref for ref in refs if not ref.refused]
    if len(counting) > MOST_UNKNOWN and {ref.cluster for ref in counting} - frozenset(recorded()):
        is_known = _known(repository, revision)
        unknown = sorted((ref for ref in counting if not is_known(ref.cluster)), key=lambda ref: ref.cluster)
        summarise(unknown[MOST_UNKNOWN:], "too-many-unknown")
    return tuple(told.get(ref.name, ref) for ref in refs if ref.name in told or ref.name not in dropped)


def _count(refs: Sequence[AgentRef]) -> str:
    names = ", ".join(ref.short for ref in refs[:_NAMED])
    return f"{len(refs)}: {names}" + (f" and {len(refs) - _NAMED} more" if len(refs) > _NAMED else "")


def _known(repository: Repository, revision: str) -> Callable[[str], bool]:
    """What tells whether a cluster is named in people's files, is or was in the fleet, or was removed from it."""
    said = lines_at(repository, ".", revision, *_PEOPLES) + lines_at(
        repository, ".", revision, f"{FOLDER}{FLEET.plural}"
    )
    words = {word.rstrip(b".-").decode() for word in _WORD.findall(said)}
    listing = repository.git.run(
        "grep", "-l", "-z", "-e", ACCEPTED, revision, "--", f"{FOLDER}{MANAGED_CLUSTER.plural}"
    )
    paths = (os.fsdecode(path) for path in listing.stdout.split(b"\0") if path)
    files = {path.rsplit("/", 1)[-1].removesuffix(SUFFIX) for path in paths}
    return lambda cluster: cluster in words or file_name(cluster) in files
