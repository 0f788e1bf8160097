"""Cutting a fleet into shards: guesses which files belong to which neighbourhood, without parsing them.

The guess uses the layout of most fleets, and a glance at the content of all other files. Deciding a shard finds its
real neighbourhoods, and the run decides again what was in the wrong shard: a bad guess only costs time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from posixpath import basename, dirname
from typing import Final, NamedTuple

from muster.data.agentref import cluster_of
from muster.data.kinds import ADAPTER_REPORT, ALL, CLUSTERS, CSR, LEASE, Kind
from muster.data.locations import FOLDER, SUFFIX, is_projected
from muster.dataclass import dataclass
from muster.fleet.shared import OF_CLUSTERS
from muster.regex import Regex
from muster.run.neighbourhood_records import CONTEXT

#: The file of a cluster's folder, by convention.
_CLUSTER: Final = ("cluster.yaml", "cluster.yml", "cluster.json")
_PLURALS: Final = {kind.folder: kind for kind in ALL if kind not in CLUSTERS} | {kind.folder: kind for kind in CLUSTERS}
_NAMES: Final = {kind.name.encode(): kind for kind in ALL}
_DOCUMENT: Final = Regex(rb"(?m)^---")
_VALUE: Final = rb"""["']?\s*:\s*["']?([A-Za-z0-9][-\w.]*)"""
_KIND: Final = Regex(rb"""(?m)(?:^|[{,])[ \t]*["']?kind""" + _VALUE)
_NAME: Final = Regex(rb"""\bname""" + _VALUE)
_NAMESPACE: Final = Regex(rb"""\bnamespace""" + _VALUE)
_OF_CLUSTER: Final = Regex(rb"""\bclusterName""" + _VALUE)
_LABEL: Final = Regex(rb"""open-cluster-management\.io/cluster-name""" + _VALUE)


class ListedFile(NamedTuple):
    """A file of a snapshot, without its content: see `muster.data.source.SourceFile`."""

    path: str
    oid: str
    ref: str = ""

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.ref}:{self.path}" if self.ref else self.path


@dataclass
class FileGroups:
    """The files of each neighbourhood by guess, the `common` files with policies and settings, which every shard needs,
    and the `rest`, which many clusters share."""

    neighbourhoods: dict[str, list[ListedFile]] = field(default_factory=dict)
    common: list[ListedFile] = field(default_factory=list)
    rest: list[ListedFile] = field(default_factory=list)
    derived: bool = False
    adapters: bool = False

    def shards(self, files: int) -> Iterator[list[str]]:
        """Yield groups of neighbourhoods' names, with about so many files each."""
        names, count = list[str](), 0
        for name in list(self.neighbourhoods):
            names.append(name)
            count += len(self.neighbourhoods[name])
            if count >= files:
                yield names
                names, count = [], 0
        if names:
            yield names


def cut(
    listed: Sequence[ListedFile], policies: Iterable[str], read: Callable[[Sequence[str]], Iterable[bytes]]
) -> FileGroups:
    """Guess which files belong together. `policies` are files that are known to contain policies; `read` returns blobs
    by their ids."""
    groups, with_policies, folders = FileGroups(), frozenset(policies), _folders(listed)
    neighbourhoods: defaultdict[str, list[ListedFile]] = defaultdict(list)
    unseen, derived = [], []
    for file in listed:
        if file.ref:
            neighbourhoods[cluster_of(file.ref)].append(file)
        elif file.path in with_policies:
            groups.common.append(file)
        elif file.path.startswith(FOLDER):
            derived.append(file)
        elif folder := _within(file.path, folders):
            neighbourhoods[basename(folder)].append(file)
        else:
            unseen.append(file)
    elsewhere = dict[str, str]()
    for file, data in zip(unseen, read([file.oid for file in unseen]), strict=True):
        glance = _glance(data)
        groups.adapters = groups.adapters or ADAPTER_REPORT in glance.kinds
        elsewhere.update((name, min(glance.neighbourhoods)) for name in glance.elsewhere)
        if not glance.kinds.isdisjoint(CONTEXT):
            groups.common.append(file)
        elif glance.kinds <= OF_CLUSTERS and len(glance.neighbourhoods) == 1:
            neighbourhoods[min(glance.neighbourhoods)].append(file)
        else:
            groups.rest.append(file)
    for file in derived:
        kind = _PLURALS.get(file.path.split("/")[1])
        groups.adapters = groups.adapters or kind is ADAPTER_REPORT
        if is_projected(file.path):
            groups.rest.append(file)
        elif kind in CONTEXT:
            groups.common.append(file)
        elif kind in OF_CLUSTERS and file.path.endswith(SUFFIX):
            neighbourhoods[_derived_of(kind, file.path, elsewhere)].append(file)
        else:
            groups.rest.append(file)
    groups.derived = bool(derived)
    groups.rest.extend(neighbourhoods.pop("", ()))
    groups.neighbourhoods = dict(neighbourhoods)
    return groups


def _folders(listed: Iterable[ListedFile]) -> frozenset[str]:
    """The folders of clusters."""
    ends = tuple(f"/{name}" for name in _CLUSTER)
    return frozenset(
        dirname(file.path)
        for file in listed
        if not file.ref and file.path.endswith(ends) and not file.path.startswith(FOLDER)
    )


def _within(path: str, folders: frozenset[str]) -> str:
    """The cluster's folder that contains a file; empty for none."""
    while path := dirname(path):
        if path in folders:
            return path
    return ""


def _derived_of(kind: Kind, path: str, elsewhere: dict[str, str]) -> str:
    """The neighbourhood of a derived file of a kind."""
    *_, above, file = path.split("/")
    name = file.removesuffix(SUFFIX)
    if kind in CLUSTERS:
        return name
    return elsewhere.get(f"{kind.name}/{'' if kind is CSR else above}/{name}", "" if kind is CSR else above)


class _Glance(NamedTuple):
    """What a file seems to contain: kinds, neighbourhoods, and the objects that are in another neighbourhood than their
    name says."""

    kinds: set[Kind]
    neighbourhoods: set[str]
    elsewhere: list[str]


#: The neighbourhoods of a document with several objects.
_SEVERAL: Final = ("", "?")


def _glance(data: bytes) -> _Glance:
    glance = _Glance(set(), set(), [])
    for document in _DOCUMENT.split(data):
        kinds = [_NAMES[match[1]] for match in _KIND.finditer(document) if match[1] in _NAMES]
        glance.kinds.update(kinds)
        if len(kinds) > 1:  # a list of objects, or an object that speaks of another: read with what many share
            glance.neighbourhoods.update(_SEVERAL)
        if len(kinds) != 1:
            continue
        kind = kinds[0]
        if kind not in OF_CLUSTERS:
            continue
        _, _, metadata = document.partition(b"metadata")
        name, namespace = _first(_NAME, metadata).decode(), _first(_NAMESPACE, metadata).decode()
        named = _first(_LABEL if kind in (CSR, LEASE) else _OF_CLUSTER, document).decode()
        neighbourhood = name if kind in CLUSTERS else named or ("" if kind is CSR else namespace)
        glance.neighbourhoods.add(neighbourhood)
        if kind not in CLUSTERS and neighbourhood != namespace:
            glance.elsewhere.append(f"{kind.name}/{'' if kind is CSR else namespace}/{name}")
    return glance


def _first(pattern: Regex[bytes], data: bytes) -> bytes:
    match = pattern.search(data)
    return match[1] if match else b""
