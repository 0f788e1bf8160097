"""The Fleet object's settings with their defaults.

If the Fleet is invalid, the settings of the last run stay in force, as its derived part records them, or else the
defaults. Pulse sinks are never recorded: while the Fleet is invalid, nothing is published.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import FLEET
from muster.data.times import try_span
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet import messages
from muster.fleet.objects import Object
from muster.fleet.schemas import is_sound

#: The Fleet's derived part records the settings of the last run.
RECORD = ("status", "muster", "settings")
_RECORD_KEPT: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `kind: Fleet`. `spec` is its spec as written, which policies see as `fleet`.

    `obeyed`: False if the Fleet is invalid and earlier settings are in force.
    """

    spec: Tree
    obeyed: bool = True

    def get(self, *path: str) -> Tree:
        """The value at `path` of the spec, or None."""
        return dig(self.spec, *path)

    def _count(self, *path: str) -> int | None:
        value = self.get(*path)
        return value if isinstance(value, int) and value > 0 else None

    @property
    def shards(self) -> int:
        """Number of folders for each kind's derived files: see `locations.SHARDS`; 1 is flat."""
        return self._count("derived", "shards") or 1

    @property
    def most_commits(self) -> int | None:
        """Commits that muster may make per hour; None for no limit."""
        return self._count("derived", "maxCommitsPerHour")

    @property
    def record_kept(self) -> timedelta:
        """How long the records of runs are kept; zero: none is made."""
        span = try_span(str(self.get("record", "keep") or ""))
        return _RECORD_KEPT if span is None else span

    @property
    def expression_cost(self) -> int:
        """Cost units that one evaluation of an expression may take, estimated and counted; also the limit for all of a
        policy's expressions on one object."""
        return self._count("limits", "expressionCost") or 10_000_000

    @property
    def policy_cost(self) -> int:
        """Cost units that a policy may take in one pass over all its objects."""
        return self._count("limits", "policyCost") or 500_000_000

    @property
    def passes(self) -> int:
        """Passes of a reconcile at one instant before it reports that the fleet does not settle."""
        return self._count("limits", "passes") or 100

    @property
    def skip_ci(self) -> bool:
        """Do muster's commits carry `[skip ci]`?"""
        return self.get("commit", "skipCI") is True

    @property
    def no_execute(self) -> bool:
        """May ClusterTaintPolicies add NoExecute taints, which move work off clusters?"""
        return self.get("taints", "allowNoExecute") is True

    @property
    def auto_accept(self) -> bool:
        """Are clusters without a person's decision accepted?"""
        return self.get("registration", "autoAccept") is True

    @property
    def certificates_required(self) -> bool:
        """Does a cluster join only with a signed certificate?"""
        return "required" in (self.get("agents", "certificates"), self.get("agents", "signing"))

    @property
    def signing_required(self) -> bool:
        """Does a report count only if its agent signed it?"""
        return bool(self.get("agents", "signing") == "required")

    @property
    def reconciled(self) -> bool:
        """Do HyperFleet's conditions have today's names instead of the seed's?"""
        return bool(self.get("hyperfleet", "vocabulary") == "reconciled")

    @property
    def outputs(self) -> frozenset[str]:
        """Kinds that muster writes besides, by the names of their CustomResourceDefinitions."""
        return frozenset(self.get("outputs") or ())

    def is_foreign(self, group: str | None) -> bool:
        """Does the fleet name this API group as another program's? `*.example.com` names all groups that end so."""
        if group is None:
            return False
        named = self.get("foreign") or ()
        return group in named or any(pattern[:2] == "*." and group.endswith(pattern[1:]) for pattern in named)

    def policy_params(self, policy: str) -> dict[str, Tree]:
        """The parameters that the fleet sets for a policy; they win over the policy's own."""
        value = self.get("policyParams", policy)
        return value if isinstance(value, dict) else {}


DEFAULTS = Settings(spec={})


def settings_of(
    objects: Mapping[ObjectId, Object],
    previous: Mapping[ObjectId, Tree],
    broken: Collection[ObjectId],
    *,
    unidentified: bool,
    obeying: bool,
) -> tuple[Settings, list[Finding]]:
    """Return the settings in force, and findings about the Fleet.

    `obeying` False: a finding elsewhere says that the Fleet is invalid. `unidentified`: an unreadable file may hold it.
    """
    fleets = [obj for id_, obj in sorted(objects.items()) if FLEET.has(id_)]
    if len(fleets) == 1 and obeying and fleets[0].id not in broken and is_sound(FLEET, fleets[0].body):
        return Settings(fleets[0].spec), []
    to_record = [id_ for id_ in sorted(previous) if FLEET.has(id_)]
    if not fleets and not any(map(FLEET.has, broken)) and not (unidentified and to_record):
        return DEFAULTS, []
    findings = []
    for extra in fleets[1:]:
        findings.append(messages.second_fleet(extra.parts[0], fleets[0].parts[0]))
    recorded = next((spec for id_ in to_record if (spec := mapping_at(previous[id_], *RECORD))), {})
    findings.append(messages.invalid_fleet(fleets[0].parts if fleets else (), remembered=bool(recorded)))
    return Settings(recorded, obeyed=False), findings


def to_record(settings: Settings) -> Tree:
    """The settings to record: all but the pulse sinks. Empty if, and only if, there are none at all."""
    pulses = {name: value for name, value in mapping_at(settings.spec, "pulses").items() if name != "sinks"}
    rest = {name: value for name, value in settings.spec.items() if name != "pulses"}
    return {**rest, **({"pulses": pulses} if pulses or (settings.spec.get("pulses") and not rest) else {})}
