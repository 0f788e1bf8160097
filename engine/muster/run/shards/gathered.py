"""The answers of a full run's shards: collected while workers are busy, then joined with the answer for the rest."""

from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from sys import intern

from muster.data.decision import Memory, Pulse
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.dataclass import dataclass
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pulses.policy import PulsePolicy
from muster.run.answer import RunAnswer
from muster.run.memo.provisional import Provisional, StoredFiles, StoredText, Texts
from muster.run.memo.records import RunRecord
from muster.run.neighbourhood_records import Summary, read_summaries
from muster.run.question import WholeNeeded
from muster.run.shards.shard import Answered, Shard, SharedContext, number_of
from muster.run.transition import Rows, TransitionsByObject, by_object


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """What one neighbourhood's answer has besides its record: see `muster.run.shards.shard.NeighbourhoodAnswer`.

    A large fleet has one for each cluster when it is derived for the first time.
    """

    later: int | None
    files: tuple[StoredText, ...]
    changes: tuple[tuple[ObjectId, Rows], ...]
    pulses: tuple[Pulse, ...]


class Gathered:
    """The collected answers of shards."""

    def __init__(self, common: SharedContext) -> None:
        self.common, self.kept = common, Provisional()
        self.loose: list[Finding] = []
        self.odd: set[str] = set()
        self.summaries: dict[str, Summary] = {}
        self.shards = 0
        self.texts = Texts()
        self._totals: Counter[str] = Counter()
        self._outcomes: dict[int, ShardOutcome] = {}
        self._again: set[int] = set()
        self._names: dict[str, int] = {}
        self._ids, self._neighbourhoods = array("Q"), array("L")
        self._sent: dict[int, set[int]] = {}

    def take(self, shard: Shard, answered: Answered) -> None:
        """Add a shard's answer."""
        self.shards += 1
        self.loose.extend(answered.loose)
        self.odd |= answered.odd
        numbers = self.kept.add(local.record for local in answered.neighbourhoods)
        # Here rather than at the end: meanwhile workers are busy.
        summaries = dict(
            read_summaries((intern(local.record.name), local.record.summary) for local in answered.neighbourhoods)
        )
        self.summaries |= summaries
        same = {obj.id: obj.id for summary in summaries.values() for obj in summary.objects}
        published = {number_of(key.object) for key in shard.published}
        for number, local in zip(numbers, answered.neighbourhoods, strict=True):
            self._totals.update(local.record.totals)
            self._ids.extend(local.ids)
            self._neighbourhoods.extend([number] * len(local.ids))
            if published:
                self._sent[number] = published.intersection(local.ids)
            if local.again:
                self._again.add(number)
            for name in map(intern, local.record.names):
                if (other := self._names.setdefault(name, number)) != number:
                    self._again.update((number, other))
            if not local.silent or local.later != local.record.due:
                rows = tuple((same.get(id_, id_), changed) for id_, changed in by_object(local.changes))
                self._outcomes[number] = ShardOutcome(local.later, self.texts.put(local.files), rows, local.pulses)

    def again(self, published: Memory) -> set[int]:
        """Return the neighbourhoods to decide again: a part of them, or of their earlier pulses, was in another
        shard."""
        order = sorted(range(len(self._ids)), key=self._ids.__getitem__)
        for left, other in pairwise(order):
            if self._ids[left] == self._ids[other]:
                self._again.update((self._neighbourhoods[left], self._neighbourhoods[other]))
        if sent := {number_of(key.object) for key in published}:
            for id_, neighbourhood in zip(self._ids, self._neighbourhoods, strict=True):
                if id_ in sent and id_ not in self._sent.get(neighbourhood, ()):
                    self._again.add(neighbourhood)
        return set(self._again)

    def facts(self) -> RunRecord:
        """Return what is known of the fleet as a whole, as a run's record."""
        commit, floor = self.common.commit or "", self.common.lease_floor
        return RunRecord(commit, totals=dict(self._totals), loose=tuple(self.loose), lease_floor=floor)

    def outcomes_but(self, gone: Collection[int]) -> list[ShardOutcome]:
        """Return the outcomes of all neighbourhoods except those that were decided again, and record when they are
        due."""
        left = {number: local for number, local in self._outcomes.items() if number not in gone}
        self.kept.put_due((number, local.later) for number, local in left.items())
        return list(left.values())


def joined(done: RunAnswer, gathered: Gathered, outcomes: Sequence[ShardOutcome], looked_at: str) -> RunAnswer:
    """Return the answer for the whole fleet."""
    settled, files = done.settled, {file.path: file for file in gathered.texts.put(done.settled.files)}
    for local in outcomes:
        for file in local.files:
            if files.setdefault(file.path, file) is not file:
                raise WholeNeeded("a derived file holds parts of several neighbourhoods")
    rows = chain(by_object(settled.changes), *(local.changes for local in outcomes))
    last, pulses = settled.last, [pulse for local in outcomes for pulse in local.pulses]
    if pulses:
        fleet = replace(last.fleet, pulses=_in_order(last.fleet, [*last.fleet.pulses, *pulses]))
        last = replace(last, fleet=fleet)
    settled = replace(
        settled,
        last=last,
        files=StoredFiles(gathered.texts, dict(sorted(files.items()))),
        changes=TransitionsByObject(rows),
    )
    return replace(done, settled=settled, looked_at=looked_at, rest=gathered.kept)


def _in_order(fleet: FleetWithPolicies, pulses: Sequence[Pulse]) -> tuple[Pulse, ...]:
    """Sort pulses as the stage does: by policy, the order of its target kinds, and object."""
    policies = {policy.id.name: (number, policy) for number, policy in enumerate(fleet.compiled.of(PulsePolicy))}

    def place(pulse: Pulse) -> tuple[int, int, ObjectId]:
        number, policy = policies[pulse.policy]
        return number, policy.target.kinds.index(kind_of(pulse.object)), pulse.object

    return tuple(sorted(pulses, key=place))
