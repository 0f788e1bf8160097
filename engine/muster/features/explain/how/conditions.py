"""What may turn a condition: what agents report, and the fields that the expressions about it read.

The expressions are those that a run evaluated about the object, as its witness recorded them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from muster.cel import ast
from muster.cel.access import FieldAccess, access, accesses
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, FLEET, MANAGED_CLUSTER, PLACEMENT, is_cluster, kind_of
from muster.data.names import few
from muster.data.times import format_duration, format_time, try_duration
from muster.data.tree import At, Tree, dig
from muster.data.yaml.emitter import emit
from muster.features.explain.how.candidates import Candidate, Steps, numbers, setting
from muster.features.explain.how.goals import Goal, whole
from muster.features.explain.how.holders import budget_limits, override, without_freezes
from muster.features.explain.how.placements import acceptance, to_satisfy
from muster.features.explain.reads import field_label
from muster.features.whatif.supposing import FOLDER, Supposition
from muster.fleet.fleet import Fleet
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.reports import required_adapters, target_of
from muster.rules.effects.budget import fleet_id
from muster.rules.policies.expressions import conditions_read
from muster.rules.policies.lazy import Evaluation

_VARIABLES: Final = ("reported", "conditions", "previous")
_EQUALITIES: Final = ("_==_", "_!=_", "@in")
_REPORT_TYPES: Final = ("Applied", "Available", "Health")
_DURATION: Final = "leaseDurationSeconds"


def to_turn(fleet: Fleet, goal: Goal, seen: Sequence[Evaluation], now: datetime) -> Iterator[Candidate | Steps]:
    """Yield what may turn a condition to a status that the goal asks for. `seen`: the evaluations about its object."""
    assert goal.condition is not None
    id_, (type_, statuses) = goal.object, goal.condition
    if PLACEMENT.has(id_):
        yield from to_satisfy(fleet, id_)
        return
    obj, cluster = fleet.objects.get(id_), _cluster(fleet, id_)
    if is_cluster(id_):
        yield from acceptance(fleet, id_)
    if cluster:
        yield _renewal(cluster, id_, now)
    nodes = [evaluation.program.node for evaluation in seen]
    types = dict.fromkeys(
        (type_, *(name for node in nodes for variable in _VARIABLES for name in conditions_read(node, variable)))
    )
    if obj is not None:
        for name in types:
            for status in statuses if name == type_ else ("True", "False"):
                yield _report(id_, name, status, now)
    yield from _adapter_reports(fleet, id_, statuses, now)
    if FLEET.has(id_):
        yield from without_freezes(fleet)
        yield override(id_, now)
        yield from budget_limits(fleet)
    for asked in seen:
        yield from _fields(fleet, id_, asked)


def _cluster(fleet: Fleet, id_: ObjectId) -> str:
    obj = fleet.objects.get(id_)
    return cluster_of(obj) or "" if obj is not None else ""


def _renewal(cluster: str, id_: ObjectId, now: datetime) -> Candidate:
    return Candidate(
        f"the agent of {cluster} renews its Lease", id_, lambda supposition: supposition.renew(cluster, now)
    )


def _report(id_: ObjectId, type_: str, status: str, now: datetime) -> Candidate:
    return Candidate(
        f"an agent reports {type_}={status}", id_, lambda supposition: supposition.report(id_, type_, status, now)
    )


def _adapter_reports(fleet: Fleet, id_: ObjectId, statuses: Sequence[str], now: datetime) -> Iterator[Candidate]:
    """Adapters that report on the object, each alone, and all of them."""
    present = [obj for obj in fleet.of(ADAPTER_REPORT) if target_of(obj.spec, obj.id.namespace) == id_]
    names = sorted({*required_adapters(fleet.settings, kind_of(id_)), *(str(obj.spec["adapter"]) for obj in present)})
    status = next((wanted_status for wanted_status in statuses if wanted_status != "Unknown"), "Unknown")
    generation = dig(whole(fleet, id_), "metadata", "generation")
    if not isinstance(generation, int):
        return

    def reporting(adapters: Sequence[str]) -> Candidate:
        def report(supposition: Supposition) -> None:
            for adapter in adapters:
                spec = _payload(id_, adapter, generation, status, now)
                objects = [obj for obj in present if obj.spec["adapter"] == adapter]
                for part in (part for obj in objects for part in obj.parts if "spec" in part.body):
                    supposition.change(part, lambda body, spec=spec: {**body, "spec": {**body["spec"], **spec}})  # type: ignore[misc]
                if not objects:
                    namespace = id_.namespace or id_.name
                    body = ADAPTER_REPORT.body({"name": adapter, "namespace": namespace}, spec=spec)
                    supposition.edit(
                        f"{FOLDER}/{ADAPTER_REPORT.folder}/{namespace}/{adapter}.yaml", emit(body).encode()
                    )

        who = f"the adapter{'s' if len(adapters) > 1 else ''} {few(adapters)}"
        verb = "report" if len(adapters) > 1 else "reports"
        return Candidate(f"{who} {verb} {', '.join(_REPORT_TYPES)} {status} for generation {generation}", id_, report)

    alone = [reporting([name]) for name in names]
    yield from alone
    if len(names) > 1:
        yield replace(reporting(names), parts=tuple(candidate.text for candidate in alone))


def _payload(id_: ObjectId, adapter: str, generation: int, status: str, now: datetime) -> dict[str, Tree]:
    resource = {"kind": id_.kind, "name": id_.name, **({"namespace": id_.namespace} if id_.namespace else {})}
    conditions = [{"type": type_, "status": status} for type_ in _REPORT_TYPES]
    return {
        "resource": resource,
        "adapter": adapter,
        "observed_generation": generation,
        "observed_time": format_time(now),
        "conditions": conditions,
    }


# -- fields that expressions read


def _fields(fleet: Fleet, id_: ObjectId, evaluation: Evaluation) -> Iterator[Candidate | Steps]:
    """Other values of the fields that an expression reads: those that it compares them with, and near ones."""
    trace, node = evaluation.result.trace, evaluation.program.node
    if trace is None:
        return
    for field, value in _compared(node):
        yield from _with_value(fleet, id_, evaluation.policy, field, value)
    for number, field in accesses(node).items():
        value = trace.values.get(number)
        if isinstance(value, bool):
            yield from _with_value(fleet, id_, evaluation.policy, field, not value)
        elif (path := _path(fleet, id_, evaluation.policy, field)) is not None and not field.asked_for:
            yield from _near(id_, *path, value)


def _compared(node: ast.Node) -> Iterator[tuple[FieldAccess, Any]]:
    """Fields, and the literals that they are compared with."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or call.function not in _EQUALITIES:
            continue
        operands = call.args if call.target is None else (call.target, *call.args)
        for left, right in (operands, operands[::-1]) if len(operands) == 2 else ():
            literals = right.elements if isinstance(right, ast.ListNode) else (right,)
            field = access(left)
            for literal in literals:
                if field is not None and isinstance(literal, ast.Literal):
                    yield field, literal.value


