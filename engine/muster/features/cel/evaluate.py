"""Evaluate one expression over the documents of a file, for `muster cel`.

The file may hold several documents: the first of a kind that policies target is `self`, a Lease is `lease`,
AdapterReports are `reports`. Without a file the expression is checked without types.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from muster import cel
from muster.cel.runtime.describe import shown, spoken_type
from muster.data.decision import OF_ITSELF, Because, Decision, Path
from muster.data.kinds import ADAPTER_REPORT, LEASE, kind_of_body
from muster.data.tree import Tree, dig, mappings_at
from muster.data.yaml.emitter import flow
from muster.dataclass import dataclass
from muster.fleet.leases import GRACE_FACTOR
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object, by_type
from muster.fleet.settings import DEFAULTS
from muster.fleet.view import View
from muster.rules.policies.adapters import Adapters
from muster.rules.policies.environments import Bounds, policy_environment
from muster.rules.policies.trees import spoken_tree
from muster.rules.policies.variables import StageInputs

_BECAUSE = Because("file", OF_ITSELF, "stands in for a run's decision")


@dataclass(frozen=True, slots=True)
class EvaluatedExpression:
    """`type`: the expression's type by the checker, or the value's if that is unknown; `result`: value or error,
    horizon, cost and trace."""

    type: str
    result: cel.EvaluationResult
    warnings: tuple[cel.Issue, ...]


@dataclass(frozen=True)
class _FileSight(StageInputs):
    """Variables of a file's first object: its Lease and reports are those in the file, whatever their names."""

    objects: Sequence[Object]

    @cached_property
    def leases(self) -> Mapping[str, Tree]:
        """The file's Lease."""
        leases = [obj.body for obj in self.objects if obj.kind is LEASE]
        return {cluster_of(self.objects[0]): leases[0]} if leases else {}

    @cached_property
    def adapters(self) -> Adapters:
        """The file's reports; their adapters count as required."""
        reports = [obj.spec for obj in self.objects if obj.kind is ADAPTER_REPORT]
        names = sorted({report["adapter"] for report in reports if "adapter" in report})
        target = self.objects[0]
        return Adapters({target.id: reports}, {target.kind: names}, {})


def evaluate(expression: str, documents: list[Tree], now: datetime) -> EvaluatedExpression:
    """Check and evaluate an expression. Raises `cel.CompileError` if it is wrong for every object of its kind."""
    objects = sorted(_objects(documents), key=_is_context)
    clock, environment = cel.Clock(now), cel.Env()
    variables: dict[str, object] = {}
    if objects and not _is_context(target := objects[0]):
        environment = policy_environment((target.kind,), {}, bounds=Bounds(DEFAULTS.expression_cost))
        by_id = {obj.id: obj for obj in reversed(objects)}
        decided = {id_: _decided(obj) for id_, obj in by_id.items()}
        view = View(by_id, {id_: obj.body for id_, obj in by_id.items()}, decided=decided)
        variables = _FileSight(view, DEFAULTS, clock, GRACE_FACTOR, {}, objects).base(target)
        variables |= {"params": {}, "variables": {}}
    variables["now"] = clock.now
    program = cel.compile(expression, environment)
    result = program.run(variables, clock=clock, trace=True)
    checked = str(program.type or "dyn")
    type_ = spoken_type(result.value) if checked == "dyn" and result.error is None else checked
    return EvaluatedExpression(type_, result, program.warnings)


def value_text(value: Any) -> str:
    """Return a value of CEL in full, on one line."""
    if isinstance(value, Mapping | list):
        return flow(spoken_tree(value))
    return repr(value) if isinstance(value, str) else shown(value)


def _objects(documents: Iterable[Tree]) -> Iterator[Object]:
    for body in documents:
        kind = kind_of_body(body)
        if kind is not None:
            name, namespace = dig(body, "metadata", "name"), dig(body, "metadata", "namespace")
            yield Object(kind.id(str(name or ""), str(namespace or "")), body, ())


def _is_context(obj: Object) -> bool:
    """Is the object read together with others, never the target of a policy?"""
    return obj.kind in (LEASE, ADAPTER_REPORT)


def _decided(obj: Object) -> Mapping[Path, Decision]:
    """Decisions a run would have made, taken from the object's own status and metadata."""
    conditions = by_type(mappings_at(obj.body, "status", "conditions"))
    decided: dict[Path, Tree] = {
        ("status", "conditions", (type_,)): condition for type_, condition in conditions.items()
    }
    decided["metadata", "generation"] = dig(obj.body, "metadata", "generation")
    return {path: Decision(obj.id, path, value, _BECAUSE) for path, value in decided.items()}
