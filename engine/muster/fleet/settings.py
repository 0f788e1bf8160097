"""The Fleet object's settings, with their defaults: one typed view of one kind.

A Fleet with an error in it is not obeyed: what the last run went by stays in force, which the Fleet's derived part
remembers, and where nothing is remembered the defaults are. Receivers of pulses are never remembered: while the Fleet
is broken nothing leaves the repository.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import FLEET
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet import messages
from muster.fleet.objects import Object
from muster.fleet.schemas import is_sound

#: Where the derived part of the Fleet remembers what the last run went by.
RECORD = ("status", "muster", "settings")


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind: Fleet` says. `spec` is its spec as written, which policies see as `fleet`.

    `obeyed`: whether that is the Fleet's own word; not where it has an error, and what was in force before stands.
    """

    spec: Tree
    obeyed: bool = True

    def get(self, *path: str) -> Tree:
        """The value at `path` of the spec; None where the fleet does not say."""
        return dig(self.spec, *path)

    def _count(self, *path: str) -> int | None:
        value = self.get(*path)
        return value if isinstance(value, int) and value > 0 else None

    @property
    def shards(self) -> int:
        """Into how many folders each kind's derived files are spread: see `locations.SHARDS`; 1 is flat."""
        return self._count("derived", "shards") or 1

    @property
    def most_commits(self) -> int | None:
        """How many commits an hour muster makes; None for as many as there are."""
        return self._count("derived", "maxCommitsPerHour")

    @property
    def expression_cost(self) -> int:
        """The units that one evaluation of one expression may cost, estimated and counted; and at the most what all
        that a policy asks of one object may cost."""
        return self._count("limits", "expressionCost") or 10_000_000

    @property
    def policy_cost(self) -> int:
        """The units that one policy may cost in one pass over all its objects."""
        return self._count("limits", "policyCost") or 500_000_000

    @property
    def passes(self) -> int:
        """How many passes a reconcile makes at one instant before it says that the fleet does not come to rest."""
        return self._count("limits", "passes") or 100

    @property
    def skip_ci(self) -> bool:
        """Whether muster's commits carry `[skip ci]`."""
        return self.get("commit", "skipCI") is True

    @property
    def no_execute(self) -> bool:
        """Whether ClusterTaintPolicies may add NoExecute taints, which move work off clusters."""
        return self.get("taints", "allowNoExecute") is True

    @property
    def auto_accept(self) -> bool:
        """Whether clusters are accepted of which no person has said yes or no."""
        return self.get("registration", "autoAccept") is True

    @property
    def certificates_required(self) -> bool:
        """Whether a cluster joins only with a signed certificate."""
        return "required" in (self.get("agents", "certificates"), self.get("agents", "signing"))

    @property
    def reconciled(self) -> bool:
        """Whether HyperFleet's conditions are called as its API calls them today, and not as the seed does."""
        return bool(self.get("hyperfleet", "vocabulary") == "reconciled")

    def policy_params(self, policy: str) -> dict[str, Tree]:
        """The parameters that the fleet sets for a policy of that name; they win over the policy's own."""
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
    """Return the settings in force, and what is wrong with the Fleet as far as it is about them.

    `obeying` False: the Fleet has an error that others have found. `unidentified`: a file could not be read that may
    hold it.
    """
    fleets = [obj for id_, obj in sorted(objects.items()) if FLEET.has(id_)]
    if len(fleets) == 1 and obeying and fleets[0].id not in broken and is_sound(FLEET, fleets[0].body):
        return Settings(fleets[0].spec), []
    recorded = [id_ for id_ in sorted(previous) if FLEET.has(id_)]
    if not fleets and not any(map(FLEET.has, broken)) and not (unidentified and recorded):
        return DEFAULTS, []
    findings = []
    for extra in fleets[1:]:
        findings.append(messages.second_fleet(extra.parts[0], fleets[0].parts[0]))
    known = next((spec for id_ in recorded if (spec := mapping_at(previous[id_], *RECORD))), {})
    findings.append(messages.fleet_not_obeyed(fleets[0].parts if fleets else (), remembered=bool(known)))
    return Settings(known, obeyed=False), findings


def recorded(settings: Settings) -> Tree:
    """What is remembered of settings: all but the receivers of pulses."""
    pulses = {name: value for name, value in mapping_at(settings.spec, "pulses").items() if name != "sinks"}
    rest = {name: value for name, value in settings.spec.items() if name != "pulses"}
    return {**rest, **({"pulses": pulses} if pulses else {})}
