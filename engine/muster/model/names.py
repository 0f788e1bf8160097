"""The known name that a misspelt one was meant to be: one rule for kinds, fields, variables and verbs."""

from collections.abc import Iterable
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
