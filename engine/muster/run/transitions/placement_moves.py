"""Which clusters join and leave Placements in a run, and why: for commit messages and plans.

PlacementDecisions are chunks of at most 100 clusters; people care about the Placement.
"""

from collections.abc import Iterable, Iterator, Mapping

from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.rules.placements.shards import PLACEMENT_LABEL, clusters_of, left_path, previous_shards
from muster.run.facts import Fact
from muster.run.run import Settled
from muster.run.transition import Transition


@dataclass(frozen=True, slots=True)
class Derivation:
    """Derived parts by object, `before` the run and `after` it.

    `looked_at` are the objects that the run decided; all others are unchanged.
    """

    before: Mapping[ObjectId, Tree]
    after: Mapping[ObjectId, Tree]
    looked_at: frozenset[ObjectId]


def derivation_of(settled: Settled) -> Derivation:
    """Return the derived parts before and after a settled run."""
    first, last = settled.first.fleet, settled.last.fleet
    if not settled.rested and not last.decided:
        return Derivation(first.previous, first.previous, frozenset(first.previous))  # nothing is committed
    looked_at = frozenset({*first.previous, *last.previous, *last.decided} - last.beyond.standing)
    after = {id_: body for id_ in looked_at & last.decided.keys() if (body := decided_body(last, id_)) is not None}
    return Derivation({id_: body for id_, body in first.previous.items() if id_ in looked_at}, after, looked_at)


def decided_body(fleet: Fleet, id_: ObjectId) -> Tree:
    """Return the derived part of a decided object; None for none."""
    if fleet.texts.get(id_, "") is None:
        return fleet.previous[id_]  # its file stays
    return derived_body(id_, fleet.decisions(id_))


def placement_changes(fleet: Fleet) -> Iterator[Transition]:
    """Yield a change for every cluster that joins or leaves an existing Placement."""
    before = {id_: clusters_of(shards) for id_, shards in previous_shards(fleet).items()}
    after = _decided(fleet)
    for id_ in sorted({*before, *after}):
        old, new = before.get(id_, frozenset()), after.get(id_, frozenset())
        if id_ not in fleet.decided:
            continue
        for name in sorted(new - old):
            yield joined(id_, name)
        for name in sorted(old - new):
            yield left(fleet, id_, name)


def left(fleet: Fleet, id_: ObjectId, name: str) -> Transition:
    """A cluster leaves a Placement, with the reason if the fleet decided it."""
    decision = fleet.decisions(id_).get(left_path(name))
    return departed(id_, name, *((decision.because.text, decision.because.rule) if decision else ()))


def departed(id_: ObjectId, name: str, reason: str = "", rule: str = "") -> Transition:
    """A cluster leaves a Placement, for a known or an unknown reason."""
    sentence = f"cluster {name} left placement {id_.namespace}/{id_.name}{f' because {reason}' if reason else ''}"
    return Transition(
        id_, _chosen(name), Fact("cluster", name, note=reason, word="rescheduled", sentence=sentence), rule
    )


def joined(id_: ObjectId, name: str) -> Transition:
    """A cluster joins a Placement."""
    return Transition(id_, None, _chosen(name, f"cluster {name} joined placement {id_.namespace}/{id_.name}"))


def chosen(bodies: Iterable[tuple[ObjectId, Tree]]) -> Mapping[ObjectId, frozenset[str]]:
    """Return the clusters of each Placement, from the derived parts of PlacementDecisions."""
    placements: dict[ObjectId, set[str]] = {}
    for id_, body in bodies:
        if PLACEMENT_DECISION.has(id_) and (owner := dig(body, "metadata", "labels", PLACEMENT_LABEL)):
            entries = mappings_at(body, "status", "decisions")
            placements.setdefault(PLACEMENT.id(str(owner), id_.namespace), set()).update(
                str(entry.get("clusterName")) for entry in entries
            )
    return {id_: frozenset(names) for id_, names in placements.items()}


def _chosen(name: str, sentence: str = "") -> Fact:
    return Fact("cluster", name, "chosen", word="rescheduled", sentence=sentence)


def _decided(fleet: Fleet) -> Mapping[ObjectId, frozenset[str]]:
    ids = (id_ for id_ in fleet.decided if PLACEMENT_DECISION.has(id_))
    return chosen((id_, decided_body(fleet, id_)) for id_ in ids)
