"""The nearest known name of a misspelt one: one rule for kinds, fields, variables and verbs.

`nearest` is for hints, and generous: a wrong hint does little harm. `slip_of` is for decisions: a name counts as
misspelt only if few letters differ, because other programs have names like ours.
"""

from collections.abc import Iterable, Iterator, Sequence

#: Longer names have no near ones: comparing two takes time in proportion to the product of their lengths.
_MOST_CHARACTERS = 300
#: Comparing with more names is left out: in a fleet, as many may be misspelt.
_MANY_NAMES = 300
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-./"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the known name that `name` probably means: equal except for case, else the closest; empty if none is
    near. Of very many names, one that differs by a single slip."""
    if len(name) > _MOST_CHARACTERS:
        return ""
    candidates = sorted(other for other in names if other != name and len(other) <= _MOST_CHARACTERS)
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    if exact := folded.get(name.casefold()):
        return exact
    if len(folded) > _MANY_NAMES:
        return next((folded[slip] for slip in _one_letter_off(name.casefold()) if slip in folded), "")
    from difflib import get_close_matches  # few runs have a mistake

    matches = get_close_matches(name.casefold(), sorted(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""


def _one_letter_off(name: str) -> Iterator[str]:
    """Yield the names that a single slip turns into this one: a letter too many, swapped, wrong or missing."""
    splits = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    yield from (before + after[1:] for before, after in splits if after)
    yield from (f"{before}{after[1]}{after[0]}{after[2:]}" for before, after in splits if len(after) > 1)
    yield from (before + letter + after[1:] for before, after in splits if after for letter in _LETTERS)
    yield from (before + letter + after for before, after in splits for letter in _LETTERS)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `did you mean 'x'?`, or nothing."""
    match = nearest(name, names)
    return did_you_mean_text(match) if match else ""


def did_you_mean_text(name: str) -> str:
    """Return the hint that proposes a name."""
    return f"did you mean {name!r}?"


_LABEL_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
MAX_LABEL, MAX_SUBDOMAIN = 63, 253


def is_label(text: str) -> bool:
    """Is this a DNS label of any length: lower-case letters, digits and inner dashes?"""
    return text != "" and not text.strip(_LABEL_CHARACTERS) and text[0] != "-" != text[-1]


def is_short_label(text: str) -> bool:
    """Is this a DNS label of at most 63 characters?"""
    return len(text) <= MAX_LABEL and is_label(text)


def is_subdomain(text: str) -> bool:
    """Is this a DNS subdomain, as Kubernetes names most objects: labels joined by dots, at most 253 characters?"""
    return len(text) <= MAX_SUBDOMAIN and all(map(is_label, text.split(".")))


def few(names: Sequence[object], most: int = 5) -> str:
    """Return the first names and how many more there are: `a, b and 7 more`. One more is named, too."""
    most += len(names) == most + 1
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def slip_of(name: str, names: Iterable[str]) -> str:
    """Return the known name that `name` misspells: equal except for case, or for one letter in four.

    At most three letters may be missing, added, changed or swapped with a neighbour. Empty if there is none.
    """
    near = []
    for other in names if len(name) <= _MOST_CHARACTERS else ():
        most = min(3, max(1, len(other) // 4))
        distance = _distance(name.casefold(), other.casefold(), most)
        if distance <= most and name != other:
            near.append((distance, other))
    return min(near)[1] if near else ""


def _distance(name: str, other: str, most: int) -> int:
    """Return how many letters differ (optimal string alignment); any number over `most` if it is larger."""
    if abs(len(name) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        above, row = row, [i]
        for j, against in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and name[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = above
    return row[-1]
