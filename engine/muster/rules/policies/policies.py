"""Compiles objects of the policy kinds to policies that can be evaluated.

Compiling reports mistakes once, at their place in the file. The expressions of one policy share one environment, so the
checker knows every name and field.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from typing import Generic, TypedDict, TypeVar

from muster import cel
from muster.cel.types import DYN, Type
from muster.data.codes import Code
from muster.data.decision import Because, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, Kind
from muster.data.names import did_you_mean, did_you_mean_text
from muster.data.tree import At, Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.environments import UNBOUNDED, Bounds, policy_environment
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.selectors import LabelSelector, selector_mistakes


@dataclass(frozen=True, slots=True)
class Target:
    """The objects of a policy."""

    kinds: tuple[Kind, ...]
    selector: LabelSelector
    namespaces: frozenset[str]

    def selects(self, obj: Object) -> bool:
        """Does the policy apply to an object of one of its kinds?"""
        if self.namespaces and obj.id.namespace not in self.namespaces:
            return False
        return not self.selector.requirements or self.selector.matches(obj.labels)


@dataclass(frozen=True, slots=True)
class Guard:
    """A `matchConditions` entry: if it does not hold, the policy does not apply."""

    name: str
    when: cel.Program
    at: At


@dataclass(frozen=True, slots=True)
class Policy:
    """The fields of all compiled policies. `params`: the policy's map; `variables` are evaluated lazily."""

    id: ObjectId
    source: Object
    target: Target
    guards: tuple[Guard, ...]
    variables: Mapping[str, cel.Program]
    params: Tree

    @property
    def label(self) -> str:
        """The policy's name in reasons and messages."""
        return str(self.id)

    @property
    def because(self) -> Because:
        """The reason if it is no single rule."""
        return _reason_of(self.id)


@cache
def _reason_of(id_: ObjectId) -> Because:
    """The reason that is a policy as a whole. Every object asks for it."""
    return Because(str(id_), (Input(("spec",), id_),))


class PolicyFields(TypedDict):
    """The fields of a `Policy`."""

    id: ObjectId
    source: Object
    target: Target
    guards: tuple[Guard, ...]
    variables: Mapping[str, cel.Program]
    params: Tree


P = TypeVar("P", bound=Policy)
V = TypeVar("V")
_MOST_REMEMBERED = 5_000


@dataclass(frozen=True, slots=True)
class PolicyKind(Generic[P]):
    """Compiles the policies of one kind: `build` creates one from the common fields and its own; `further`: further
    variables of its expressions."""

    kind: Kind
    build: Callable[[Object, Compiler, PolicyFields], P]
    further: Mapping[str, Type] = field(default_factory=dict)
    _known: dict[tuple[object, ...], tuple[P | None, list[Finding]]] = field(default_factory=dict)

    def compile(self, obj: Object, bounds: Bounds = UNBOUNDED) -> tuple[P | None, list[Finding]]:
        """Compile a policy; None if it has an error. Results are cached by files and bounds, for later passes."""
        # Parameters may come from the Fleet, not from the policy's files.
        dependencies = (bounds, repr(mapping_at(obj.spec, "params")))
        return remembered(self._known, obj, dependencies, lambda: self._compile_new(obj, bounds))

    def _compile_new(self, obj: Object, bounds: Bounds) -> tuple[P | None, list[Finding]]:
        target = _target(obj)
        params = mapping_at(obj.spec, "params")
        compiler = Compiler(obj, policy_environment(target.kinds, {}, self.further, bounds, params))
        compiler.findings.extend(_target_findings(obj))
        types: dict[str, Type] = {}
        variables: dict[str, cel.Program] = {}
        # Each variable sees those above it with their types; everything else sees all.
        for index, variable in enumerate(mappings_at(obj.spec, "variables")):
            program = compiler.value(("spec", "variables", index, "expression"))
            variables[variable["name"]], types[variable["name"]] = program, program.type or DYN
            compiler.environment = policy_environment(target.kinds, types, self.further, bounds, params)
        common = PolicyFields(
            id=obj.id,
            source=obj,
            target=target,
            guards=tuple(guards_of(obj, compiler)),
            variables=variables,
            params=params,
        )
        policy = self.build(obj, compiler, common)
        return (None if compiler.failed else policy), _first_of_each(compiler.findings, str(obj.spec.get("type", "")))


def _first_of_each(findings: Iterable[Finding], own_type: str) -> list[Finding]:
    """Of several warnings of one unknown condition, the first; none proposes the condition that the policy itself
    decides, which would be a circle."""
    shown: dict[str, Finding] = {}
    for number, finding in enumerate(findings):
        _, opened, key = finding.message.partition("['")
        is_unknown_key = finding.code is Code.CEL_SUSPICIOUS and opened
        if is_unknown_key and own_type and finding.hint == did_you_mean_text(own_type):
            finding = replace(finding, hint="agents report it, or another policy decides it: until then it is missing")
        shown.setdefault(key if is_unknown_key else str(number), finding)
    return list(shown.values())


def remembered(
    cache: dict[tuple[object, ...], V], obj: Object, dependencies: tuple[object, ...], compile_: Callable[[], V]
) -> V:
    """Return what an object compiles to, from `cache` if it is there. It depends on its files and `dependencies` alone.

    Results are kept by the blob ids of the files, so a change is never missed.
    """
    files = tuple((part.source.label, part.source.oid, part.index, part.item) for part in obj.parts)
    key = (obj.id, files, *dependencies)
    compiled = cache.get(key) if all(part.source.oid for part in obj.parts) else None
    if compiled is None:
        compiled = cache[key] = compile_()
        if len(cache) > _MOST_REMEMBERED:
            cache.pop(next(iter(cache)))
    return compiled


def guards_of(obj: Object, compiler: Compiler) -> Iterator[Guard]:
    """Compile the match conditions of a policy."""
    for index, guard in enumerate(mappings_at(obj.spec, "matchConditions")):
        at = ("spec", "matchConditions", index, "expression")
        yield Guard(str(guard.get("name", index)), compiler.condition(at), at)


def _target_findings(obj: Object) -> list[Finding]:
    """An unknown kind in a target is a mistake: the policy would silently decide nothing."""
    target = mapping_at(obj.spec, "target")
    named: dict[At, Tree] = {("kind",): target["kind"]} if "kind" in target else {}
    named |= {("kinds", index): name for index, name in enumerate(target.get("kinds") or ())}
    mistakes = selector_mistakes(target.get("selector"))
    hint = f"until then {obj.id} decides nothing"
    selector_findings = [
        finding_at(obj, ("spec", "target", "selector", *at), Code.INVALID_SELECTOR, text, hint) for at, text in mistakes
    ]
    return selector_findings + [
        finding_at(
            obj,
            ("spec", "target", *path),
            Code.VALUE_NOT_ALLOWED,
            f"no kind is called {name!r}",
            did_you_mean(str(name), BY_NAME),
        )
        for path, name in named.items()
        if name not in BY_NAME
    ]


def _target(obj: Object) -> Target:
    target = mapping_at(obj.spec, "target")
    named = target.get("kinds") or [target.get("kind")]
    kinds = tuple(BY_NAME[name] for name in named if name in BY_NAME)
    return Target(kinds, LabelSelector.parse(target.get("selector")), frozenset(target.get("namespaces") or ()))
