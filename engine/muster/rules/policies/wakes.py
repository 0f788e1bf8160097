"""When to evaluate each object again: the earliest instant at which anything that its policies asked of time changes.

It belongs to the evaluation, not to the decision that came of it: a policy that does not apply now, a rule whose taint
is held, and a decision that another one replaces would otherwise take their instant with them. Every expression of a
policy runs in a scope (`muster.rules.policies.scopes`), which says here what it is about; the pipeline collects the
instants after each stage. A stage has nothing to do, so none can lose one. An early instant costs one evaluation, a
late one would be a falsehood.
"""

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime

from muster import cel
from muster.data.ids import ObjectId
from muster.data.times import LAST
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Wakes:
    """Collects what the clocks of one run's stages record, by object. Clocks are compared by identity."""

    _about: dict[int, tuple[cel.Clock, ObjectId]] = field(default_factory=dict)
    _instants: dict[ObjectId, datetime] = field(default_factory=dict)

    def turn(self, clock: cel.Clock, about: ObjectId) -> None:
        """From now on, what this clock records is about this object."""
        before = self._about.get(id(clock))
        if before is not None:
            if before[1] is about:
                return
            self._note(*before)
        self._about[id(clock)] = (clock, about)

    def drain(self) -> Iterator[tuple[ObjectId, datetime]]:
        """Return each object's earliest instant since the last call, and forget them."""
        for clock, about in self._about.values():
            self._note(clock, about)
        instants = dict(self._instants)
        self._about.clear()
        self._instants.clear()
        return iter(instants.items())

    def _note(self, clock: cel.Clock, about: ObjectId) -> None:
        instant = clock.take_wake()
        if instant is not None and instant < self._instants.get(about, LAST):
            self._instants[about] = instant
