"""Translate CEL to formulas, as muster evaluates it: `&&`, `||`, `all` and `exists` absorb errors, numbers have 64
bits, times nanoseconds, and there are no implicit conversions.

What is not translated is *unknown*: it may fail, and may be any value. So what holds for the formulas holds for the
evaluation; the reverse has to be confirmed by the evaluator.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Final

from muster import cel
from muster.cel import ast
from muster.cel.runtime import access
from muster.cel.types import Type
from muster.cel.values import INT_MAX, INT_MIN, UInt
from muster.features.lint.proving import logic
from muster.features.lint.proving.functions import call, own, read_as
from muster.features.lint.proving.logic import Formula, both, choice, either, negation, same, some, total
from muster.features.lint.proving.unknown import condition_of, some_of, some_truth, unknown
from muster.features.lint.proving.values import (
    FAILURE,
    Bool,
    Cases,
    Int,
    Keyed,
    KnownMap,
    Lazy,
    Null,
    Opaque,
    Optional,
    Result,
    SymbolicList,
    SymbolicText,
    given,
    guarded,
    merged,
    surely,
)
from muster.features.lint.proving.world import SymbolicWorld

#: The most entries of a map that is read by an unknown key.
MAX_KEYS: Final = 64
#: Limit of translated parts of expressions for one policy, counted per element of lists.
MAX_PARTS: Final = 20_000


class TooLarge(Exception):  # noqa: N818 - a question that is given up, not an error
    """A policy exceeds the limit of translated parts."""


class Translator:
    """Translates expressions that read the same inputs, by name."""

    def __init__(self, world: SymbolicWorld, inputs: Mapping[str, Result]) -> None:
        self.world = world
        self.inputs = inputs
        self._left = MAX_PARTS

    def program(self, program: cel.Program) -> Result:
        """Return the result of an expression. Raises TooLarge."""
        return _Expression(self, program.types, program.env).result(program.node)

    def spend(self) -> None:
        """Count a part."""
        self._left -= 1
        if self._left < 0:
            raise TooLarge


class _Expression:
    """One expression; `locals` are the variables of its macros."""

    def __init__(self, translator: Translator, types: Mapping[int, Type], env: cel.Env) -> None:
        self.translator, self.types, self.env = translator, types, env
        self.world = translator.world
        self.locals: ChainMap[str, Result] = ChainMap()

    def result(self, node: ast.Node) -> Result:
        self.translator.spend()
        match node:
            case ast.Literal():
                return _literal(node)
            case ast.Ident():
                return self.read(node, self.ident(node.name))
            case ast.Select():
                operand = self.result(node.operand)
                return self.read(node, self.select(operand, node.field, optional=node.optional))
            case ast.Has():
                return self.has(self.result(node.operand), node.field)
            case ast.IndexNode():
                operand, key = self.result(node.operand), self.result(node.index)
                return self.read(node, self.index(operand, key, optional=node.optional))
            case ast.Call():
                return self.call(node)
            case ast.ListNode() if not node.optional:
                items = [self.result(element) for element in node.elements]
                fails = some(item.fails for item in items)
                return Result(fails, ((True, SymbolicList(tuple((True, item.cases) for item in items))),))
            case ast.MapNode():
                return self.map_(node)
            case ast.Macro():
                return self.macro(node)
            case ast.Bind():
                return self.inside({node.name: self.result(node.value)}, node.body)
            case ast.Struct():
                return FAILURE
            case _:
                return unknown(self.world, [self.result(child) for child in ast.children(node)])

    def inside(self, names: Mapping[str, Result], node: ast.Node) -> Result:
        """Return the result of a node with additional local variables."""
        outer = self.locals
        self.locals = outer.new_child(dict(names))
        try:
            return self.result(node)
        finally:
            self.locals = outer

    def ident(self, name: str) -> Result:
        if name in self.locals:
            return self.locals[name]
        value = self.translator.inputs.get(name.removeprefix("."))
        return FAILURE if value is None else value

    def read(self, node: ast.Node, result: Result) -> Result:
        """Read times and durations in data if the type of an access says so."""
        kind = self.types.get(node.id)
        return result if kind is None or not access.is_read(kind) else read_as(self.world, result, kind)

    # -- selection ----------------------------------------------------------------------------------------------

    def select(self, operand: Result, name: str, *, optional: bool) -> Result:
        """`operand.name`, or `operand.?name`."""
        parts: list[tuple[Formula, Result]] = []
        for guard, atom in operand.cases:
            match atom:
                case Lazy() if not optional:
                    parts.append((guard, atom.value(name) if name in atom.names else FAILURE))
                case Optional():
                    parts.append((guard, self._within(atom, name)))
                case Opaque():
                    parts.append((guard, unknown(self.world, [])))
                case Lazy():
                    parts.append((guard, unknown(self.world, [])))
                case Keyed():
                    present, cases = atom.entry(name)
                    selected = surely(Optional(present, cases)) if optional else Result(negation(present), cases)
                    parts.append((guard, selected))
                case _:
                    parts.append((guard, FAILURE))
        return _after(operand, merged(parts))

    def _within(self, outer: Optional, name: str) -> Result:
        """A field of an optional's value, as an optional."""
        inner = self.select(given(guarded(outer.present, outer.cases)), name, optional=True)
        held_cases = [(both(outer.present, guard), atom) for guard, atom in inner.cases if isinstance(atom, Optional)]
        present = some(both(guard, atom.present) for guard, atom in held_cases)
        cases = tuple(case for guard, atom in held_cases for case in guarded(both(guard, atom.present), atom.cases))
        opaque = some(guard for guard, atom in inner.cases if isinstance(atom, Opaque))
        unknown = either(both(outer.present, inner.fails), opaque)
        return Result(
            both(outer.present, inner.fails), ((negation(unknown), Optional(present, cases)), (unknown, Opaque()))
        )

    def has(self, operand: Result, name: str) -> Result:
        """`has(operand.name)`"""
        parts: list[tuple[Formula, Result]] = []
        for guard, atom in operand.cases:
            match atom:
                case Lazy():
                    parts.append((guard, surely(Bool(name in atom.names))))
                case Opaque() | Optional():
                    parts.append((guard, some_truth(self.world)))
                case Keyed():
                    parts.append((guard, surely(Bool(atom.entry(name)[0]))))
                case _:
                    parts.append((guard, FAILURE))
        return _after(operand, merged(parts))

    def index(self, operand: Result, key: Result, *, optional: bool) -> Result:
        """`operand[key]`, or `operand[?key]`."""
        parts: list[tuple[Formula, Result]] = []
        for guard, atom in operand.cases:
            for other, by in key.cases:
                match atom, by:
                    case Keyed(), SymbolicText(term=str()):
                        present, cases = atom.entry(by.term)
                        element = surely(Optional(present, cases)) if optional else Result(negation(present), cases)
                    case KnownMap(), SymbolicText() if len(atom.entries) <= MAX_KEYS:
                        values = [(same(by.term, name), given(cases)) for name, cases in atom.entries.items()]
                        present, cases = some(guard for guard, _ in values), merged(values).cases
                        element = surely(Optional(present, cases)) if optional else Result(negation(present), cases)
                    case SymbolicList(), Int() if not optional:
                        element = self._element(atom, by)
                    case ((Lazy() | Keyed() | Opaque() | Optional() | SymbolicList()), _):
                        element = unknown(self.world, [])
                    case _:
                        element = FAILURE
                parts.append((both(guard, other), element))
        return _after(operand, key, merged(parts))

    def _element(self, listed: SymbolicList, index: Int) -> Result:
        """The element at an index."""
        parts: list[tuple[Formula, Result]] = []
        position = total([])
        for guard, cases in listed.items:
            parts.append((both(guard, same(index.term, position)), given(cases)))
            position = total([position, choice(guard, 1, 0)])
        is_known = some(guard for guard, _ in parts)
        beyond = both(negation(is_known), logic.in_range(position, index.term, total([position, listed.rest])))
        parts.append((beyond, given(listed.another()[1])))
        element = merged(parts)
        return Result(either(element.fails, negation(either(is_known, beyond))), element.cases)

    def map_(self, node: ast.MapNode) -> Result:
        """A map literal; one with keys other than strings is unknown."""
        keys = [entry.key.value if isinstance(entry.key, ast.Literal) else None for entry in node.entries]
        values = [self.result(entry.value) for entry in node.entries]
        texts = [key for key in keys if isinstance(key, str)]
        if len(set(texts)) < len(keys) or any(entry.optional for entry in node.entries):
            return unknown(self.world, [*values, *(self.result(entry.key) for entry in node.entries)])
        entries = KnownMap({key: value.cases for key, value in zip(texts, values, strict=True)})
        return Result(some(value.fails for value in values), ((True, entries),))

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Result:
        arguments = [self.result(child) for child in ast.children(node)]
        match node.function:
            case "_&&_":
                return self.logic(arguments, decisive=False)
            case "_||_":
                return self.logic(arguments, decisive=True)
            case "_?_:_":
                return self.conditional(*arguments)
        if node.function in self.env.functions:
            return own(self.world, node.function, arguments)
        return call(self.world, node.function, arguments, member=node.target is not None)

    def logic(self, arguments: list[Result], *, decisive: bool) -> Result:
        """`&&`, where False decides, or `||`, where True does, even if other parts fail."""
        conditions = [condition_of(self.world, argument) for argument in arguments]
        return _quantified([(True, fails, truth) for fails, truth in conditions], decisive=decisive)

    def conditional(self, condition: Result, then: Result, otherwise: Result) -> Result:
        fails, truth = condition_of(self.world, condition)
        value = merged([(truth, then), (negation(truth), otherwise)])
        return Result(either(fails, value.fails), value.cases)

    # -- macros -------------------------------------------------------------------------------------------------

    def macro(self, node: ast.Macro) -> Result:
        source = self.result(node.range)
        parts: list[tuple[Formula, Result]] = []
        for guard, atom in source.cases:
            if isinstance(atom, SymbolicList) and len(node.variables) == 1 and node.name in _OVER_LISTS:
                parts.append((guard, self.over(node, atom)))
            elif isinstance(atom, (SymbolicList, Keyed, Opaque, Lazy)):
                parts.append((guard, unknown(self.world, [])))
            else:
                parts.append((guard, FAILURE))
        return _after(source, merged(parts))

    def over(self, node: ast.Macro, listed: SymbolicList) -> Result:
        """A macro over a list, expanded for each known element."""
        kind = access.element_kinds(self.types.get(node.range.id), 1)[0]
        name = node.variables[0]
        elements = [(guard, self.element(cases, kind)) for guard, cases in listed.items]
        more, another = listed.another()
        if more is not False:
            elements.append((more, self.element(another, kind)))
        bodies = [[self.inside({name: element}, part) for _, element in elements] for part in node.args]
        conditions = [condition_of(self.world, body) for body in bodies[0]]
        tested = [
            (guard, either(element.fails, fails), truth)
            for (guard, element), (fails, truth) in zip(elements, conditions, strict=True)
        ]
        if node.name in ("all", "exists"):
            return _quantified(tested, decisive=node.name == "exists")
        if node.name == "map" and len(bodies) == 1:
            return self._mapped(node, name, kind, listed, bodies[0], [(g, True) for g, _ in elements])
        fails = some(both(guard, failed) for guard, failed, _ in tested)
        passing = [
            (both(guard, truth), cases) for (guard, _, truth), (_, cases) in zip(tested, listed.items, strict=False)
        ]
        rest = some_of(self.world, listed.rest)
        if node.name == "map":
            return self._mapped(
                node,
                name,
                kind,
                SymbolicList(listed.items, rest, listed.further),
                bodies[1],
                [(guard, truth) for guard, _, truth in tested],
                fails,
            )
        if node.name == "filter":
            return Result(fails, ((True, SymbolicList(tuple(passing), rest, self._further(node, name, kind, listed))),))
        count = total([*(choice(guard, 1, 0) for guard, _ in passing), rest])
        return Result(fails, ((True, Bool(same(count, 1))),))

    def element(self, cases: Cases, kind: Type | None) -> Result:
        """An element of a list, read as its type."""
        element = given(cases)
        return element if kind is None else read_as(self.world, element, kind)

    def _mapped(
        self,
        node: ast.Macro,
        name: str,
        kind: Type | None,
        listed: SymbolicList,
        bodies: list[Result],
        tested: list[tuple[Formula, Formula]],
        *failed: Formula,
    ) -> Result:
        """The list that `map` makes, of the elements that pass its filter, if any."""
        guards = [both(*test) for test in tested]
        fails = either(*failed, *(both(guard, body.fails) for guard, body in zip(guards, bodies, strict=True)))
        made = tuple((guard, body.cases) for guard, body, _ in zip(guards, bodies, listed.items, strict=False))
        further = self._further(node, name, kind, listed)
        return Result(fails, ((True, SymbolicList(made, listed.rest, further)),))

    def _further(
        self, node: ast.Macro, name: str, kind: Type | None, listed: SymbolicList
    ) -> "Callable[[], tuple[Formula, Cases]] | None":
        """What makes one of the further elements of the result of `filter` or `map`."""
        if listed.further is None:
            return None
        names = dict(self.locals)

        def further() -> tuple[Formula, Cases]:
            guard, cases = listed.another()
            element = self.element(cases, kind)
            parts = [self.inside({**names, name: element}, part) for part in node.args]
            if node.name == "filter" or len(parts) == 2:
                fails, truth = condition_of(self.world, parts[0])
                guard = both(guard, negation(fails), truth)
            return guard, cases if node.name == "filter" else parts[-1].cases

        return further


_OVER_LISTS = frozenset(("all", "exists", "exists_one", "existsOne", "filter", "map"))


def _quantified(parts: list[tuple[Formula, Formula, Formula]], *, decisive: bool) -> Result:
    """Join parts (present, fails, true): a part with the `decisive` value decides, else a failing one."""
    decided = some(
        both(present, negation(fails), truth if decisive else negation(truth)) for present, fails, truth in parts
    )
    failed = some(both(present, fails) for present, fails, _ in parts)
    return Result(both(negation(decided), failed), ((True, Bool(decided if decisive else negation(decided))),))


def _after(*steps: Result) -> Result:
    """Return the last result, which fails if any before it does."""
    return Result(either(*(step.fails for step in steps)), steps[-1].cases)


def _literal(node: ast.Literal) -> Result:
    value = node.value
    match value:
        case None:
            return surely(Null())
        case bool():
            return surely(Bool(value))
        case UInt():
            return surely(Opaque())
        case int() if INT_MIN <= value <= INT_MAX:
            return surely(Int(value))
        case str():
            return surely(SymbolicText(value))
        case _:
            return surely(Opaque())
