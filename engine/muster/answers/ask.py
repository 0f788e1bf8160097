"""One expression, asked of one object: what `muster cel` evaluates.

The object's file may hold several documents: the first of a kind that policies speak of is `self`, a Lease is `lease`,
AdapterReports are `reports`. Without an object every name is allowed that the expression's text does not need.
"""

from dataclasses import dataclass
from datetime import datetime

from muster import cel
from muster.fleet.objects import by_type
from muster.fleet.settings import DEFAULTS
from muster.model.kinds import ADAPTER_REPORT, BY_GROUP_KIND, LEASE, Kind
from muster.model.tree import Tree, dig, mappings_at
from muster.policy.environments import Bounds, policy_environment


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: `type` is what the checker says of the expression, `result` value or error, horizon, cost and
    trace; `warnings` what looks suspicious."""

    type: str
    result: cel.Result
    warnings: tuple[cel.Issue, ...]


def ask(expression: str, documents: list[Tree], now: datetime) -> Answer:
    """Check and evaluate an expression over the documents of a file.

    Raises `cel.CompileError` for an expression that is wrong for every object of its kind.
    """
    kinds = [(kind_of_body(body), body) for body in documents]
    target = next(((kind, body) for kind, body in kinds if kind not in (None, LEASE, ADAPTER_REPORT)), None)
    environment = cel.Env()
    variables: dict[str, object] = {"now": now}
    if target is not None:
        kind, self_ = target
        assert kind is not None
        environment = policy_environment((kind,), {}, bounds=Bounds(DEFAULTS.expression_cost))
        conditions = by_type(mappings_at(self_, "status", "conditions"))
        reports = [body["spec"] for kind, body in kinds if kind is ADAPTER_REPORT]
        generation = dig(self_, "metadata", "generation")
        variables |= {
            "self": self_,
            "lease": next((body for kind, body in kinds if kind is LEASE), {}),
            "reported": conditions,
            "previous": conditions,
            "conditions": conditions,
            "reports": reports,
            "adapters": sorted({report["adapter"] for report in reports if "adapter" in report}),
            "generation": generation if isinstance(generation, int) else 1,
            "params": {},
            "variables": {},
            "fleet": {},
        }
    program = cel.compile(expression, environment)
    return Answer(str(program.type or "dyn"), program.run(variables, trace=True), program.warnings)


def kind_of_body(body: Tree) -> Kind | None:
    """The kind of a document; None for one that the registry does not have."""
    api_version, name = body.get("apiVersion"), body.get("kind")
    if not isinstance(api_version, str) or not isinstance(name, str):
        return None
    return BY_GROUP_KIND.get((api_version.rpartition("/")[0], name))
