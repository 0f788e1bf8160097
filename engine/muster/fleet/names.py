"""Names: which are safe to become a path."""

import re

_SAFE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?", re.ASCII)


def is_safe(name: str) -> bool:
    """Whether a name may become a file's name under `derived/`: no separators, no `..`, at most 253 characters.

    The schemas say more about each kind's names; this is the belt that holds for all, also for names that come
    from agents.
    """
    return _SAFE.fullmatch(name) is not None and ".." not in name
