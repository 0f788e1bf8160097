"""Compiled Projections: for what they write files, where, and with which content."""

from typing import Final

from muster import cel
from muster.cel.types import ListType, MapType, NullableType, ObjectType, Type, is_dyn
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, MANAGED_CLUSTER, Kind
from muster.data.tree import At, mapping_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.environments import Bounds, fleet_functions
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.selectors import LabelSelector, selector_mistakes
from muster.rules.policies.types import condition_type
from muster.rules.projections.sources import SOURCES, ProjectionSource

_PATH: Final[At] = ("spec", "path")
_WHEN: Final[At] = ("spec", "select", "expression")
#: The fields for the content; a Projection has one of them.
FORMS: Final = ("object", "objects", "text")


@dataclass(frozen=True, slots=True)
class Projection:
    """A compiled Projection. `named`: the object that `forEach` names, as NAMESPACE/NAME; `kind`: that of the objects
    that it selects; `form`: one of FORMS."""

    id: ObjectId
    source: ProjectionSource
    named: str
    kind: Kind
    selector: LabelSelector
    when: cel.Program | None
    path: cel.Program
    content: cel.Program
    form: str

    @property
    def content_at(self) -> At:
        """Where the expression of the content is."""
        return ("spec", self.form)


def for_each(obj: Object) -> tuple[str, str]:
    """Return the source that a Projection names, and the object that it names with it."""
    value = obj.spec["forEach"]
    if isinstance(value, str):
        return value, ""
    ((source, named),) = value.items()
    return str(source), str(named)


def compile_projection(obj: Object, bounds: Bounds) -> tuple[Projection | None, list[Finding]]:
    """Compile a valid Projection; None if it has an error."""
    name, named = for_each(obj)
    source, select = SOURCES[name], mapping_at(obj.spec, "select")
    kind = source.kind or BY_NAME[select.get("kind", MANAGED_CLUSTER.name)]
    items = Compiler(obj, _environment(source.item_types(kind), bounds))
    whole = Compiler(obj, _environment(source.types(kind), bounds), items.findings) if source.gathered else items
    items.findings.extend(
        finding_at(obj, ("spec", "select", *at), Code.INVALID_SELECTOR, text) for at, text in selector_mistakes(select)
    )
    form = next(form for form in FORMS if form in obj.spec)
    when = items.condition(_WHEN) if "expression" in select else None
    path = whole.string(_PATH)
    content = whole.string(("spec", form)) if form == "text" else whole.value(("spec", form))
    if wrong := _misfit(form, content.type):
        whole.refuse(("spec", form), Code.CEL_TYPE, *wrong)
    if items.failed:
        return None, items.findings
    projection = Projection(obj.id, source, named, kind, LabelSelector.parse(select), when, path, content, form)
    return projection, items.findings


def _misfit(form: str, type_: Type | None) -> tuple[str, str] | None:
    """Message and hint if an expression never gives what its form takes."""
    type_ = type_.element if isinstance(type_, NullableType) else type_
    if type_ is None or is_dyn(type_) or form == "text":
        return None
    if form == "object" and not isinstance(type_, MapType | ObjectType):
        hint = "give a map, `objects` for a list of maps, or `text` for anything else"
        return f"the object is of type {type_}, not a map", hint
    if form == "objects":
        element = type_.element if isinstance(type_, ListType) else None
        if element is None or not (is_dyn(element) or isinstance(element, MapType | ObjectType)):
            return f"the objects are of type {type_}, not a list of maps", "give a list of maps, or `object` for one"
    return None


def _environment(variables: dict[str, Type], bounds: Bounds) -> cel.Env:
    return cel.Env(
        variables=variables,
        functions=fleet_functions(condition_type()),
        known_keys={"conditions": bounds.conditions} if bounds.conditions and "conditions" in variables else {},
        max_cost=bounds.max_cost,
    )
