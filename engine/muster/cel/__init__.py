"""The Common Expression Language: compiled, typed, bounded, aware of time.

    program = cel.compile("now - lease.spec.renewTime > duration('5m')", env)
    program.evaluate({"now": now, "lease": lease})   # the value, or EvaluationError
    program.run({"now": now, "lease": lease})        # value or error, horizon, cost, and a trace on request

Values are plain Python: what YAML loading gives, and `bytes`, `datetime`, `timedelta`. They are never changed.
"""

from typing import TYPE_CHECKING

from muster.cel import cache
from muster.deferred import deferred

if TYPE_CHECKING:
    from muster.cel.clock import Clock
    from muster.cel.compiler import compile, inspect  # noqa: A004 - used as cel.compile
    from muster.cel.env import Env, Function
    from muster.cel.errors import (
        BudgetExceeded,
        CelError,
        CompileError,
        CostIssue,
        EvaluationError,
        Issue,
        SyntaxIssue,
    )
    from muster.cel.program import Program, Result
    from muster.cel.runtime.budget import EXPRESSION_LIMIT, Budget
    from muster.cel.runtime.selection import Optional
    from muster.cel.values import TypeValue, UInt

__all__ = [
    "EXPRESSION_LIMIT",
    "Budget",
    "BudgetExceeded",
    "CelError",
    "Clock",
    "CompileError",
    "CostIssue",
    "Env",
    "EvaluationError",
    "Function",
    "Issue",
    "Optional",
    "Program",
    "Result",
    "SyntaxIssue",
    "TypeValue",
    "UInt",
    "cache",
    "compile",
    "inspect",
]

#: Name -> the module that defines it: what only looks for compiled expressions does not import the compiler.
_HOMES = {
    "Budget": "muster.cel.runtime.budget",
    "BudgetExceeded": "muster.cel.errors",
    "CelError": "muster.cel.errors",
    "Clock": "muster.cel.clock",
    "CompileError": "muster.cel.errors",
    "CostIssue": "muster.cel.errors",
    "EXPRESSION_LIMIT": "muster.cel.runtime.budget",
    "Env": "muster.cel.env",
    "EvaluationError": "muster.cel.errors",
    "Function": "muster.cel.env",
    "Issue": "muster.cel.errors",
    "Optional": "muster.cel.runtime.selection",
    "Program": "muster.cel.program",
    "Result": "muster.cel.program",
    "SyntaxIssue": "muster.cel.errors",
    "TypeValue": "muster.cel.values",
    "UInt": "muster.cel.values",
    "compile": "muster.cel.compiler",
    "inspect": "muster.cel.compiler",
}

__getattr__ = deferred(__name__, _HOMES)
