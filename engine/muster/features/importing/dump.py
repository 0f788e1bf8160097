"""Reading a dump: the valid objects of the fleet in it, and counts of everything else.

Most objects of a hub's dump belong to other programs. They are counted by kind and ignored. What cannot be read, or
violates its schema, is a finding with its place in the dump, and the rest is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, PLACEMENT, Kind, kind_of
from muster.data.source import Layer, Part, Place, SourceFile
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.features.importing import messages
from muster.fleet.documents import add_body, unwrapped
from muster.fleet.files import add_problems
from muster.fleet.layout import OF_CLUSTERS, named_cluster
from muster.fleet.leases import DURATION, SHORTENED
from muster.fleet.messages import Origin
from muster.fleet.misspelt import misspelt_kind
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.fleet.reading import FilesRead
from muster.fleet.schema_findings import schema_findings
from muster.fleet.schemas import is_sound
from muster.fleet.secrecy import screened
from muster.git.clock import CLOCK_SKEW

#: How large a dump may be: a hub of some 20,000 clusters, in a few GiB of memory.
DUMP_BYTES: Final = 256 << 20
_DUMP_NODES: Final = 20_000_000
_MOST_LOCATED: Final = 5
#: No hub is older than Kubernetes. For a missing time, Go writes the year 1, and others 1970.
_EARLIEST: Final = datetime(2014, 1, 1, tzinfo=UTC)
_load = partial(load_documents, most_bytes=DUMP_BYTES, most_nodes=_DUMP_NODES, of_go=True)

#: Fields that only the API server writes, and that nothing here reads.
_OF_THE_SERVER: Final = ("managedFields", "resourceVersion", "selfLink")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: Annotations that muster writes: the dump may be another fleet's export.
_OF_RUNS: Final = ("muster.dev/never-available", SPEC_DIGEST, DURATION, SHORTENED)
#: Fields that say when something happened, never when something is to happen.
_MOMENTS: Final = frozenset(
    (
        "acquireTime",
        "creationTimestamp",
        "lastProbeTime",
        "lastTransitionTime",
        "lastUpdateTime",
        "renewTime",
        "time",
        "timeAdded",
    )
)


@dataclass
class Dump:
    """What was read.

    `objects` are whole, sound and free of credentials, `versions` their resourceVersions; `refused` counts the
    unsound. `strangers` counts objects of other kinds by kind and version; `unassigned` counts by kind those that
    could belong to a cluster and belong to none. `newest` is the latest moment in the dump: when it was taken, as far
    as can be told; `no_times` are moments at which it cannot have been taken.
    """

    objects: dict[ObjectId, Part] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    strangers: Counter[tuple[str, str]] = field(default_factory=Counter)
    unassigned: Counter[str] = field(default_factory=Counter)
    newest: datetime | None = None
    no_times: set[datetime] = field(default_factory=set)
    versions: dict[ObjectId, int] = field(default_factory=dict)
    refused: int = 0


def read_dump(sources: Iterable[SourceFile], present: datetime | None = None) -> Dump:
    """Read the files of a dump, none of which was taken after `present`."""
    latest = present + CLOCK_SKEW if present is not None else None
    dump = Dump()
    for source in sources:
        reading = FilesRead()
        loaded = _load(source.read(), source.label)
        add_problems(reading, source, loaded, of_fleet=True)
        for document in loaded.documents:
            for item, body in unwrapped(document):
                moments = set(_moments(body))
                no_times = {
                    moment for moment in moments if moment < _EARLIEST or (latest is not None and moment > latest)
                }
                dump.no_times |= no_times
                dump.newest = max((moment for moment in (dump.newest, *(moments - no_times)) if moment), default=None)
                _add(dump, reading, Origin(source, document, item), body)
        dump.findings.extend(reading.findings)
        for part in reading.parts:
            _take(dump, part)
    return dump


def _add(dump: Dump, reading: FilesRead, origin: Origin, body: Tree) -> None:
    """Take one document for an object of the fleet, or count it."""
    if not isinstance(body, dict) or "apiVersion" not in body or "kind" not in body:
        dump.findings.append(messages.no_object(Place(origin.source.label, origin.document.line, 1)))
        return
    api_version, name = body["apiVersion"], body["kind"]
    if isinstance(api_version, str) and isinstance(name, str):
        group = api_version.rpartition("/")[0]
        kind = BY_GROUP_KIND.get((group, name))
        if kind in OF_CLUSTERS and not named_cluster(kind, body):
            dump.unassigned[name] += 1
            return
        if kind is None and misspelt_kind(group, name) is None:
            items = body.get("items")
            if name.endswith("List") and isinstance(items, list):
                dump.strangers[name.removesuffix("List"), api_version] += len(items)
            else:
                dump.strangers[name, api_version] += 1
            return
    add_body(reading, origin.source, Layer.INPUT, origin.document, origin.item, body)


def _take(dump: Dump, part: Part) -> None:
    """Add an object, without what is no part of it, unless something is wrong with it."""
    kind = kind_of(part.id)
    seen = screened(kind, _own(kind, part.body))
    if seen.body is None:
        dump.findings.append(messages.withheld(part, seen.reason))
        return
    dump.findings.extend(messages.cleaned(part, path) for path in seen.left_out)
    version = dig(part.body, "metadata", "resourceVersion")
    number = int(version) if isinstance(version, str) and version.isascii() and version.isdigit() else 0
    whole = replace(part, body=seen.body)
    if wrong := _wrong(whole, part, exactly=dump.refused < _MOST_LOCATED):
        dump.findings.extend(wrong)
        dump.refused += 1
        return
    first = dump.objects.get(part.id)
    if first is not None and first.body == whole.body:
        return
    if first is not None:
        later = number > dump.versions[part.id]
        dump.findings.append(messages.twice(first, part) if later else messages.twice(part, first))
        if not later:
            return
    dump.objects[part.id], dump.versions[part.id] = whole, number


def _wrong(whole: Part, part: Part, *, exactly: bool) -> list[Finding]:
    """What the schema has against an object, at its line; where a dump is full of it, at that of its document.

    Finding a line costs as much as reading the file.
    """
    if exactly or is_sound(kind_of(whole.id), whole.body):
        return schema_findings(Object(whole.id, whole.body, (part,)))
    text = emit(whole.body).encode()
    small = SourceFile(part.source.path, "", lambda: text)
    alone = replace(whole, source=small, index=0, item=None, line=1)
    findings = schema_findings(Object(whole.id, whole.body, (alone,)))
    return [
        replace(finding, message=f"{finding.message} in {part.id}", line=part.line, column=1, excerpt="")
        for finding in findings
    ]


def _own(kind: Kind, body: Tree) -> Tree:
    """The object without what the API server keeps about it, and without what a run of muster remembers of it.

    A Placement's uid stays, which its decisions name, and the generation of kinds whose generation is counted.
    """
    metadata = mapping_at(body, "metadata")
    metadata = {k: value for k, value in metadata.items() if k not in _OF_THE_SERVER and value is not None}
    if kind is not PLACEMENT:
        metadata.pop("uid", None)
    if not kind.counted:
        metadata.pop("generation", None)
    if annotations := mapping_at(metadata, "annotations"):
        metadata["annotations"] = {
            name: value for name, value in annotations.items() if name != _LAST_APPLIED and name not in _OF_RUNS
        }
    stripped = {**body, "metadata": {name: value for name, value in metadata.items() if value not in ({}, [])}}
    if isinstance(status := body.get("status"), dict):
        stripped["status"] = {name: value for name, value in status.items() if name != "muster"}
    return {name: value for name, value in stripped.items() if value is not None and (name != "status" or value)}


def _moments(tree: Tree, name: str = "") -> Iterator[datetime]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _moments(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from _moments(value, name)
    elif name in _MOMENTS and (moment := try_time(tree)) is not None:
        yield moment
