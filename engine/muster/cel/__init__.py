"""The Common Expression Language: compiled, typed, bounded, aware of time.

    program = cel.compile("now - lease.spec.renewTime > duration('5m')", env)
    program.evaluate({"now": now, "lease": lease})   # the value, or EvaluationError
    program.run({"now": now, "lease": lease})        # value or error, horizon, cost, and a trace on request

Values are plain Python: what loading YAML gives, and `bytes`, `datetime`, `timedelta`. They are never changed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.cel.analysis import inspect as inspect
    from muster.cel.clock import Clock as Clock
    from muster.cel.compiler import compile as compile  # noqa: A004 - used as cel.compile
    from muster.cel.declarations import TimeUse as TimeUse
    from muster.cel.env import Env as Env
    from muster.cel.env import Function as Function
    from muster.cel.errors import BudgetExceeded as BudgetExceeded
    from muster.cel.errors import CelError as CelError
    from muster.cel.errors import CompileError as CompileError
    from muster.cel.errors import CostIssue as CostIssue
    from muster.cel.errors import EvaluationError as EvaluationError
    from muster.cel.errors import Issue as Issue
    from muster.cel.errors import SyntaxIssue as SyntaxIssue
    from muster.cel.errors import ValueTooLargeError as ValueTooLargeError
    from muster.cel.program import EvaluationResult as EvaluationResult
    from muster.cel.program import Program as Program
    from muster.cel.runtime.budget import EXPRESSION_LIMIT as EXPRESSION_LIMIT
    from muster.cel.runtime.budget import CostBudget as CostBudget
    from muster.cel.runtime.selection import OptionalValue as OptionalValue
    from muster.cel.values import TypeValue as TypeValue
    from muster.cel.values import UInt as UInt

#: Public names by module. They are loaded on first use: a run that only looks for compiled expressions does not import
#: the compiler.
_MODULES = {
    "analysis": ("inspect",),
    "clock": ("Clock",),
    "compiler": ("compile",),
    "declarations": ("TimeUse",),
    "env": ("Env", "Function"),
    "errors": (
        "BudgetExceeded",
        "CelError",
        "CompileError",
        "CostIssue",
        "EvaluationError",
        "Issue",
        "SyntaxIssue",
        "ValueTooLargeError",
    ),
    "program": ("Program", "EvaluationResult"),
    "runtime.budget": ("CostBudget", "EXPRESSION_LIMIT"),
    "runtime.selection": ("OptionalValue",),
    "values": ("TypeValue", "UInt"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            attribute = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return attribute
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
