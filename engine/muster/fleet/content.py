"""Content, told apart by a digest: what was decided of one is not decided of another."""

import hashlib
import json

from muster.model.tree import Tree


def digest_of(tree: Tree) -> str:
    """Return a SHA-256 that changes when the data does; formatting, comments and the order of keys do not count.

    It is whole, not cut short: others may have an interest in another content with the same digest.
    """
    canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
