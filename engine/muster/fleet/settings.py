"""The Fleet object's settings, with their defaults: one typed view of one kind."""

from dataclasses import dataclass

from muster.model.tree import Tree, dig


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind: Fleet` says. `spec` is its spec as written, which policies see as `fleet`."""

    spec: Tree

    def get(self, *path: str) -> Tree:
        """The value at `path` of the spec; None where the fleet does not say."""
        return dig(self.spec, *path)

    @property
    def shards(self) -> int:
        """Into how many folders each kind's derived files are spread: see `locations.SHARDS`; 1 is flat."""
        value = self.get("derived", "shards")
        return value if isinstance(value, int) and value > 1 else 1

    @property
    def derived_branch(self) -> str:
        """The branch that carries `derived/`; empty for the branch that is reconciled."""
        value = self.get("derived", "branch")
        return value if isinstance(value, str) else ""

    @property
    def expression_cost(self) -> int:
        """The units that one evaluation of one expression may cost, estimated and counted; and at the most what all
        that a policy asks of one object may cost."""
        value = self.get("limits", "expressionCost")
        return value if isinstance(value, int) and value > 0 else 10_000_000

    @property
    def policy_cost(self) -> int:
        """The units that one policy may cost in one pass over all its objects."""
        value = self.get("limits", "policyCost")
        return value if isinstance(value, int) and value > 0 else 500_000_000

    @property
    def passes(self) -> int:
        """How many passes a reconcile makes at one instant before it says that the fleet does not come to rest."""
        value = self.get("limits", "passes")
        return value if isinstance(value, int) and value > 0 else 100

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

    def policy_params(self, policy: str) -> dict[str, Tree]:
        """The parameters that the fleet sets for a policy of that name; they win over the policy's own."""
        value = self.get("policyParams", policy)
        return value if isinstance(value, dict) else {}


DEFAULTS = Settings(spec={})
