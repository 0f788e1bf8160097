"""Names of new clusters: the pool's name and an ordinal that is never given twice.

A cluster's name is its namespace too, so it must be a DNS label. Where a pool's own name cannot begin one, or two
namespaces have a pool of that name, five hex digits of a hash of namespace and name tell them apart.
"""

import hashlib
import re
from collections.abc import Collection, Iterator

from muster.rules.pools.model import PoolKey

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_LONGEST_STEM = 50  # of the 63 characters of a label: the rest is for the hash and the ordinal


def stem(key: PoolKey, *, unique: bool) -> str:
    """Return what the names of a pool's clusters begin with. `unique`: no other namespace has a pool of the name."""
    if unique and len(key.name) <= _LONGEST_STEM and _LABEL.fullmatch(key.name):
        return key.name
    digest = hashlib.sha256(f"{key.namespace}/{key.name}".encode()).hexdigest()[:5]
    return f"{key.name.replace('.', '-')[:_LONGEST_STEM].rstrip('-')}-{digest}"


def ordinal_of(name: str, beginning: str) -> int:
    """Return the ordinal in a cluster's name; 0 where it has another form."""
    head, _, tail = name.rpartition("-")
    return int(tail) if head == beginning and tail.isascii() and tail.isdigit() and len(tail) < 18 else 0


def free_ordinals(beginning: str, first: int, taken: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield ordinals from `first` on, with the names that they give, without the names that are taken."""
    ordinal = first
    while True:
        name = f"{beginning}-{ordinal}"
        if name not in taken:
            yield ordinal, name
        ordinal += 1
