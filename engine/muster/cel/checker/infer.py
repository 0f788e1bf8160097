"""Type inference: one bottom-up walk that gives every node a type and collects issues.

A node without a valid type is reported once and gets the type `error`, which agrees with everything. So one mistake
makes one issue, and the rest of the expression is still checked.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from muster.cel import ast
from muster.cel.ast import Node
from muster.cel.checker import literals, messages
from muster.cel.checker.messages import IssueMessage
from muster.cel.checker.unify import Substitution, is_key, numbers_compare, values_of
from muster.cel.declarations import Overload
from muster.cel.env import CheckEnv
from muster.cel.errors import Issue, issue_at
from muster.cel.resolve import candidates, qualified
from muster.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NAMED,
    STRING,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
    Type,
    TypeParam,
    TypeType,
    bare,
    is_dyn,
)

#: The deepest tree that is checked: the walk takes a few Python frames per level.
MAX_DEPTH: Final = 250

_EQUALITY: Final = frozenset(("_==_", "_!=_"))
_CONDITIONS: Final = frozenset(("all", "exists", "exists_one", "existsOne", "filter"))


class Inference:
    """The state of one walk: types, resolved names and overloads, and issues."""

    def __init__(self, env: CheckEnv, text: str) -> None:
        """Prepare to check an expression. Its source text is only used for lines and columns."""
        self.env = env
        self.text = text
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[str, ...]] = {}
        self.names: dict[int, str] = {}
        self.issues: list[Issue] = []
        self.unify = Substitution()
        self._locals: ChainMap[str, Type] = ChainMap()
        self._depth = 0
        self._handlers: Mapping[type[Node], Callable[[Any], Type]] = {
            ast.Literal: self._literal,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Has: self._has,
            ast.IndexNode: self._index,
            ast.Call: self._call,
            ast.ListNode: self._list,
            ast.MapNode: self._map,
            ast.Struct: self._struct,
            ast.Macro: self._macro,
            ast.Bind: self._bind,
        }

    def report(self, node: Node, message: IssueMessage) -> Type:
        """Add an issue at the node, and return the type `error`."""
        self.issues.append(issue_at(self.text, node.offset, message.text, message.hint, is_warning=message.is_warning))
        return ERROR

    def infer(self, node: Node) -> Type:
        """Return and record the type of a node, which may contain unbound type variables."""
        if self._depth >= MAX_DEPTH:
            return self.types.setdefault(node.id, self.report(node, messages.too_deep()))
        self._depth += 1
        # All recursion goes through here: three Python frames per level of the tree.
        inferred = self.types[node.id] = self._handlers[type(node)](node)
        self._depth -= 1
        return inferred

    def infer_all(self, nodes: tuple[Node, ...]) -> list[Type]:
        """Return the types of several nodes, in order."""
        return list(map(self.infer, nodes))

    @staticmethod
    def _literal(node: ast.Literal) -> Type:
        return literals.literal_type(node.value)

    def _bind(self, node: ast.Bind) -> Type:
        self._locals = self._locals.new_child({node.name: self.infer(node.value)})
        inferred = self.infer(node.body)
        self._locals = self._locals.parents
        return inferred

    def resolved(self, type_: Type) -> Type:
        """Return the type that an outermost type variable is bound to."""
        return self.unify.resolve(type_)

    # -- names and fields ---------------------------------------------------------------------------------------

    def _ident(self, node: ast.Ident) -> Type:
        declared = self._locals.get(node.name)
        if declared is None:
            declared = self._declared(node, node.name)
        if declared is None:
            names = {*self.env.variables, *self._locals}
            return self.report(node, messages.undeclared_variable(node.name, names))
        return declared

    def _declared(self, node: Node, name: str) -> Type | None:
        """Return the type of a declared variable, or of the name of a type; None if the name is unknown."""
        for full in candidates(self.env.container, name):
            if (variable := self.env.variables.get(full)) is not None:
                self.names[node.id] = full
                return variable
            if (denoted := NAMED.get(full)) is not None:
                self.names[node.id] = full
                return TypeType(denoted)
        return None

    def is_local(self, node: Node) -> bool:
        """Return whether a chain of selections begins with a variable of a macro or of cel.bind()."""
        while isinstance(node, ast.Select):
            node = node.operand
        return isinstance(node, ast.Ident) and node.name in self._locals

    def _select(self, node: ast.Select) -> Type:
        name = qualified(node)
        if name is not None and not self.is_local(node) and (declared := self._declared(node, name)) is not None:
            return declared
        return self._member(node, node.operand, node.field, optional=node.optional)

    def _has(self, node: ast.Has) -> Type:
        self._member(node, node.operand, node.field, optional=False)
        return BOOL

    def _member(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        """Return the type of `operand.name`; an optional if the selection or the operand is one."""
        owner = self.resolved(self.infer(operand))
        inner = self.resolved(owner.element) if isinstance(owner, OptionalType) else owner
        field_type = self._field(node, operand, bare(inner), name)
        if not optional and not isinstance(owner, OptionalType):
            return field_type
        return field_type if isinstance(field_type, OptionalType) and optional is False else OptionalType(field_type)

    def _field(self, node: Node, operand: Node, owner: Type, name: str) -> Type:
        self._known_key(node, operand, name)
        match owner:
            case ObjectType() if (field := owner.fields.get(name)) is not None:
                return field.type
            case ObjectType(additional=None):
                return self.report(node, messages.unknown_field(messages.described(operand), name, owner.fields))
            case ObjectType():
                if (slip := messages.almost_a_field(messages.described(operand), name, owner.fields)) is not None:
                    self.report(node, slip)
                return owner.additional or DYN
            case MapType():
                return owner.value
            case TypeParam():
                return DYN
            case _ if is_dyn(owner):
                return owner
            case _:
                return self.report(node, messages.no_fields(messages.described(operand), owner, name))

    def _known_key(self, node: Node, operand: Node, key: object) -> None:
        """Warn of a key that is not known to be written, if the known keys of the variable are declared."""
        if not isinstance(operand, ast.Ident) or not isinstance(key, str) or operand.name in self._locals:
            return
        keys = self.env.known_keys.get(operand.name)
        if keys is not None and key not in keys:
            self.report(node, messages.unknown_key(operand.name, key, keys))

    # -- literals -----------------------------------------------------------------------------------------------

    def _list(self, node: ast.ListNode) -> Type:
        element: Type | None = None
        for position, item in enumerate(node.elements):
            item_type = self.infer(item)
            if position in node.optional:
                item_type = self._unwrapped(item, item_type, "an element")
            element = item_type if element is None else self.unify.join(element, item_type)
        return ListType(self.unify.fresh() if element is None else element)

    def _map(self, node: ast.MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            found_key, found_value = self.infer(entry.key), self.infer(entry.value)
            if entry.optional:
                found_value = self._unwrapped(entry.value, found_value, "an entry")
            if not is_key(self.resolved(found_key)):
                found_key = self.report(entry.key, messages.not_a_key(self.unify.close(found_key)))
            key = found_key if key is None else self.unify.join(key, found_key)
            value = found_value if value is None else self.unify.join(value, found_value)
        if (repeated := literals.repeated_key(node)) is not None:
            self.report(*repeated)
        return MapType(key or self.unify.fresh(), value or self.unify.fresh())

    def _unwrapped(self, node: Node, type_: Type, noun: str) -> Type:
        """Return the element type of the optional that follows a `?`."""
        type_ = self.resolved(type_)
        if isinstance(type_, OptionalType):
            return type_.element
        return type_ if is_dyn(type_) else self.report(node, messages.not_optional(noun, self.unify.close(type_)))

    def _struct(self, node: ast.Struct) -> Type:
        for field in node.fields:
            self.infer(field.value)
        return self.report(node, messages.unknown_message(node.name))

    # -- calls --------------------------------------------------------------------------------------------------

    def _index(self, node: ast.IndexNode) -> Type:
        owner, index = self.resolved(self.infer(node.operand)), self.infer(node.index)
        key = node.index.value if isinstance(node.index, ast.Literal) else None
        if isinstance(bare(owner), ObjectType) and isinstance(key, str):
            field_type = self._field(node, node.operand, bare(owner), key)
            return OptionalType(field_type) if node.optional else field_type
        self._known_key(node, node.operand, key)
        return self._apply(node, "_[?_]" if node.optional else "_[_]", [bare(owner), index], member=False)

    def _call(self, node: ast.Call) -> Type:
        if (full := self._namespaced(node)) is not None:
            self.names[node.id] = full
            types = self.infer_all(node.args)
            self._literals(full, node.args, types)
            return self._apply(node, full, types, member=False)
        if (namespace := self._namespace(node.target)) is not None:
            return self.report(node, messages.undeclared_function(f"{namespace}.{node.function}", self.env.functions))
        operands = ast.children(node)
        types = self.infer_all(operands)
        if node.target is None:
            self._conditions(node)
            name = next((f for f in candidates(self.env.container, node.function) if f in self.env.functions), None)
        else:
            name = node.function if node.function in self.env.functions else None
        if name is None:
            return self.report(node, messages.undeclared_function(node.function, self.env.functions))
        self._literals(name, operands, types)
        if len(operands) > 1 and isinstance(operands[1], ast.Literal):
            self._known_key(node, operands[0], operands[1].value)
        if name == "@in" and isinstance(operands[0], ast.Literal):
            self._known_key(node, operands[1], operands[0].value)
        if name in _EQUALITY or name == "@in":
            return self._compare(node, name, types)
        if name in ("_&&_", "_||_"):
            return self._logic(node, name, types)
        return self._apply(node, name, types, member=node.target is not None)

    def _literals(self, function: str, operands: tuple[Node, ...], types: Sequence[Type]) -> None:
        """Report a literal that always makes the call fail."""
        if (failing := literals.failing_literal(function, operands, types)) is not None:
            self.report(*failing)

    def _namespaced(self, node: ast.Call) -> str | None:
        """Return the full name of a function whose target is its namespace, as in `math.abs(x)`."""
        if node.target is None or self.is_local(node.target) or (prefix := qualified(node.target)) is None:
            return None
        names = candidates(self.env.container, f"{prefix}.{node.function}")
        return next((name for name in names if name in self.env.functions), None)

    def _namespace(self, target: Node | None) -> str | None:
        """Return the name of a call's target if it is the namespace of a library (`math`), not a variable."""
        name = None if target is None or self.is_local(target) else qualified(target)
        if name is None or any(full in self.env.variables for full in candidates(self.env.container, name)):
            return None
        return name if any(function.startswith(f"{name}.") for function in self.env.functions) else None

    def _logic(self, node: ast.Call, name: str, types: list[Type]) -> Type:
        """Check a chain of `&&` or `||`, reporting each operand at its own place."""
        for operand, operand_type in zip(node.args, types, strict=True):
            if not self.unify.assignable(BOOL, operand_type):
                shown = [self.unify.close(BOOL), self.unify.close(operand_type)]
                self.report(operand, messages.no_overload(name, shown, self.env.functions[name]))
        return BOOL

    def _compare(self, node: ast.Call, name: str, types: list[Type]) -> Type:
        """Check `==`, `!=` and `in`: some value must be possible for both operands."""
        left, right = (self.resolved(type_) for type_ in types)
        if (message := literals.impossible_value(name, node.args, (left, right))) is not None:
            self.report(node, message)
        if numbers_compare(name, left, right):
            self.overloads[node.id] = tuple(overload.id for overload in self.env.functions[name][:1])
            return BOOL
        if name == "@in" and not isinstance(bare(right), ListType | MapType | ObjectType | TypeParam | OptionalType):
            return self._apply(node, name, [left, bare(right)], member=False) if not is_dyn(right) else BOOL
        if self._matching(node, name, [left, bare(right) if name == "@in" else right], member=False) is None:
            closed = self.unify.close(left), self.unify.close(right)
            self.report(node, messages.never_in(*closed) if name == "@in" else messages.never_equal(name, *closed))
        return BOOL

    def _apply(self, node: Node, name: str, types: list[Type], *, member: bool) -> Type:
        result = self._matching(node, name, types, member=member)
        if result is not None:
            return result
        shown = [self.unify.close(type_) for type_ in types]
        if name == "_?_:_" and self.unify.assignable(BOOL, shown[0]):
            return self.report(node, messages.different_branches(shown[1], shown[2]))
        return self.report(node, messages.no_overload(name, shown, self.env.functions[name]))

    def _matching(self, node: Node, name: str, types: list[Type], *, member: bool) -> Type | None:
        """Return the result type of the overloads that fit, and record their ids; None if none fits.

        With operands of unknown type several can fit: the result is `dyn` unless they have the same result.
        """
        fitting: list[str] = []
        result: Type | None = None
        for overload in self.env.functions[name]:
            overload_result = self._result_of(overload, types, member=member)
            if overload_result is None:
                continue
            fitting.append(overload.id)
            result = overload_result if result is None or result == overload_result else DYN
            if not any(is_dyn(self.resolved(type_)) or isinstance(type_, TypeParam) for type_ in types):
                break
        if fitting:
            self.overloads[node.id] = tuple(fitting)
        return result

    def _result_of(self, overload: Overload, types: list[Type], *, member: bool) -> Type | None:
        if overload.member != member or not overload.accepts_count(len(types)):
            return None
        params, result = self.unify.instance(overload)
        last = len(params) - 1
        pairs = [(params[min(position, last)], type_) for position, type_ in enumerate(types)]
        return self.unify.close(result, open_as=None) if self.unify.all_assignable(pairs) else None

    def _conditions(self, node: ast.Call) -> None:
        """Warn of literals that decide a condition."""
        if node.function == "_?_:_" and isinstance(node.args[0], ast.Literal):
            value = node.args[0].value
            if isinstance(value, bool):
                effect = "the second branch is never taken" if value else "the first branch is never taken"
                self.report(node.args[0], messages.constant_condition(str(value).lower(), effect))
        decisive = {"_&&_": False, "_||_": True}.get(node.function)
        for argument in node.args if decisive is not None else ():
            if isinstance(argument, ast.Literal) and argument.value is decisive:
                effect = f"so is the whole '{node.function[1:3]}'"
                self.report(argument, messages.constant_condition(str(decisive).lower(), effect))

    # -- comprehensions -----------------------------------------------------------------------------------------

    def _macro(self, node: ast.Macro) -> Type:
        ranged = self.resolved(self.infer(node.range))
        key, value = self._elements(node, bare(ranged))
        if len(node.variables) == 1:
            variables = {node.variables[0]: value if isinstance(bare(ranged), ListType) else key}
        else:
            variables = dict(zip(node.variables, (key, value), strict=True))
        self._locals = self._locals.new_child(variables)
        types = self.infer_all(node.args)
        self._locals = self._locals.parents
        if node.name in _CONDITIONS or len(node.args) == 2:
            self._require_bool(node, node.args[0], types[0])
        return self._macro_result(node, ranged, key, types[-1])

    def _elements(self, node: ast.Macro, ranged: Type) -> tuple[Type, Type]:
        """Return the types of a range's (index or key, value)."""
        match ranged:
            case ListType():
                return INT, self._closed(ranged.element)
            case MapType():
                return self._closed(ranged.key), self._closed(ranged.value)
            case ObjectType():
                return STRING, values_of(ranged)
            case TypeParam():
                return self._closed(ranged), DYN
            case _ if is_dyn(ranged):
                return DYN, DYN
            case _:
                error = self.report(node, messages.not_iterable(node.name, self.unify.close(ranged)))
                return error, error

    def _closed(self, element: Type) -> Type:
        """Return the type of an element. For an empty list or map it is `dyn`, not what its use suggests."""
        resolved = self.resolved(element)
        if isinstance(resolved, TypeParam):
            self.unify.assignable(DYN, resolved)
        return self.resolved(resolved)

    def _require_bool(self, node: ast.Macro, condition: Node, condition_type: Type) -> None:
        if not self.unify.assignable(BOOL, condition_type):
            self.report(condition, messages.not_bool(node.name, self.unify.close(condition_type)))

    def _macro_result(self, node: ast.Macro, ranged: Type, key: Type, body: Type) -> Type:
        match node.name:
            case "filter":
                plain = bare(ranged)
                return plain if isinstance(plain, ListType) else ListType(key)
            case "map" | "transformList":
                return ListType(body)
            case "transformMap":
                return MapType(key, body)
            case "transformMapEntry":
                body = MapType(DYN, DYN) if is_dyn(resolved := self.resolved(body)) else resolved
                if not isinstance(body, MapType):
                    return self.report(node.args[-1], messages.not_entries(node.name, self.unify.close(body)))
                return body
            case _:
                return BOOL
