"""The record of each neighbourhood after a run: its files, horizon, findings and summary.

The summary is everything that the rest of the fleet may read of a cluster: the input of wide stages. While it stays the
same, nothing else has to be decided again. Neighbourhoods with objects that belong to no cluster are *shared*: wide
stages read all of them. That also applies if something is broken, because its earlier derived state counts then.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cache
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Final

from muster.data.agentref import cluster_of
from muster.data.codec import encode
from muster.data.decision import Decision, Failed, Held, Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    ADMISSION,
    APPROVAL,
    CSR,
    DRILL,
    FLEET,
    NOTIFICATION_POLICY,
    POLICIES,
    PROJECTION,
    ROLLOUT,
    Kind,
    is_cluster,
    kind_of,
)
from muster.data.locations import derived_path
from muster.data.source import Part
from muster.data.times import earliest
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.neighbourhoods import NeighbourhoodNames, neighbourhood_names
from muster.fleet.objects import Object
from muster.fleet.projected import recorded_files
from muster.fleet.shared import OF_CLUSTERS, derived_works, names_in_use, read_by_others
from muster.git.store.objects import SHA1, object_id
from muster.rules.failures import OF_FAILURES, in_order
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.stages import Disrupted, StepRecord, Terms
from muster.run.memo.figures import last_reports, rollout_totals, status_of, status_total
from muster.run.memo.records import StoredSummary, body_of, decisions_of, digest, failure_row, kept, stored
from muster.run.memo.state import File, NeighbourhoodRecord, WrittenFile
from muster.run.question import default_neighbourhood
from muster.run.run import Files

if TYPE_CHECKING:
    from muster.rules.given import GivenTerms

#: How the totals of names in use begin. A check counts them, because what refers to one is elsewhere.
NAME: Final = "name "
#: The total of objects whose cluster does not exist. What they could have meant depends on all names of clusters.
ORPHANS: Final = "orphans"
#: The kinds that every run needs: policies, settings, and approvals.
CONTEXT: Final = frozenset((*POLICIES, *ADMISSION, NOTIFICATION_POLICY, FLEET, APPROVAL, ROLLOUT, PROJECTION, DRILL))


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a neighbourhood: objects that others may read, and what was `decided` about each; the same of
    derived `works`; held effects; the clusters with a requested disruptive effect, held or not; and those that `asked`
    what budgets allow.

    A large fleet has as many at once as clusters, nearly all with one object: hence no mappings.
    """

    objects: tuple[Object, ...]
    decided: tuple[Mapping[Path, Decision], ...]
    held: tuple[Held, ...]
    disrupted: frozenset[ObjectId]
    asked: frozenset[ObjectId]
    works: tuple[tuple[ObjectId, Mapping[Path, Decision]], ...] = ()

    def decisions(self) -> Iterator[tuple[ObjectId, Mapping[Path, Decision]]]:
        """Yield each object's decisions."""
        of_objects = ((obj.id, decided) for obj, decided in zip(self.objects, self.decided, strict=True))
        return chain(of_objects, self.works) if self.works else of_objects

    @property
    def pressed(self) -> frozenset[ObjectId]:
        """The objects that budgets count or hold."""
        held = (held.object for held in self.held)
        return self.disrupted.union(self.asked, held) if self.held or self.asked else self.disrupted


def read_summaries(kept_summaries: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, Summary]]:
    """Yield summaries with their names. Raises sqlite3.DatabaseError if one is damaged."""
    return ((name, _summary(kept(StoredSummary, data))) for name, data in kept_summaries)


def _summary(stored_summary: StoredSummary) -> Summary:
    objects, decided = list[Object](), list[Mapping[Path, Decision]]()
    for stored_object in stored_summary.objects:
        id_ = ObjectId(*map(intern, stored_object.id))
        objects.append(Object(id_, body_of(stored_object), ()))
        decided.append(decisions_of(stored_object._replace(id=id_)))
    works = tuple(
        (id_ := ObjectId(*stored_object.id), decisions_of(stored_object._replace(id=id_)))
        for stored_object in stored_summary.works
    )
    disrupted, asked = frozenset(stored_summary.disrupted) or _NONE, frozenset(stored_summary.asked) or _NONE
    return Summary(tuple(objects), tuple(decided), stored_summary.held, disrupted, asked, works)


