"""What is derived of each object once a run has been carried out, as far as the run looked."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.run.settled import Settled


@dataclass(frozen=True, slots=True)
class Derivation:
    """Derived parts by object, as they stood `before` the run and as they are `after` it.

    `looked_at` are the objects that the run decided; of all others nothing is known but that they stand.
    """

    before: Mapping[ObjectId, Tree]
    after: Mapping[ObjectId, Tree]
    looked_at: frozenset[ObjectId]


def derivation_of(settled: Settled) -> Derivation:
    """Return what a run comes to where its passes rested."""
    first, last = settled.first.fleet, settled.last.fleet
    if not settled.rested and not last.decided:
        return Derivation(first.previous, first.previous, frozenset(first.previous))  # nothing is carried out
    looked_at = frozenset({*first.previous, *last.previous, *last.decided} - last.beyond.standing)
    after = {id_: body for id_ in looked_at & last.decided.keys() if (body := decided_body(last, id_)) is not None}
    return Derivation({id_: body for id_, body in first.previous.items() if id_ in looked_at}, after, looked_at)


def decided_body(fleet: Fleet, id_: ObjectId) -> Tree:
    """Return what is derived of an object that was decided; None for nothing."""
    if fleet.texts.get(id_, "") is None:
        return fleet.previous[id_]  # its file stands
    return derived_body(id_, fleet.decisions(id_))