def _path(fleet: Fleet, id_: ObjectId, policy: ObjectId, field: FieldAccess) -> tuple[ObjectId, At] | None:
    """The object and the path of a field that people declare."""
    steps = field.steps
    if field.variable == "self" and steps[:1] in (("spec",), ("metadata",), ("status",)) and len(steps) > 1:
        return id_, steps
    if field.variable == _DURATION and MANAGED_CLUSTER.has(id_):
        return id_, ("spec", _DURATION)
    if field.variable == "params" and steps:
        return fleet_id(fleet), ("spec", "policyParams", policy.name, *steps)
    if field.variable == "fleet" and steps:
        return fleet_id(fleet), ("spec", *steps)
    return None


def _with_value(fleet: Fleet, id_: ObjectId, policy: ObjectId, field: FieldAccess, value: Any) -> Iterator[Candidate]:
    path = _path(fleet, id_, policy, field)
    if path is not None and not field.asked_for and isinstance(value, str | int | bool):
        yield setting(f"{field_label(path[1])} {_shown(value)}{_of(path[0], id_)}", *path, value)


def _near(about: ObjectId, id_: ObjectId, path: At, value: Any) -> Iterator[Steps]:
    """Larger and smaller numbers and durations."""
    if isinstance(value, int):
        values: tuple[Sequence[Tree], ...] = (range(value + 1, value * 64 + 2), range(value - 1, -1, -1))
    elif isinstance(value, str) and (span := try_duration(value)) and span >= timedelta(seconds=1):
        values = tuple([format_duration(span * factor) for factor in factors] for factors in _FACTORS)
    else:
        return
    yield from (numbers(field_label(path), id_, path, choices, subject=_of(id_, about)) for choices in values)


_FACTORS: Final = ((2, 4, 8, 16, 32, 64), (0.5, 0.25, 0.125, 0.0625))


def _of(id_: ObjectId, about: ObjectId) -> str:
    return "" if id_ == about else f" of {id_}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
