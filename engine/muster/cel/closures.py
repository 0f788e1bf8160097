"""Expressions as nested Python functions: the second engine, beside generated code.

It evaluates expressions that nest deeper than CPython's compiler allows. It evaluates an expression that failed once
more, to find out what failed and where. And it records the value of every part for a trace. It uses the operators of
`runtime`, as generated code does, so that both engines agree.
"""

from collections.abc import Callable, Mapping
from typing import Any

from muster.cel import ast
from muster.cel.env import Env, Function
from muster.cel.errors import BudgetExceeded, EvaluationError
from muster.cel.folds import FOLDS, Failure, Frame, Step
from muster.cel.library.registry import lookup
from muster.cel.runtime import access, maps, selection
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, shown
from muster.cel.types import Type
from muster.cel.weights import round_weight


def build(node: ast.Node, env: Env, types: Mapping[int, Type], *, trace: bool = False) -> Step:
    """Return the function that evaluates a resolved tree; `types` may be empty."""
    return _Builder(env, types, trace=trace).step(node)


def path(node: ast.Node) -> str:
    """Return the name of a node's value in messages: `lease.spec`, `reports[0]`, or a description."""
    match node:
        case ast.Ident():
            return "the value" if node.name.startswith("@") else node.name
        case ast.Select():
            return f"{path(node.operand)}.{node.field}"
        case ast.IndexNode(index=ast.Literal(value=key)):
            return f"{path(node.operand)}[{shown(key)}]"
        case ast.IndexNode():
            return f"{path(node.operand)}[...]"
        case ast.Call():
            return "the result" if not node.function[0].isalpha() else f"the result of {node.function}()"
        case ast.Macro():
            return f"the result of {node.name}()"
        case _:
            return "the value"


