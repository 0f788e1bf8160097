"""What may be going on in a fleet while something breaks, and two things that break at once."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from tests.support import subjects
from tests.support.breakages import WAYS, edit_of
from tests.support.episodes import Episode, Line, undo_of
from tests.support.living import observed
from tests.support.loose import puts

_LATER: Final = subjects.SETTLED + timedelta(seconds=10)
_POOL, _ROLLOUT = "subjects/clusterpool.yaml", "subjects/rollout.yaml"


def _edited(line: Line, path: str, old: str, new: str) -> Line:
    text = line.people.text(path.encode())
    assert old in text
    return line.commit(puts({path: text.replace(old, new, 1)}))


def _drained(line: Line) -> Line:
    """Work is asked to leave two clusters, in the commit that breaks something."""
    for name in ("m1", "m3"):
        taint = "spec:\n  taints:\n  - {key: muster.dev/drained, effect: NoSelect}\n"
        line = _edited(line, f"clusters/{name}/cluster.yaml", "spec:\n", taint)
    return line


def _smaller_pool(line: Line) -> Line:
    return _edited(line, _POOL, "size: 2", "size: 1")


def _leaving(line: Line) -> Line:
    """A cluster is being deleted, and an agent has not finished."""
    stamp = 'metadata:\n  deletionTimestamp: "2026-01-01T12:06:05Z"\n  finalizers: [example.com/x]\n'
    return _edited(line, "clusters/m4/cluster.yaml", "metadata:\n", stamp).settle(_LATER)


def _two_speakers(line: Line) -> Line:
    """A person's file reports on a cluster whose agent does so, too."""
    return line.commit(puts({f"clusters/{subjects.SPEAKER}/observed.yaml": observed(subjects.SPEAKER)}))


UNDERWAY: Final[Mapping[str, Callable[[Line], Line]]] = {
    "a drain": _drained,
    "a pool that is to shrink": _smaller_pool,
    "a pool that shrinks": lambda line: _smaller_pool(line).settle(_LATER),
    "a cluster that leaves": _leaving,
    "a new revision": lambda line: _edited(line, _ROLLOUT, "revision: v2", "revision: v3"),
    "two reports on one cluster": _two_speakers,
}


#: Work that leaves a cluster goes where it can go now: not to one that cannot be read, but to the next.
MOVES: Final[Mapping[str, tuple[str, ...]]] = {"a drain": ("cluster ", "Projection/flux: file ")}


def broken_in(line: Line, chance: random.Random, moves: tuple[str, ...] = ()) -> tuple[str, Episode]:
    """An episode at random in a fleet whose files may differ from the subjects', and its name. `moves`: what it may
    cause besides."""
    while True:
        path, way = chance.choice([*subjects.SUBJECTS, *subjects.REPORTS]), chance.choice([*WAYS])
        raw = path.encode()
        text = line.people.text(raw) if raw in line.people.files else {**subjects.SUBJECTS, **subjects.REPORTS}[path]
        if (episode := Episode.of(path, way)) and (edit := edit_of(way, path, text)):
            allowed = episode.allowed + moves
            return f"{path}: {way}", replace(episode, edit=edit, undo=undo_of(edit, path, text), allowed=allowed)


def pair_of_breakages(line: Line, chance: random.Random) -> tuple[str, Episode]:
    """Two episodes at once, of files that are not the same."""
    while True:
        (name, one), (other_name, other) = broken_in(line, chance), broken_in(line, chance)
        if one.edit.keys() & other.edit.keys() or one.undo.keys() & other.undo.keys():
            continue
        of_people = [episode for episode in (one, other) if not episode.sent] or [one, other]
        both = Episode(
            {**one.edit, **other.edit},
            {**one.undo, **other.undo},
            one.allowed + other.allowed,
            sent=one.sent and other.sent,
            found=tuple(at for at in ("edited", "healed") if any(at in episode.found for episode in of_people)),
        )
        return f"{name}, and {other_name}", both
