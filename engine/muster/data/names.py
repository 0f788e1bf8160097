"""The known name that a misspelt one was meant to be: one rule for kinds, fields, variables and verbs.

`nearest` is for hints, and generous: a hint that is wrong costs a glance. `slip_of` is for decisions: it takes a name
for a misspelt one only where a few letters differ, because there are many other programs whose names are like ours.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that `name` was probably meant to be: the same but for case, else the closest.

    Empty where none is near.
    """
    candidates = sorted(other for other in known if other != name)
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    if exact := folded.get(name.casefold()):
        return exact
    matches = get_close_matches(name.casefold(), sorted(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?`, or nothing."""
    match = nearest(name, known)
    return f"did you mean {match!r}?" if match else ""


def few(names: Sequence[object], most: int = 5) -> str:
    """Return the first names and how many more there are: `a, b and 7 more`. One more is named, too."""
    most += len(names) == most + 1
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def slip_of(name: str, known: Iterable[str]) -> str:
    """Return the known name of which `name` is a misspelling: the same but for case, or but for a letter in four.

    At most three letters may be left out, added, changed or swapped with their neighbour. Empty where none is.
    """
    found = []
    for other in known:
        most = min(3, max(1, len(other) // 4))
        distance = _distance(name.casefold(), other.casefold(), most)
        if distance <= most and name != other:
            found.append((distance, other))
    return min(found)[1] if found else ""


def _distance(one: str, other: str, most: int) -> int:
    """How many letters differ (optimal string alignment); anything over `most` where it is more than that."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, against in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = above
    return row[-1]
