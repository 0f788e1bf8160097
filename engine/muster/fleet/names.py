"""Names: which are safe to become a path, and which known one a misspelt one is nearest to."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_SAFE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?", re.ASCII)


def is_safe(name: str) -> bool:
    """Whether a name may become a file's name under `derived/`: no separators, no `..`, at most 253 characters.

    The schemas say more about each kind's names; this is the belt that holds for all, also for names that come
    from agents.
    """
    return _SAFE.fullmatch(name) is not None and ".." not in name


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that `name` was probably meant to be; empty where none is near."""
    candidates = sorted(known)
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    if exact := folded.get(name.casefold()):
        return exact
    matches = get_close_matches(name.casefold(), sorted(folded), n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?", or nothing."""
    match = nearest(name, known)
    return f"did you mean {match!r}?" if match else ""