class _Builder:
    def __init__(self, env: Env, types: Mapping[int, Type], *, trace: bool) -> None:
        self.env = env
        self.types = types
        self.trace = trace

    def step(self, node: ast.Node) -> Step:
        inner = self.plain(node)
        if not isinstance(node, ast.Literal):  # a literal never fails
            inner = self.located(node, inner)
        return self.recorded(node, inner) if self.trace else inner

    @staticmethod
    def located(node: ast.Node, inner: Step) -> Step:
        """Set the place of an error to the innermost node that raises it."""
        offset = node.offset

        def located(frame: Frame) -> Any:
            try:
                return inner(frame)
            except EvaluationError as error:
                if error.offset is None:
                    error.offset = offset
                raise

        return located

    @staticmethod
    def recorded(node: ast.Node, inner: Step) -> Step:
        identity = node.id

        def recorded(frame: Frame) -> Any:
            assert frame.values is not None
            try:
                value = inner(frame)
            except EvaluationError as error:
                frame.values[identity] = Failure(error)
                raise
            frame.values[identity] = value
            if value.__class__ is bool:
                frame.outcomes.add((identity, value))
            return value

        return recorded

    def plain(self, node: ast.Node) -> Step:
        match node:
            case ast.Literal():
                value = node.value
                return lambda _frame: value
            case ast.Ident():
                return self.converted(node, self.ident(node))
            case ast.Select():
                return self.converted(node, self.select(node))
            case ast.Has():
                operand, field = self.step(node.operand), node.field
                return lambda frame: selection.has(operand(frame), field)
            case ast.IndexNode():
                return self.converted(node, self.index(node))
            case ast.Call():
                return self.call(node)
            case ast.ListNode():
                return self.list_(node)
            case ast.MapNode():
                return self.map_(node)
            case ast.Struct():
                return self.failing(f"messages are not supported: {node.name}{{...}}")
            case ast.Macro():
                return self.macro(node)
            case ast.Bind():
                return self.bind(node)

    def converted(self, node: ast.Node, inner: Step) -> Step:
        """Parse times, durations and doubles in data, according to the type of the access."""
        kind = self.types.get(node.id)
        if kind is None or not access.is_read(kind):
            return inner
        label, site = path(node), node.offset

        def convert(frame: Frame) -> Any:
            return access.convert(frame.meter, site, inner(frame), kind, label)

        return convert

    def failing(self, message: str) -> Step:
        def fail(_frame: Frame) -> Any:
            raise EvaluationError(message)

        return fail

    def ident(self, node: ast.Ident) -> Step:
        name = node.name.removeprefix(".")
        is_global = node.name.startswith(".")

        def ident(frame: Frame) -> Any:
            if not is_global and name in frame.locals:
                value = frame.locals[name]
                if value.__class__ is Failure:
                    raise value.error
                return value
            try:
                return frame.variables[name]
            except KeyError:
                raise EvaluationError(f"undeclared reference to '{name}': there is no such variable") from None

        return ident

    def select(self, node: ast.Select) -> Step:
        operand, field, label = self.step(node.operand), node.field, path(node.operand)
        if node.optional:
            return lambda frame: selection.optional_select(operand(frame), field)
        return lambda frame: selection.select(operand(frame), field, label)

    def index(self, node: ast.IndexNode) -> Step:
        operand, key, label = self.step(node.operand), self.step(node.index), path(node.operand)
        if node.optional:
            return lambda frame: selection.optional_index(operand(frame), key(frame))
        return lambda frame: selection.index(operand(frame), key(frame), label)

    def list_(self, node: ast.ListNode) -> Step:
        elements = [self.step(element) for element in node.elements]
        if not node.optional:
            return lambda frame: [element(frame) for element in elements]
        optional = node.optional
        return lambda frame: selection.present_elements([element(frame) for element in elements], optional)

    def map_(self, node: ast.MapNode) -> Step:
        entries = [(self.step(entry.key), self.step(entry.value), entry.optional) for entry in node.entries]

        def build_map(frame: Frame) -> Any:
            return selection.build_entries([(key(frame), value(frame), optional) for key, value, optional in entries])

        return build_map

    def bind(self, node: ast.Bind) -> Step:
        value, body, name = self.step(node.value), self.step(node.body), node.name

        def bind(frame: Frame) -> Any:
            try:
                bound = value(frame)
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                bound = Failure(error)
            outer = frame.locals
            frame.locals = {**outer, name: bound}
            try:
                return body(frame)
            finally:
                frame.locals = outer

        return bind

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Step:
        name = node.function
        args = [self.step(arg) for arg in ast.children(node)]
        if name == "_&&_":
            return self.logical(args, decisive=False)
        if name == "_||_":
            return self.logical(args, decisive=True)
        if name == "_?_:_":
            return self.conditional(*args)
        return self.function(node, args)

    def function(self, node: ast.Call, args: list[Step]) -> Step:
        name, site = node.function, node.offset
        of_caller = self.env.functions.get(name)
        if of_caller is not None and of_caller.member == (node.target is not None):
            implementation = charged(name, of_caller)

            def call_own(frame: Frame) -> Any:
                return implementation(frame.meter, site, *[arg(frame) for arg in args])

            return call_own
        library_function = lookup(name, member=node.target is not None)
        if library_function is None:
            return self.failing(f"undeclared reference to '{name}': there is no such function")
        call = library_function.call
        if not library_function.accepts(len(args)):
            return lambda frame: _refuse(name, [arg(frame) for arg in args])
        if library_function.metered and len(args) == 2:
            left, right = args
            return lambda frame: call(frame.meter, site, left(frame), right(frame))
        if library_function.metered:
            return lambda frame: call(frame.meter, site, *[arg(frame) for arg in args])
        return lambda frame: call(*[arg(frame) for arg in args])

    @staticmethod
    def logical(args: list[Step], *, decisive: bool) -> Step:
        operator = "_||_" if decisive else "_&&_"

        def logical(frame: Frame) -> bool:
            failure: EvaluationError | None = None
            for arg in args:
                try:
                    value = arg(frame)
                    if value is decisive:
                        return value is True
                    if value.__class__ is not bool:
                        raise no_overload(operator, value)
                except BudgetExceeded:
                    raise
                except EvaluationError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decisive

        return logical

    @staticmethod
    def conditional(condition: Step, then: Step, otherwise: Step) -> Step:
        def conditional(frame: Frame) -> Any:
            value = condition(frame)
            if value is True:
                return then(frame)
            if value is False:
                return otherwise(frame)
            raise no_overload("_?_:_", value)

        return conditional

    # -- comprehensions -----------------------------------------------------------------------------------------

    def macro(self, node: ast.Macro) -> Step:
        source, bodies = self.step(node.range), [self.step(body) for body in node.args]
        names, site, weight = node.variables, node.offset, round_weight(node, self.env, self.types)
        kinds = access.element_kinds(self.types.get(node.range.id), len(names))
        fold = FOLDS[node.name]
        two = len(names) == 2

        def macro(frame: Frame) -> Any:
            value = source(frame)
            items: Any = maps.pairs(value) if two else maps.keys(value)
            spend(frame.meter, site, len(items) * weight)
            outer = frame.locals
            frame.locals = inner = dict(outer)

            def bind(item: Any) -> None:
                if not two:
                    item = (item,)
                for name, part, kind in zip(names, item, kinds, strict=True):
                    inner[name] = part if kind is None else access.convert(frame.meter, site, part, kind, name)

            try:
                return fold(items, bind, frame, bodies)
            finally:
                frame.locals = outer

        return macro


def charged(name: str, function: Function) -> Callable[..., Any]:
    """Return the caller's function, paying for long arguments and raising EvaluationErrors only."""
    call_plainly, walks = function.call, function.walks

    def call(meter: Meter, site: int, *args: Any) -> Any:
        if walks:
            spend(meter, site, sum(len(arg) for arg in args if isinstance(arg, (str, bytes, list, Mapping))))
        try:
            return call_plainly(*args)
        except EvaluationError:
            raise
        except Exception as error:
            raise EvaluationError(f"{name}(): {error}") from error

    return call


def _refuse(name: str, args: list[Any]) -> Any:
    raise no_overload(name, *args)
