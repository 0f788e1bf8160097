"""Compiled expressions and their evaluation."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from threading import local
from typing import Any, NamedTuple

from muster.cel import ast, closures
from muster.cel.clock import Clock
from muster.cel.codegen.generate import Body, Generated
from muster.cel.env import Env
from muster.cel.errors import BudgetExceeded, EvaluationError, Issue
from muster.cel.folds import Frame, Step
from muster.cel.runtime.budget import EXPLAINING_LIMIT, EXPRESSION_LIMIT, CostBudget, Meter
from muster.cel.runtime.describe import named
from muster.cel.runtime.size import require_size
from muster.cel.runtime.temporal import PreciseInstant
from muster.cel.trace import Trace, trace_of
from muster.cel.types import Type
from muster.cel.unfolding import builds
from muster.cel.weights import weigh


class EvaluationResult(NamedTuple):
    """The result of an evaluation: a value or an error.

    `horizon` is the first whole second after now at which an evaluated comparison flips; None if time alone never
    changes the outcome. `cost` is in units that do not depend on the machine. `trace` is set if it was requested.
    """

    value: Any
    error: EvaluationError | None
    horizon: datetime | None
    cost: int
    trace: Trace | None = None


_RESULT = tuple.__new__
"""Makes an EvaluationResult in half the time, which matters for a million evaluations."""


class Program:
    """An expression, compiled for an environment. Immutable; threads may share it.

    `type` is the type of its value if the environment is typed. `cost` is the cost of one pass over it, without loops.
    `reads` has the names of the variables that it uses. `types` has the types of values read from data, by node id.
    """

    __slots__ = (
        "_body",
        "_builds",
        "_code",
        "_explain",
        "_limit",
        "_timed",
        "cost",
        "env",
        "evaluate",
        "node",
        "reads",
        "source",
        "text",
        "type",
        "types",
        "warnings",
    )

    evaluate: Callable[[Mapping[str, Any]], Any]
    """Return the value for `variables`. Raises EvaluationError."""

    def __init__(
        self,
        text: str,
        env: Env,
        node: ast.Node,
        types: Mapping[int, Type],
        code: Generated,
        warnings: tuple[Issue, ...] = (),
    ) -> None:
        """Assemble the compiler's output; without code, closures evaluate the expression."""
        self.text, self.env, self.node, self.source = text, env, node, code.source
        self.warnings = warnings
        self._limit = EXPRESSION_LIMIT if env.max_cost is None else env.max_cost
        self.type = types.get(node.id)
        self.types = types
        self.cost = weigh(ast.walk(node), env, types)
        self.reads = _free_names(node)
        self._timed = "now" in self.reads
        self._builds = builds(node)
        self._explain: Step | None = None
        self._code = code
        self._body: Body = self._interpret if code.body is None else code.body

    def __repr__(self) -> str:
        """Return the text, for debugging."""
        return f"<Program {self.text!r}>"

    def __getattr__(self, name: str) -> Any:
        """Make `evaluate` when it is first used: most programs are only evaluated by `value`."""
        if name != "evaluate":
            raise AttributeError(name)
        allowed, units = self._limit, self._limit - self.cost

        def recover(error: Exception, variables: Mapping[str, Any]) -> Any:
            return self._recover(error, variables, allowed)

        def interpret(variables: Mapping[str, Any]) -> Any:
            try:
                return self._interpret(variables, [units])
            except Exception as error:  # noqa: BLE001 - functions of an environment raise what they want
                return recover(error, variables)

        evaluator = self._code.evaluator
        evaluate = interpret if evaluator is None else evaluator(recover, units)

        def measured(variables: Mapping[str, Any]) -> Any:
            value = evaluate(variables)
            require_size(value)
            return value

        self.evaluate = measured if self._builds else evaluate
        return self.evaluate

    def _interpret(self, variables: Mapping[str, Any], meter: Meter) -> Any:
        if self._explain is None:
            self._explain = closures.build(self.node, self.env, self.types)
        return self._explain(Frame(variables, meter))

    def _recover(
        self, error: Exception, variables: Mapping[str, Any], limit: int, shared: CostBudget | None = None
    ) -> Any:
        """Evaluate again with closures, which can explain the failure; return the value if they find one.

        Closures are several times slower, so they get a smaller budget. If it is not enough, report the original error.
        """
        if isinstance(error, BudgetExceeded):
            raise self._over_budget(error, limit, shared) from None
        if isinstance(error, RecursionError):
            raise EvaluationError("a value is nested too deep to be evaluated") from None
        if isinstance(error, MemoryError):
            raise EvaluationError("out of memory") from None
        if self._body == self._interpret and isinstance(error, EvaluationError):
            raise _settled_error(error) from None
        try:
            return self._interpret(variables, [min(limit, EXPLAINING_LIMIT) - self.cost])
        except BudgetExceeded as over:
            if limit <= EXPLAINING_LIMIT:
                raise self._over_budget(over, limit, shared) from None
            raise _unexplained(error) from None
        except EvaluationError as explained:
            raise _settled_error(explained) from None
        except RecursionError:
            raise EvaluationError("a value is nested too deep to be evaluated") from None

    def _over_budget(self, error: BudgetExceeded, limit: int, shared: CostBudget | None) -> BudgetExceeded:
        """Return an error that names the costly part."""
        if error.message:
            return error
        most = f"more than {limit:,} units"
        if shared is not None and limit < min(self._limit, shared.limit):
            most = f"more than {min(self._limit, shared.limit):,} units with what was evaluated before it"
        offset = error.offset or 0
        end = offset + 1
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "_."):
            end += 1
        part = self.text[offset:end]
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        return BudgetExceeded(f"costs {most}; the costly part is {part!r} at {line}:{column}", error.offset)

    def run(
        self,
        variables: Mapping[str, Any],
        *,
        clock: Clock | None = None,
        budget: int | CostBudget | None = None,
        trace: bool = False,
    ) -> EvaluationResult:
        """Evaluate and return everything about it. Never raises for an error of the expression or its data.

        `clock` is the clock that `variables['now']` comes from; without it, a plain datetime gets a clock. `budget` is
        in units: a number for this evaluation alone, or a CostBudget that several evaluations share.
        """
        recorded = None
        if clock is not None:
            recorded = clock.take()
        elif self._timed:
            variables, clock = _with_clock(variables)
        limit, shared = self._limit, None
        if budget is not None:
            if isinstance(budget, int):
                limit = budget
            else:
                shared, limit = budget, min(limit, budget.available())
        meter = [limit - self.cost]
        outer = shared.begin(meter) if shared is not None else None
        value, error = None, None
        try:
            if meter[0] < 0:
                raise BudgetExceeded("", self.node.offset)  # noqa: TRY301
            value = self._body(variables, meter)
        except Exception as raised:  # noqa: BLE001 - generated code raises what Python raises
            try:
                value = self._recover(raised, variables, limit, shared)
            except EvaluationError as explained:
                error = explained
        if self._builds and error is None:
            try:
                require_size(value)
            except EvaluationError as large:
                value, error = None, large
        cost = min(limit - meter[0], limit)
        if shared is not None:
            shared.end(outer, cost)
        traced = self._traced(variables, limit) if trace else None
        return _RESULT(
            EvaluationResult, (value, error, None if clock is None else _settled(clock, recorded), cost, traced)
        )

    def value(self, variables: Mapping[str, Any], budget: CostBudget) -> Any:
        """Return the value, and spend its cost. Raises EvaluationError.

        `variables['now']` comes from a clock, which also records the horizon of this evaluation. Use this for many
        objects: `run` returns more, but takes twice as long.
        """
        # As `available`, `begin` and `end` of the budget do: their calls would take longer than most expressions.
        outer = budget.running
        limit = budget.left if outer is None else max(outer[0], 0)
        if limit > self._limit:
            limit = self._limit
        meter = budget.running = [limit - self.cost]
        try:
            if meter[0] < 0:
                raise BudgetExceeded("", self.node.offset)  # noqa: TRY301
            value = self._body(variables, meter)
        except Exception as raised:  # noqa: BLE001 - generated code raises what Python raises
            value = self._recover(raised, variables, limit, budget)
        finally:
            budget.running = outer
            cost = limit - meter[0] if meter[0] > 0 else limit
            if outer is None:
                budget.left = max(budget.left - cost, 0)
            else:
                outer[0] -= cost
        if self._builds:
            require_size(value)
        return value

    def _traced(self, variables: Mapping[str, Any], limit: int) -> Trace:
        """Evaluate again with closures that record the value of every part, up to the first error."""
        values: dict[int, Any] = {}
        frame = Frame(variables, [min(limit, EXPLAINING_LIMIT) - self.cost], values)
        step = closures.build(self.node, self.env, self.types, trace=True)
        with suppress(EvaluationError, RecursionError, MemoryError):
            step(frame)
        return trace_of(self.text, self.node, values, frame.outcomes)


