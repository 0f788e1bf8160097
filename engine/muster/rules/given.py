"""What the stages of clusters are given of the rest of the fleet, as texts that runs compare.

As long as a cluster's own objects and this text are the same, its local stages decide the same. A `FleetTerm` says what
of it concerns which cluster, so that a budget that is exceeded in one region does not concern the others. A term that a
cluster's stages did not read has an empty text: it concerns the cluster in no case.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import zip_longest

from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.concerned import PoliciesByKind, concerning_all
from muster.rules.policies.in_force import InForce
from muster.rules.stages import Concerned, Concerns, FleetTerm, GoverningObjects, Terms


@dataclass(frozen=True)
class GivenTerms:
    """What a run's stages are given. `priced`: cost limits depend on the size of the fleet; in a shard they are the
    lowest that there are, and what needs more is decided elsewhere."""

    terms: Terms
    priced: bool = field(default=True, kw_only=True)

    @cached_property
    def text(self) -> str:
        """What every cluster is given."""
        rules = self.terms.of(InForce)
        shares = _digest(rules.shares) if self.priced else ""
        return f"{shares},{_digest(concerning_all(rules, self.terms.of(GoverningObjects)))}"

    def about(
        self, objects: Iterable[Object], decided: Iterable[Mapping[Path, Decision]], disrupted: Collection[ObjectId]
    ) -> str:
        """What the clusters among some objects are given, with what was decided about each.

        `disrupted`: those for which a disruptive effect was requested.
        """
        parts = [self.text]
        for cluster, decisions in zip(objects, decided, strict=True):
            concerned = Concerned(cluster, cluster.id in disrupted, decisions)
            for concerns in self._fleet_terms if is_cluster(cluster.id) else ():
                value = concerns(concerned)
                parts.append("" if value is None else _digest(value))
        return ",".join(parts)

    @cached_property
    def _fleet_terms(self) -> list[Concerns]:
        terms = (term for term in self.terms.passed.values() if isinstance(term, FleetTerm))
        policies = PoliciesByKind.of(self.terms.of(InForce).compiled, self.terms.of(GoverningObjects))
        return [policies.concerning, *(term.concerns() for term in sorted(terms, key=lambda term: type(term).__name__))]


def differs(before: str, now: str) -> bool:
    """Have the terms that stages read for the clusters changed?"""
    return before != now and any(
        text_before and text_before != text_now
        for text_before, text_now in zip_longest(before.split(","), now.split(","), fillvalue="")
    )


@lru_cache(1 << 12)
def _digest_of_text(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _digest(value: object) -> str:
    return _digest_of_text(repr(value))
