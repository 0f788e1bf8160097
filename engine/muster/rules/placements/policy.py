"""A compiled Placement: its spec and predicates, or why it is misconfigured."""

from dataclasses import dataclass

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.placements.selectors import Predicate, compile_predicates
from muster.rules.placements.spec import Misconfigured, PlacementSpec, read_spec, wanted


@dataclass(frozen=True, slots=True)
class CompiledPlacement:
    """`spec` is None for a misconfigured Placement; `error` is then `<plugin>:<message>`."""

    id: ObjectId
    wanted: int | None
    predicates: tuple[Predicate, ...] = ()
    spec: PlacementSpec | None = None
    error: str = ""


def compile_placement(obj: Object) -> tuple[CompiledPlacement, list[Finding]]:
    """Compile a valid Placement, with findings.

    A mistake does not break the object: it keeps its last decisions, and its condition says why.
    """
    number = wanted(obj.spec)
    try:
        spec = read_spec(obj.spec)
    except Misconfigured as error:
        return CompiledPlacement(obj.id, number, error=str(error)), [_misconfigured(obj, error)]
    predicates, findings, message = compile_predicates(obj)
    if message:
        return CompiledPlacement(obj.id, number, error=f"Predicate:{message}"), findings
    return CompiledPlacement(obj.id, number, predicates, spec), findings


def _misconfigured(obj: Object, error: Misconfigured) -> Finding:
    message = f"{obj.id} cannot be carried out: {error.message}"
    hint = "Until this is mended it keeps its last decisions."
    return finding_at(obj, ("spec", *error.path), Code.MISCONFIGURED_PLACEMENT, message, hint)
