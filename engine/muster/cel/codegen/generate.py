"""The code generator: one method per kind of node."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from muster.cel import ast
from muster.cel.closures import build, charged
from muster.cel.codegen.logic import Captured, Logic
from muster.cel.codegen.macros import Macros
from muster.cel.codegen.operators import Operators
from muster.cel.codegen.source import UNKNOWN, Value, Writer
from muster.cel.codegen.support import NAMESPACE
from muster.cel.env import Env
from muster.cel.errors import EvaluationError
from muster.cel.folds import Frame
from muster.cel.library.registry import lookup
from muster.cel.runtime import access
from muster.cel.runtime.budget import FREE, Meter
from muster.cel.types import DOUBLE, DURATION, TIMESTAMP, NullableType, Scalar, StringType, Type
from muster.cel.values import UInt
from muster.cel.weights import round_weight

Body = Callable[[Mapping[str, Any], Meter], Any]
Recover = Callable[[Exception, Mapping[str, Any]], Any]


class Generated(NamedTuple):
    """The code of an expression: its source, and a function from variables and a meter. Neither if CPython fails.

    `evaluator(recover, units)` compiles the code again as one function from variables that counts `units` down
    and calls `recover` with what is raised: calling another function would take as long as reading two fields.
    """

    source: str
    body: Body | None
    evaluator: Callable[[Recover, int], Callable[[Mapping[str, Any]], Any]] | None


_FOLDED = frozenset(
    {"duration", "timestamp", "quantity", "semver", "ip", "cidr", "int", "uint", "double", "string", "bytes"}
)
_ORDERS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_ARITHMETIC = frozenset({"_+_", "_-_", "_*_", "_/_", "_%_"})
_KINDS: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null",
}
_TABLES: Mapping[Type, tuple[str, str]] = {TIMESTAMP: ("TIMES", "timestamp"), DURATION: ("SPANS", "duration")}
_PARSED: Mapping[str, str] = {"timestamp": "TIMES[{1}]", "duration": "duration_at({0}{1})"}
"""Code that parses a text, given the payment and the text."""
_METERED = re.compile(r"\bm\b")
_TEXT_TESTS: Mapping[str, tuple[str, str]] = {  # a slice takes half the time of `str.startswith`
    "startsWith": ("{0}[:{2}] == {1}", "starts_with"),
    "endsWith": ("{0}.endswith({1})", "ends_with"),
}


def generate(node: ast.Node, env: Env, types: Mapping[int, Type]) -> Generated:
    """Return the code for a resolved tree."""
    try:
        generator = _Generator(env, types, node)
        lines = generator.function(node)
        constants = generator.writer.constants
        source = "\n".join((f"def make({', '.join(constants)}):", "  def body(v, m):", *lines, "  return body", ""))
        body: Body = _function_of(source)(*constants.values())
    except (SyntaxError, RecursionError, MemoryError):
        return Generated("", None, None)

    def evaluator(recover: Recover, units: int) -> Callable[[Mapping[str, Any]], Any]:
        head = f"def make({', '.join(('recover', 'units', *constants))}):"
        metered = ("    m = [units]",) if _METERED.search(source, source.index("\n", source.index("def body"))) else ()
        tail = ("   except Exception as error:", "    return recover(error, v)", "  return evaluate", "")
        whole = "\n".join((head, "  def evaluate(v):", "   try:", *metered, *lines, *tail))
        made: Callable[[Mapping[str, Any]], Any] = _function_of(whole)(recover, units, *constants.values())
        return made

    return Generated(source, body, evaluator)


def _function_of(source: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "<cel>", "exec"), NAMESPACE, namespace)  # noqa: S102 - contains no names of the expression
    made: Callable[..., Any] = namespace["make"]
    return made


def _likely_kind(kind: Type | None) -> str:
    if isinstance(kind, StringType):
        return "string"
    return kind.name if isinstance(kind, Scalar) and kind.name not in ("dyn", "error") else UNKNOWN


class _Generator:
    def __init__(self, env: Env, types: Mapping[int, Type], root: ast.Node) -> None:
        self.env = env
        self.types = types
        self.writer = Writer()
        self.operators = Operators(self.writer)
        self.logic = Logic(self.writer)
        self.macros = Macros(self.writer, self.logic)
        self.locals: dict[str, Value] = {}
        self.hoisted = _shared_names(root)

    def function(self, node: ast.Node) -> list[str]:
        """Return the lines of a function of the variables `v` and the meter `m`."""
        for name in sorted(self.hoisted):
            self.hoist(name)
        result = self.value(node)
        self.writer.emit(f"return {result.text}")
        return self.writer.lines

    def hoist(self, name: str) -> None:
        """Load a variable once that is used more than once; without a value it is MISSING."""
        local = f"v{len(self.locals)}"
        self.writer.block_of("try:", f"{local} = v[{name!a}]")
        self.writer.block_of("except KeyError:", f"{local} = MISSING")
        self.locals[f".{name}"] = Value(local, UNKNOWN, fails=True, simple=True)

    def captured(self, node: ast.Node) -> Captured:
        """Generate a part whose lines are placed later, in a block of their own."""
        with self.writer.captured() as lines:
            value = self.value(node)
        # The value is only a name; the lines before it can fail.
        return lines, replace(value, fails=True) if lines else value, self.writer.depth

    def captured_with(self, node: ast.Node, bound: Mapping[str, Value]) -> Captured:
        """Generate a part with additional local variables."""
        with self.scope(bound):
            return self.captured(node)

    @contextmanager
    def scope(self, bound: Mapping[str, Value]) -> Iterator[None]:
        """Add local variables inside the block."""
        outer = self.locals
        self.locals = {**outer, **bound}
        yield
        self.locals = outer

    def value(self, node: ast.Node) -> Value:
        """Return the value of a node, and write the lines that must come before it."""
        match node:
            case ast.Literal():
                return self.literal(node.value)
            case ast.Ident():
                return self.converted(node, self.ident(node, guarded=True), hot=True)
            case ast.Select():
                return self.converted(node, self.select(node))
            case ast.Has():
                first, name = self.operators.named(self.operand(node.operand))
                field = f"{node.field!a}"
                return Value(f"({field} in {name} if {first}.__class__ is dict else has({name}, {field}))", "bool")
            case ast.IndexNode():
                return self.converted(node, self.index(node))
            case ast.Call():
                return self.call(node)
            case ast.ListNode():
                return self.list_(node)
            case ast.MapNode():
                return self.map_(node)
            case ast.Struct():
                return Value("fail()")
            case ast.Macro():
                return self.macro(node)
            case ast.Bind():
                return self.bind(node)

    # -- data ---------------------------------------------------------------------------------------------------

    def literal(self, constant: Any) -> Value:
        kind = _KINDS.get(constant.__class__, UNKNOWN)
        plain = constant.__class__ in (bool, int, str, bytes, type(None)) or (
            constant.__class__ is float and abs(constant) < float("inf")
        )
        text = ascii(constant) if plain else self.writer.constant(constant)
        # In parentheses, so that an attribute can follow.
        text = f"({text})" if text[0] in "-.0123456789" else text
        return Value(text, kind, fails=False, simple=True, constant=constant, likely=kind)

    def ident(self, node: ast.Ident, *, guarded: bool) -> Value:
        """Return a variable. With `guarded` it must have a value; otherwise the code that uses it fails on MISSING."""
        local = self.locals.get(node.name) if not node.name.startswith(".") else None
        if local is not None:
            return local
        name = node.name.removeprefix(".")
        hoisted = self.locals.get(f".{name}")
        if hoisted is None:
            return Value(f"v[{name!a}]")
        if guarded:
            return Value(f"({hoisted.text} if {hoisted.text} is not MISSING else fail())")
        return hoisted

    def operand(self, node: ast.Node) -> Value:
        """Return the operand of a selection."""
        return self.ident(node, guarded=False) if isinstance(node, ast.Ident) else self.range_(node)

    def converted(self, node: ast.Node, value: Value, *, hot: bool = False) -> Value:
        """Parse times, durations and doubles in data, according to the type of the access."""
        kind = self.types.get(node.id)
        if kind is None or (hot and value.kind):
            return value
        if kind in _TABLES:
            table, name = _TABLES[kind]
            if not hot:
                return Value(f"{table}[{value.text}]", name)
            # A variable usually is a datetime already, and those are slow to look up.
            first, local = self.operators.named(value)
            python = "datetime" if kind == TIMESTAMP else "timedelta"
            test = f"{first}.__class__ is {python} or {local}.__class__ is Now"
            return Value(f"({local} if {test} else {table}[{local}])", name)
        if kind == DOUBLE:
            first, local = self.operators.named(value)
            return Value(f"(as_double({local}) if {first}.__class__ is int else {local})", likely="double")
        if isinstance(kind, NullableType) and kind.element in _TABLES:
            first, local = self.operators.named(value)
            return Value(f"(None if {first} is None else {_TABLES[kind.element][0]}[{local}])")
        if access.is_read(kind):
            reader = self.writer.constant(
                lambda meter, data: access.convert(meter, node.offset, data, kind, "the value")
            )
            return Value(f"{reader}(m, {value.text})")
        return Value(value.text, value.kind, value.fails, value.simple, value.constant, _likely_kind(kind))

    def term(self, node: ast.Node) -> Value:
        """Return an operand of arithmetic or an order: a time that may be null is a time, or an error."""
        kind = self.types.get(node.id)
        if isinstance(kind, NullableType) and kind.element in _TABLES and isinstance(node, ast.Select | ast.IndexNode):
            table, name = _TABLES[kind.element]
            value = self.select(node) if isinstance(node, ast.Select) else self.index(node)
            return Value(f"{table}[{value.text}]", name)
        return self.value(node)

    def range_(self, node: ast.Node) -> Value:
        """Return the range of a loop or the operand of an index, unparsed: its items are parsed one by one."""
        match node:
            case ast.Ident():
                return self.ident(node, guarded=True)
            case ast.Select():
                return self.select(node)
            case ast.IndexNode():
                return self.index(node)
        return self.value(node)

    def select(self, node: ast.Select) -> Value:
        operand = self.operand(node.operand)
        if node.optional:
            return Value(f"optional_select({operand.text}, {node.field!a})")
        return self.item(operand, f"{node.field!a}")

    @staticmethod
    def item(operand: Value, key: str) -> Value:
        """Return `operand[key]` for a text, or a call of the helper if Python would warn that it cannot work."""
        if operand.kind not in ("", "map"):
            return Value(f"select({operand.text}, {key})")
        return Value(f"{operand.text}[{key}]")

    def index(self, node: ast.IndexNode) -> Value:
        operand, key = self.operand(node.operand), self.value(node.index)
        if node.optional:
            return Value(f"optional_index({operand.text}, {key.text})")
        if key.is_constant and key.kind == "string":
            return self.item(operand, key.text)
        if key.is_constant and key.kind == "int" and key.constant >= 0:
            first, name = self.operators.named(operand)
            return Value(f"({name}[{key.text}] if {first}.__class__ is list else index({name}, {key.text}))")
        return Value(f"index({operand.text}, {key.text})")

    def list_(self, node: ast.ListNode) -> Value:
        elements = [self.value(element) for element in node.elements]
        text = f"[{', '.join(element.text for element in elements)}]"
        fails = any(element.fails for element in elements)
        if node.optional:
            return Value(f"present_elements({text}, {self.writer.constant(node.optional)})", "list")
        if all(element.is_constant for element in elements):
            return Value(text, "list", fails=False, constant=[element.constant for element in elements])
        return Value(text, "list", fails)

    def map_(self, node: ast.MapNode) -> Value:
        entries = [(self.value(entry.key), self.value(entry.value), entry.optional) for entry in node.entries]
        keys = [key.constant for key, _, _ in entries]
        if all(key.__class__ is str for key in keys) and len(set(keys)) == len(keys) and not any(e[2] for e in entries):
            text = ", ".join(f"{key.text}: {value.text}" for key, value, _ in entries)
            return Value(f"{{{text}}}", "map", any(value.fails for _, value, _ in entries))
        text = "".join(f"({key.text}, {value.text}, {optional}), " for key, value, optional in entries)
        return Value(f"build_entries([{text}])")

    def bind(self, node: ast.Bind) -> Value:
        part = self.captured(node.value)
        name = self.writer.name()
        value = part[1]
        if part[0] or value.fails:
            with self.logic.absorbing(f"{name} = FAILED"):
                text = self.logic.place(part)
                self.writer.emit(f"{name} = {text}")
            bound = Value(f"({name} if {name} is not FAILED else fail())", value.kind, likely=value.likely)
        else:
            self.writer.emit(f"{name} = {value.text}")
            bound = Value(name, value.kind, fails=False, simple=True, likely=value.likely)
        with self.scope({node.name: bound}):
            return self.value(node.body)

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Value:
        name = node.function
        if name in ("_&&_", "_||_"):
            return self.logic.chain([self.captured(arg) for arg in node.args], decisive=name == "_||_")
        if name == "_?_:_":
            condition = self.value(node.args[0])
            return self.logic.choice(condition, self.captured(node.args[1]), self.captured(node.args[2]))
        operand = self.term if name in _ORDERS or name in _ARITHMETIC else self.value
        args = [operand(arg) for arg in ast.children(node)]
        if all(arg.is_constant for arg in args) and name not in ("!_", "-_") and not name[0].isalpha():
            return self.evaluated_now(node, args)
        if name in ("_==_", "_!=_"):
            return self.operators.equality(args[0], args[1], node.offset, negated=name == "_!=_")
        if name in _ORDERS:
            return self.operators.order(name, args[0], args[1], node.offset)
        if name in _ARITHMETIC:
            return self.operators.arithmetic(name, args[0], args[1], node.offset)
        if name == "@in":
            return self.operators.membership(args[0], args[1], node.offset)
        if name == "!_":
            operand_value = args[0]
            text = f"(not {operand_value.text})" if operand_value.kind == "bool" else f"negation({operand_value.text})"
            return Value(text, "bool", operand_value.fails or operand_value.kind != "bool")
        if name == "-_":
            return Value(f"negate({args[0].text})", args[0].kind if args[0].kind in ("int", "double") else UNKNOWN)
        return self.function_call(node, args)

    def evaluated_now(self, node: ast.Call, args: list[Value]) -> Value:
        """Return the result of an operation on constants."""
        operation = replace(node, args=tuple(ast.Literal(node.id, node.offset, arg.constant) for arg in args))
        try:
            result = build(operation, self.env, {})(Frame({}, [FREE]))
        except EvaluationError:
            return Value("fail()")
        return self.literal(result)

    def function_call(self, node: ast.Call, args: list[Value]) -> Value:
        name, member = node.function, node.target is not None
        arguments = ", ".join(arg.text for arg in args)
        of_caller = None if member else self.env.functions.get(name)
        if of_caller is not None:
            caller = self.writer.constant(charged(name, of_caller))
            return Value(f"{caller}(m, {node.offset}, {arguments})", likely=_likely_kind(of_caller.result))
        library_function = lookup(name, member=member)
        if library_function is None or not library_function.accepts(len(args)):
            return Value("fail()")
        kind = library_function.kind
        if name in _FOLDED and args and all(arg.is_constant for arg in args):
            folded = self.folded(library_function.call, args, metered=library_function.metered)
            if folded is not None:
                return folded
        if member and name in _TEXT_TESTS and self.operators.is_brief(args[1]):
            pattern, helper = _TEXT_TESTS[name]
            first, local = self.operators.named(args[0])
            test = pattern.format(local, args[1].text, len(args[1].constant))
            return Value(f"({test} if {first}.__class__ is str else {helper}({local}, {args[1].text}))", "bool")
        if name in _PARSED and not member:
            first, local = self.operators.named(args[0])
            paying = f"m, {node.offset}, " if library_function.metered else ""
            parsed = _PARSED[name].format(paying, local)
            return Value(f"({parsed} if {first}.__class__ is str else to_{name}({paying}{local}))", kind)
        if name == "size":
            first, local = self.operators.named(args[0])
            return Value(f"(len({local}) if {first}.__class__ in SIZED else size({local}))", "int")
        if name == "contains" and self.operators.is_brief(args[1]):
            first, local = self.operators.named(args[0])
            test = f"{first}.__class__ is str and len({local}) < 64"
            helper = f"{self.writer.constant(library_function.call)}(m, {node.offset}, {local}, {args[1].text})"
            return Value(f"({args[1].text} in {local} if {test} else {helper})", "bool")
        if library_function.metered:
            return Value(f"{self.writer.constant(library_function.call)}(m, {node.offset}, {arguments})", kind)
        return Value(f"{self.writer.constant(library_function.call)}({arguments})", kind)

    def folded(self, function: Callable[..., Any], args: list[Value], *, metered: bool) -> Value | None:
        """Return the result of a call with constants; None if it fails."""
        try:
            result = function(*(([FREE], 0) if metered else ()), *[arg.constant for arg in args])
        except EvaluationError:
            return None
        literal = self.literal(result)
        if literal.kind:
            return literal
        name = "timestamp" if isinstance(result, datetime) else "duration" if isinstance(result, timedelta) else UNKNOWN
        return Value(literal.text, name, fails=False, simple=True)

    # -- comprehensions -----------------------------------------------------------------------------------------

    def macro(self, node: ast.Macro) -> Value:
        source = self.range_(node.range)
        items = self.macros.items(source, two=len(node.variables) == 2)
        self.macros.charge(items, round_weight(node, self.env, self.types), node.offset)
        kinds = access.element_kinds(self.types.get(node.range.id), len(node.variables))
        names = [self.writer.name() for _ in node.variables]
        element = self.types.get(node.range.id)
        likely = [_likely_kind(kind) for kind in access.variable_types(element, len(names))]
        bound = {
            variable: Value(name, self.macros.read_kind(kind), fails=False, simple=True, likely=hint)
            for variable, name, kind, hint in zip(node.variables, names, kinds, likely, strict=True)
        }
        parts = [self.captured_with(arg, bound) for arg in node.args]
        return self.macros.write(node.name, items, names, kinds, parts)


def _shared_names(root: ast.Node) -> frozenset[str]:
    """Return the variables to load only once: those used twice, or inside a loop."""
    counts: Counter[str] = Counter()

    def visit(node: ast.Node, local: frozenset[str], weight: int) -> None:
        match node:
            case ast.Ident():
                if node.name not in local:
                    counts[node.name.removeprefix(".")] += weight
            case ast.Macro():
                visit(node.range, local, weight)
                for arg in node.args:
                    visit(arg, local | set(node.variables), 2)
            case ast.Bind():
                visit(node.value, local, weight)
                visit(node.body, local | {node.name}, weight)
            case _:
                for child in ast.children(node):
                    visit(child, local, weight)

    visit(root, frozenset(), 1)
    return frozenset(name for name, count in counts.items() if count > 1)