_NONE: Final[frozenset[ObjectId]] = frozenset()
_NOTHING: Final[Files] = {}


@dataclass
class _Gathered:
    """The collected facts of one neighbourhood."""

    ids: set[ObjectId] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    files: set[File] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    horizons: list[datetime] = field(default_factory=list)
    pulses: list[datetime] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    written: list[WrittenFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KeptNeighbourhoods:
    """The records of a run's neighbourhoods, and the `loose` findings of none. `of` has each object's neighbourhood.
    `steps` are the records of steps that it took, of all objects that take steps if `all_steps`."""

    records: tuple[NeighbourhoodRecord, ...]
    loose: tuple[Finding, ...]
    of: Mapping[ObjectId, str] = field(default_factory=dict)
    steps: Mapping[str, bytes] = field(default_factory=dict)
    all_steps: bool = False

    @property
    def totals(self) -> Counter[str]:
        """Their totals together."""
        totals: Counter[str] = Counter()
        for record in self.records:
            totals.update(record.totals)
        return totals


def keep(
    fleet: FleetWithPolicies,
    terms: Terms | None,
    now: datetime,
    findings: Iterable[Finding],
    *,
    there: Sequence[Part],
    written: Files = _NOTHING,
    failed: Iterable[Failed] = (),
    priced: bool = True,
    object_format: str = SHA1,
) -> KeptNeighbourhoods:
    """Return the records of everything that a run evaluated; `terms` is None if nothing was decided.

    `there` are the parts that were in files before, `written` the files that it writes or removes, with the object ids
    that a repository of this format gives them. `failed` expressions are recorded by object. `priced`: see
    `muster.rules.given.GivenTerms`.
    """
    gathered_by_neighbourhood: defaultdict[str, _Gathered] = defaultdict(_Gathered)
    view = fleet.looked_at()
    where = neighbourhood_names(view)
    for name, neighbourhood in where.names.items():
        gathered_by_neighbourhood[neighbourhood].names.add(name)
    for id_, neighbourhood in where.of.items():
        gathered_by_neighbourhood[neighbourhood].ids.add(id_)
        if default_neighbourhood(id_) != neighbourhood:
            gathered_by_neighbourhood[neighbourhood].names.add(str(id_))
    neighbourhoods_of_files = _files(fleet, where, there, gathered_by_neighbourhood)
    _outcomes(fleet, now, where.of, gathered_by_neighbourhood)
    for failure in failed:
        gathered_by_neighbourhood[where.of[failure.object]].failed.append(failure)
    loose = []
    for finding in findings:
        if finding.code in OF_FAILURES:
            continue
        neighbourhood_ = _neighbourhood_of(finding, where.of, neighbourhoods_of_files)
        if neighbourhood_ is None:
            loose.append(finding)
        else:
            gathered_by_neighbourhood[neighbourhood_].findings.append(finding)
    for path, text in written.items():
        for neighbourhood in neighbourhoods_of_files.get((path, ""), ()):
            gathered = gathered_by_neighbourhood[neighbourhood]
            again = text is None or gathered.findings or not gathered.ids.isdisjoint(fleet.broken)
            blob = "" if again or text is None else object_id("blob", text.encode(), object_format)
            gathered.written.append(WrittenFile(path, blob))
    given, lonely = _given(terms, priced=priced), None if terms else _orphans(fleet)
    made = (
        _neighbourhood(fleet, terms, given, name, gathered, lonely)
        for name, gathered in sorted(gathered_by_neighbourhood.items())
    )
    steps = {str(id_): record.data for id_, record in (terms.about(StepRecord) if terms else {}).items()}
    return KeptNeighbourhoods(tuple(made), tuple(loose), where.of, steps, all_steps=fleet.beyond.asked)


def _files(
    fleet: FleetWithPolicies,
    where: NeighbourhoodNames,
    there: Sequence[Part],
    gathered_by_neighbourhood: defaultdict[str, _Gathered],
) -> dict[tuple[str, str], set[str]]:
    """Add every file to the neighbourhoods with objects in it; return these by file."""
    standing, names = fleet.beyond.standing, where.names
    by_file: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    context: set[tuple[str, str]] = set()
    read, reads = fleet.read.parts, fleet.compiled.reads
    parts = ((part.id, part.source.path, part.source.ref) for part in (read if there is read else (*read, *there)))
    derived = ((id_, derived_path(id_, fleet.settings.shards), "") for id_ in fleet.texts)
    for id_, path, ref in (*parts, *derived):
        if id_ in standing:
            continue
        neighbourhood = where.of.get(id_)
        if not neighbourhood:
            neighbourhood = names.get(default := default_neighbourhood(id_), default)
        by_file[path, ref].add(neighbourhood)
        if CSR.has(id_) and id_ not in where.of:  # about a missing request, which may come back elsewhere
            gathered_by_neighbourhood[neighbourhood].names.add(str(id_))
        if ref:
            cluster = cluster_of(ref)
            by_file[path, ref].add(names.get(cluster, cluster))
        if kind_of(id_) in CONTEXT or reads.has(id_):
            context.add((path, ref))
    for id_, path in _foreign(fleet):
        by_file[path, ""].add("")
        if reads.has(id_):
            context.add((path, ""))
    for id_ in fleet.texts.keys() - standing:
        for path in recorded_files(fleet.decisions(id_)):
            by_file[path, ""].add(where.of[id_])
    for key, neighbourhoods_in_file in by_file.items():
        for neighbourhood in neighbourhoods_in_file:
            gathered_by_neighbourhood[neighbourhood].names.add(neighbourhood)
            gathered_by_neighbourhood[neighbourhood].files.add(File(*key, context=key in context))
    return by_file


def _foreign(fleet: FleetWithPolicies) -> Iterator[tuple[ObjectId, str]]:
    """Yield the objects of unknown kinds that policies read or match, with their files: clusters share them."""
    reads = fleet.compiled.reads
    if fleet.beyond.asked:
        for document in fleet.read.foreign_objects:
            if reads.foreign or reads.has(document.id):
                yield document.id, document.source.path


def _outcomes(
    fleet: Fleet, now: datetime, of: Mapping[ObjectId, str], gathered_by_neighbourhood: Mapping[str, _Gathered]
) -> None:
    standing = fleet.beyond.standing
    for id_, decisions in fleet.decided.items():
        if id_ not in standing:
            gathered_by_neighbourhood[of[id_]].horizons.extend(
                d.horizon for d in decisions.values() if d.horizon is not None
            )
    for held in fleet.held:
        if held.object not in standing:
            gathered = gathered_by_neighbourhood[of[held.object]]
            gathered.held.append(held)
            gathered.horizons.extend([held.horizon] if held.horizon else [])
    for wake in fleet.wakes:
        # What is not derived now, such as a score without a value, is woken with its cluster.
        neighbourhood = of.get(wake.object, wake.object.namespace or None)
        if neighbourhood is not None and neighbourhood in gathered_by_neighbourhood and wake.object not in standing:
            gathered = gathered_by_neighbourhood[neighbourhood]
            (gathered.pulses if wake.pulse else gathered.horizons).append(wake.horizon)
    for pulse in fleet.pulses:
        gathered_by_neighbourhood[of[pulse.object]].pulses.append(now)  # due until it is published


def _neighbourhood_of(
    finding: Finding, of: Mapping[ObjectId, str], by_file: Mapping[tuple[str, str], set[str]]
) -> str | None:
    """The neighbourhood of a finding: that of its file, or of its object if the file has several; None for none."""
    ref, colon, path = finding.file.rpartition(":")
    neighbourhoods = (
        by_file.get((path, ref) if colon else (finding.file, "")) or by_file.get((finding.file, "")) or set()
    )
    neighbourhood = of.get(finding.object) if finding.object is not None else None
    if finding.file and not neighbourhoods:
        return None
    return (
        neighbourhood
        if neighbourhood is not None and (neighbourhood in neighbourhoods or not neighbourhoods)
        else min(neighbourhoods, default=None)
    )


def _orphans(fleet: Fleet) -> frozenset[ObjectId]:
    from muster.rules.checks.of_clusters import orphans  # only a check asks

    return frozenset(obj.id for obj in orphans(fleet))


def _neighbourhood(
    fleet: Fleet,
    terms: Terms | None,
    given: "GivenTerms | None",
    name: str,
    gathered: _Gathered,
    lonely: frozenset[ObjectId] | None,
) -> NeighbourhoodRecord:
    """The record of a neighbourhood; in a check, with what references to it and from it need of the rest."""
    ids = gathered.ids
    sound = [fleet.objects[id_] for id_ in ids if id_ in fleet.objects and id_ not in fleet.broken]
    shared = name == "" or not all(kind_of(id_) in OF_CLUSTERS for id_ in ids)
    troubled = not ids.isdisjoint(fleet.broken)
    read = [] if shared or troubled else sorted(read_by_others(fleet, sound), key=lambda obj: obj.id)
    asked = _asked(terms) if terms is not None else set[ObjectId]()
    summary = encode(
        StoredSummary(
            tuple(stored(obj.id, obj.body, fleet.decisions(obj.id)) for obj in read),
            tuple(sorted(gathered.held, key=repr)),
            tuple(sorted(terms.of(Disrupted).clusters & ids)) if terms else (),
            tuple(sorted(asked & ids)),
            () if shared or troubled else tuple(stored(id_, {}, decided) for id_, decided in derived_works(fleet, ids)),
        )
    )
    either = [*gathered.horizons, *gathered.pulses]
    return NeighbourhoodRecord(
        name,
        frozenset(gathered.names),
        frozenset(gathered.files),
        shared=shared,
        troubled=troubled,
        due=_second(earliest(*either)),
        settled=_second(earliest(*gathered.horizons)),
        digest=digest(summary),
        summary=summary,
        given="" if given is None else given.about(read, (fleet.decisions(obj.id) for obj in read), asked),
        totals=_totals(fleet, ids, sound, gathered, lonely),
        findings=tuple(sorted(gathered.findings, key=Finding.sort_key)),
        last_reports=last_reports(fleet, ids),
        failures=[failure_row(failure, in_order(failure)) for failure in gathered.failed],
        written=gathered.written,
    )


def _given(terms: Terms | None, *, priced: bool) -> "GivenTerms | None":
    if terms is None:
        return None
    from muster.rules.given import GivenTerms  # a check decides nothing

    return GivenTerms(terms, priced=priced)


def _asked(terms: Terms) -> set[ObjectId]:
    """The clusters for which a disruptive effect was asked."""
    from muster.rules.effects.allowance import Allowance  # a check decides nothing

    return terms.of(Allowance).asked


def _totals(
    fleet: Fleet,
    ids: Collection[ObjectId],
    sound: Iterable[Object],
    gathered: _Gathered,
    lonely: frozenset[ObjectId] | None,
) -> dict[str, int]:
    """What the neighbourhood adds to the totals of the fleet."""
    names, types = [_kind_total(obj.kind) for obj in sound], set[str]()
    for id_ in ids:
        types.update(fleet.reported(id_), fleet.conditions(id_))
        if lonely is not None or id_ in fleet.broken:  # nothing is decided, so what was derived stays
            types.update(fleet.conditions_before(id_))
        if ADAPTER_REPORT.has(id_):
            names.append("adapters")
        if id_ in fleet.objects:
            names.append("objects")
        if id_ in fleet.texts:
            names.append("derived")
        if is_cluster(id_):
            names.extend(rollout_totals(fleet, id_))
            if id_ in fleet.objects:
                names.append(status_total(*status_of(fleet, id_)))
    totals = Counter(names)
    if gathered.held:
        totals["held"] = len(gathered.held)
    totals.update(f"type {type_}" for type_ in types)
    if lonely is not None:
        objects = (fleet.objects[id_] for id_ in ids if id_ in fleet.objects)
        totals.update(f"{NAME}{name}" for name in names_in_use(objects))
        totals[ORPHANS] = len(lonely.intersection(ids))
    return dict(sorted((+totals).items()))


@cache
def _kind_total(kind: Kind) -> str:
    """The name of the total that counts the objects of a kind."""
    return f"kind {kind_name(kind)}"


def kind_name(kind: Kind) -> str:
    """Return a kind's name in totals."""
    return f"{kind.group}/{kind.name}"


def _second(instant: datetime | None) -> int | None:
    return None if instant is None else max(0, int(instant.timestamp()))
