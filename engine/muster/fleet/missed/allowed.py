"""Which removals are allowed by the commits that make them.

A commit that removes many clusters names them: `Muster-Allow-Removal: prod-eu-1, prod-eu-2`. It counts for the clusters
that this very commit removes, and that nothing declares after it: so it is used once, and an old one lets nothing go
that another commit removes later.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.snapshot import Allowance
from muster.data.source import SourceFile
from muster.fleet.missed.search import read_again

_BETWEEN: Final = re.compile(r"[\s,]+")


def allowed_removals(allowances: Iterable[Allowance]) -> tuple[frozenset[ObjectId], tuple[str, ...]]:
    """Return the clusters that commits remove and name, and the words of those commits that name none of theirs."""
    allowed, idle = set[ObjectId](), list[str]()
    for one in allowances:
        names = set(_BETWEEN.split(one.text))
        removed = _clusters(one.was) - _clusters(one.became)
        named = {id_ for id_ in removed if id_.name in names}
        if not named:
            idle.append(one.text)
        allowed -= _clusters(one.became)
        allowed |= named - _clusters(one.later) if named else named
    return frozenset(allowed), tuple(idle)


def _clusters(files: Sequence[SourceFile]) -> set[ObjectId]:
    """The clusters of which some files hold a part that declares them."""
    parts = (part for file in files for part in read_again(file).parts)
    return {part.id for part in parts if is_cluster(part.id) and "spec" in part.body}
