"""What files may have held, as their own names say: for where there is no history."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, kind_of
from muster.data.snapshot import Skipped
from muster.data.source import SourceFile
from muster.fleet.missed.search import Search, read_again

#: How a file is called that declares a cluster in a folder of the cluster's name.
_CLUSTER_FILES = frozenset(("cluster", *(kind.name.casefold() for kind in CLUSTERS)))


def by_name(search: Search, left_out: Iterable[Skipped], ignored: Iterable[SourceFile]) -> None:
    """Tell by its own name what a file in doubt may have held."""
    blank = [suspect.source.path for suspect in search.reading.suspects if suspect.blank]
    for suspect in search.reading.suspects:
        if not suspect.blank:
            named = [id_ for id_ in search.missing() if _names(suspect.source.path, id_)]
            search.keep(suspect.source.path, "broken" if suspect.troubled else "strange", named, certain=False)
    for skip in left_out:
        named = [id_ for id_ in search.missing() if _names(skip.path, id_)]
        search.keep(skip.path, skip.reason, named, certain=False)
    for source in ignored if search.missing() else ():
        declared = {part.id for part in read_again(source).parts}
        search.keep(source.path, "ignored", declared.intersection(search.missing()), certain=False)
    by_name = {path: [id_ for id_ in search.missing() if _names(path, id_)] for path in blank}
    others = set(search.missing()).difference(*by_name.values())
    for path, named in by_name.items():
        search.keep(path, "blank", [*named, *others], certain=False)


def _names(path: str, id_: ObjectId) -> bool:
    """Whether a file is called as the one that declares an object would be."""
    file = PurePosixPath(path)
    if file.stem == id_.name:
        return True
    plain = file.stem.casefold()
    words = _CLUSTER_FILES if kind_of(id_) in CLUSTERS else {id_.kind.casefold(), kind_of(id_).plural}
    return plain in words and file.parent.name == id_.name
