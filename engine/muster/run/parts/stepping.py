"""Which Rollouts and sets of works take their next step because clusters made progress.

What a cluster does in a Rollout, and how its works are, is in its summary; but only the Rollout and the works' set read
it. So while nothing else in summaries changes, no other wide stage runs, and these take their steps from the records of
the last run (`muster.rules.stages.StepRecord`), each with the clusters that changed.
"""

from collections.abc import Iterable, Iterator, Mapping

from muster.data.decision import Decision, Path
from muster.data.kinds import MANIFEST_WORK, ROLLOUT
from muster.data.tree import dig, mapping_at
from muster.fleet.projected import PROJECTIONS
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.projections.policy import Projection
from muster.rules.stages import ROLLOUTS
from muster.rules.works.work import OWNER, owner_of
from muster.run.neighbourhood_records import KeptNeighbourhoods, Summary, read_summaries
from muster.run.parts.part import FleetPart

_LABELS: Path = ("metadata", "labels")


class _MoreChanged(Exception):  # noqa: N818 - wide stages run
    """Something changed that others may read."""


def progressing(part: FleetPart, kept: KeptNeighbourhoods, fleet: FleetWithPolicies) -> frozenset[str] | None:
    """Return the neighbourhoods of the objects in which the clusters of a near part made progress; None if wide stages
    have to run: something else that others may read changed, an object has no record, or Projections read progress."""
    after = {record.name: record for record in kept.records}
    if after.keys() != {record.name for record in part.known.values()}:
        return None
    differing = {
        id_: after[record.name] for id_, record in part.known.items() if after[record.name].digest != record.digest
    }
    if not differing:
        return frozenset()
    before = dict(read_summaries(part.state.summaries_of(differing)))
    try:
        progressed = frozenset(
            name
            for neighbourhood, summary in read_summaries((record.name, record.summary) for record in differing.values())
            for name in _progressed(before[neighbourhood], summary)
        )
    except _MoreChanged:
        return None
    read_by_projections = any(not projection.source.of_cluster for projection in fleet.compiled.of(Projection))
    if progressed and (read_by_projections or part.state.steps(progressed).keys() != progressed):
        return None
    return progressed


def _progressed(before: Summary, after: Summary) -> Iterator[str]:
    """Yield the names of the objects in which a cluster's progress differs. Raises _MoreChanged."""
    if [(obj.id, obj.body) for obj in before.objects] != [(obj.id, obj.body) for obj in after.objects]:
        raise _MoreChanged
    if (before.held, before.disrupted, before.asked) != (after.held, after.disrupted, after.asked):
        raise _MoreChanged
    for was, now in zip(before.decided, after.decided, strict=True):
        for path in _differing(was, now):
            yield from _of_path(path, was.get(path), now.get(path))
    works = dict(before.works), dict(after.works)
    for id_ in sorted(works[0].keys() | works[1].keys()):
        was, now = (decided.get(id_, {}) for decided in works)
        if any(_differing(was, now)):
            if not MANIFEST_WORK.has(id_):
                raise _MoreChanged
            yield from _owners((was, now))


def _differing(was: Mapping[Path, Decision], now: Mapping[Path, Decision]) -> Iterator[Path]:
    return (path for path in sorted(was.keys() | now.keys(), key=repr) if was.get(path) != now.get(path))


def _of_path(path: Path, was: Decision | None, now: Decision | None) -> Iterator[str]:
    if path[:-1] == ROLLOUTS:
        namespace, _, name = str(path[-1]).partition("/")
        yield str(ROLLOUT.id(name, namespace))
    elif path[:-1] != PROJECTIONS or was is None or now is None or dig(was.value, "file") != dig(now.value, "file"):
        raise _MoreChanged


def _owners(decided: Iterable[Mapping[Path, Decision]]) -> Iterator[str]:
    for decisions in decided:
        labels = decisions.get(_LABELS)
        owner = mapping_at(labels.value if labels is not None else None).get(OWNER)
        if isinstance(owner, str):
            yield str(owner_of(owner))
