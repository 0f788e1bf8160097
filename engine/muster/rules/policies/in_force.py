"""What is in force for all objects of a fleet: settings, compiled policies, and cost limits."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, CLUSTERS, Kind
from muster.dataclass import dataclass
from muster.fleet.faults import attempt
from muster.fleet.fleet import Fleet
from muster.fleet.leases import grace_factor
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.rules.policies.lazy import Witness, cost_share

if TYPE_CHECKING:
    from muster.rules.calendars.calendar import Calendar
    from muster.rules.policies.wakes import Wakes

P = TypeVar("P")


class ReadObject(NamedTuple):
    """An object that admission policies read; without a name, all of its kind."""

    group: str
    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class PolicyReads:
    """What admission policies read besides the objects that they judge: parameters, namespaces, and definitions of
    kinds (`muster.rules.admission.reads`). `foreign`: they can match objects of kinds that muster does not know.
    `digest`: of the content of these `objects`."""

    objects: tuple[ReadObject, ...] = ()
    foreign: bool = False
    digest: str = ""

    def has(self, id_: ObjectId) -> bool:
        """Do policies read an object?"""
        kind = id_.group, id_.kind
        return any((read.group, read.kind) == kind and read.name in ("", id_.name) for read in self.objects)

    def are_those_of(self, other: "PolicyReads") -> bool:
        """Do the same objects count, whatever their content?"""
        return (self.objects, self.foreign) == (other.objects, other.foreign)


NOTHING_READ = PolicyReads()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The valid policies of a fleet by type; invalid ones are in `findings` and decide nothing. Misconfigured
    Placements are included. `reads`: what admission policies read."""

    policies: Mapping[type, tuple[Any, ...]]
    findings: tuple[Finding, ...] = ()
    reads: PolicyReads = NOTHING_READ

    def of(self, sort: type[P]) -> tuple[P, ...]:
        """Return the policies of a type, in the order in which they decide."""
        return self.policies.get(sort, ())

    def all_of(self, *sorts: type) -> tuple[Any, ...]:
        """Return the policies of several types."""
        return tuple(chain.from_iterable(self.policies.get(sort, ()) for sort in sorts))


NOTHING = Compiled({})


def compile_each(
    objects: Iterable[Object], compile_: Callable[[Object], tuple[P | None, list[Finding]]], findings: list[Finding]
) -> Iterator[tuple[Object, P]]:
    """Yield the objects that compile, with the result; findings go to `findings`. One on which muster fails counts as
    not compiled."""
    for obj in objects:
        done = attempt(obj, partial(compile_, obj))
        compiled, object_findings = (None, [done]) if isinstance(done, Finding) else done
        findings.extend(object_findings)
        if compiled is not None:
            yield obj, compiled


def _wakes() -> "Wakes":
    from muster.rules.policies.wakes import Wakes  # a check decides nothing

    return Wakes()


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings and policies in force.

    `grace`: the lease durations that a cluster may be silent. `counts`: sound objects of each kind in the fleet.
    `witness`: records evaluations of expressions. `wakes`: collects what they ask of time.
    """

    settings: Settings
    compiled: Compiled
    grace: int
    counts: Mapping[Kind, int]
    witness: "Witness | None" = None
    wakes: "Wakes" = field(default_factory=_wakes)
    _shares: dict[tuple[Kind, ...], int] = field(default_factory=dict)

    @property
    def calendars_by_name(self) -> "Mapping[str, Calendar]":
        """The sound Calendars."""
        from muster.rules.calendars.calendar import Calendar  # few fleets have any

        return {calendar.id.name: calendar for calendar in self.compiled.of(Calendar)}

    @property
    def calendars(self) -> Mapping[str, str]:
        """The Calendars as text, by name, for expressions."""
        return {name: calendar.text for name, calendar in self.calendars_by_name.items()}

    @property
    def shares(self) -> list[int]:
        """The shares that policies may have, by the kinds of their objects."""
        return [self.share(kinds) for kinds in (ALL, CLUSTERS, *((kind,) for kind in ALL))]

    def share(self, kinds: tuple[Kind, ...]) -> int:
        """The cost units that a policy over objects of these kinds may take for each."""
        share = self._shares.get(kinds)
        if share is None:
            settings, count = self.settings, sum(self.counts.get(kind, 0) for kind in kinds)
            share = self._shares[kinds] = cost_share(settings.policy_cost, settings.expression_cost, count)
        return share


@dataclass(frozen=True)
class FleetWithPolicies(Fleet):
    """A fleet and its compiled policies (`muster.rules.compiling`). `witness`: records evaluations of expressions."""

    compiled: Compiled = NOTHING
    witness: "Witness | None" = None

    @classmethod
    def by(cls, compiled: Compiled, fleet: Fleet) -> "FleetWithPolicies":
        """Return the fleet with these policies."""
        return cls(**{field.name: getattr(fleet, field.name) for field in fields(Fleet)}, compiled=compiled)

    @property
    def rules(self) -> InForce:
        """What is in force for all objects."""
        return InForce(self.settings, self.compiled, grace_factor(self), self.counts(), self.witness)
