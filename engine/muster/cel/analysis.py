"""Everything that can be said of an expression before it becomes a program: parse, check, estimate and resolve it."""

from collections.abc import Mapping

from muster.cel import ast
from muster.cel.cache import Analysis
from muster.cel.checker.check import CheckedExpression, check
from muster.cel.cost import estimate, limit_issue
from muster.cel.env import Env, check_env
from muster.cel.errors import CompileError, CostIssue, Issue, issue_at
from muster.cel.parser import parse
from muster.cel.resolve import resolve
from muster.cel.types import DYN, Type, reduce_type
from muster.cel.unfolding import unfolding_issue

_MOST_ISSUES = 20


def inspect(text: str, env: Env) -> CheckedExpression:
    """Return the types and issues that the checker finds. Raises SyntaxIssue if the text is not CEL."""
    return check(parse(text), check_env(env), text)


def analyse(text: str, env: Env) -> Analysis:
    """Return the resolved tree of a text, the types that the generator needs, and the warnings.

    Raises CompileError with everything that is wrong: SyntaxIssue if the text is not CEL, CostIssue if it may cost too
    much.
    """
    node = parse(text)
    types: Mapping[int, Type] = {}
    warnings: tuple[Issue, ...] = ()
    if env.typed:
        checked = check(node, check_env(env), text)
        errors = tuple(issue for issue in checked.issues if not issue.is_warning)
        if errors:
            raise CompileError(_first(errors, text))
        _require_affordable(text, env, node, checked)
        types = checked.types
        doubts = tuple(issue for issue in checked.issues if issue.is_warning)
        warnings = _first(doubts, text)
    if large := unfolding_issue(node, text):
        raise CostIssue((large,))
    resolved = resolve(node, env)
    return resolved, _needed(resolved, types), warnings


def _first(issues: tuple[Issue, ...], text: str) -> tuple[Issue, ...]:
    """Return the first issues, and one that counts the rest."""
    if len(issues) <= _MOST_ISSUES:
        return issues
    rest = issues[_MOST_ISSUES:]
    message = f"{len(rest):,} more issues of this expression are not shown"
    return (*issues[:_MOST_ISSUES], issue_at(text, rest[0].offset, message, is_warning=rest[0].is_warning))


def _require_affordable(text: str, env: Env, node: ast.Node, checked: CheckedExpression) -> None:
    """Raise CostIssue if the expression may cost more than its environment allows."""
    if env.max_estimate is not None and (issue := limit_issue(estimate(node, checked, env), env.max_estimate, text)):
        raise CostIssue((issue,))


def _needed(node: ast.Node, types: Mapping[int, Type]) -> dict[int, Type]:
    """Return the reduced types of everything read from data, of the ranges of loops, and of the whole expression."""
    wanted = {node.id}
    for current in ast.walk(node):
        if isinstance(current, ast.Ident | ast.Select | ast.IndexNode):
            wanted.add(current.id)
        elif isinstance(current, ast.Macro):
            wanted.add(current.range.id)
    reduced = {identity: reduce_type(types[identity]) for identity in sorted(wanted) if identity in types}
    return {identity: kind for identity, kind in reduced.items() if kind != DYN}
