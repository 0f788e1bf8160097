"""Compiled ScorePolicies: which score of a cluster, and its value."""

from datetime import timedelta
from typing import Final

from muster import cel
from muster.data.codes import Code
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANAGED_CLUSTER, SCORE_POLICY
from muster.data.times import parse_duration
from muster.data.tree import At
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.failures import PolicyFailure
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind

#: Where the expression is.
AT: Final[At] = ("spec", "expression")
#: What the AddOnPlacementScore's CRD allows.
LOWEST, HIGHEST = -100, 100


@dataclass(frozen=True, slots=True)
class ScorePolicy(Policy):
    """Decides one score in the AddOnPlacementScore `resource` of each cluster. `valid_for` None: until it changes."""

    resource: str
    score: str
    value: cel.Program
    valid_for: timedelta | None

    def of(self, cluster: str) -> ObjectId:
        """The AddOnPlacementScore of a cluster."""
        return ADD_ON_PLACEMENT_SCORE.id(self.resource, cluster)


def _score_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> ScorePolicy:
    kinds = common["target"].kinds
    if kinds and kinds != (MANAGED_CLUSTER,):
        message = f"{obj.id} scores other objects than ManagedClusters"
        compiler.refuse(("spec", "target"), Code.VALUE_NOT_ALLOWED, message, "Placements choose only ManagedClusters")
    spec = obj.spec
    valid_for = parse_duration(spec["validFor"]) if "validFor" in spec else None
    return ScorePolicy(
        **common,
        resource=spec.get("resource", obj.id.name),
        score=spec.get("score", obj.id.name),
        value=compiler.number(AT),
        valid_for=valid_for,
    )


def score_of(value: object) -> int:
    """Return the value of the expression as a score. Raises PolicyFailure if it is no integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise PolicyFailure("expression", AT, cel.EvaluationError(f"the expression gave {value!r}, not an integer"))
    return value


SCORE_POLICIES: Final = PolicyKind(SCORE_POLICY, _score_policy)