def _settled_error(error: EvaluationError) -> EvaluationError:
    """Return the error with its message as text and without traceback, so that it keeps no values alive."""
    _ = error.message
    error.__traceback__ = None
    return error


def _unexplained(error: Exception) -> EvaluationError:
    """Return an error for a failure whose place is unknown."""
    if isinstance(error, EvaluationError):
        return EvaluationError(error.message)
    if isinstance(error, KeyError):
        return EvaluationError(f"no such key: {named(error.args[0] if error.args else '')}")
    return EvaluationError("an operation has no value for its operands; finding out which one would take too long")


_LAST = local()
"""The last clock of this thread: the next evaluation usually has the same instant."""


def _with_clock(variables: Mapping[str, Any]) -> tuple[Mapping[str, Any], Clock | None]:
    now = variables.get("now")
    if isinstance(now, PreciseInstant) and isinstance(now.clock, Clock):
        return variables, now.clock
    if not isinstance(now, datetime) or now.tzinfo is None:
        return variables, None
    last = getattr(_LAST, "clock", None)
    if last is None or last[0] is not now:
        last = _LAST.clock = (now, Clock(now))
    clock = last[1]
    clock.reset()
    return {**variables, "now": clock.now}, clock


def _settled(clock: Clock, recorded: tuple[datetime, datetime] | None) -> datetime | None:
    """Return the horizon of the last evaluation, and restore what the clock had recorded before."""
    horizon = clock.horizon
    if recorded is not None:
        clock.restore(recorded)
    return horizon


def _free_names(node: ast.Node) -> frozenset[str]:
    """Return the variables that a resolved tree uses."""
    free: set[str] = set()

    def visit(current: ast.Node, local: frozenset[str]) -> None:
        match current:
            case ast.Ident():
                if current.name not in local:
                    free.add(current.name.removeprefix("."))
            case ast.Macro():
                visit(current.range, local)
                for arg in current.args:
                    visit(arg, local | set(current.variables))
            case ast.Bind():
                visit(current.value, local)
                visit(current.body, local | {current.name})
            case _:
                for child in ast.children(current):
                    visit(child, local)

    visit(node, frozenset())
    return frozenset(free)
