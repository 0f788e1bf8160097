"""From text to program: parse, check, resolve, generate; each expression once per process.

The parser and the checker are imported when they are first needed: a process that finds its expressions in the cache
pays for neither.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from muster.cel import ast, cache
from muster.cel.codegen.generate import generate
from muster.cel.env import Env, check_env
from muster.cel.errors import CompileError, CostIssue, Issue, issue_at
from muster.cel.program import Program
from muster.cel.types import DYN, Type, reduce_type

if TYPE_CHECKING:
    from muster.cel.checker import CheckedExpression

_DYNAMIC = Env()
_KEPT = 20_000
_MOST_ISSUES = 20

_programs: OrderedDict[tuple[object, ...], Program] = OrderedDict()


def compile(text: str, env: Env | None = None) -> Program:  # noqa: A001 - the interface's name for it
    """Return the program for `text`. Raises CompileError with all that is wrong, SyntaxIssue where it is not CEL.

    The same text in an equal environment gives the same program.
    """
    env = _DYNAMIC if env is None else env
    # Two functions of one signature are one for the digest, but not for the program that calls them.
    key = (text, env.digest, *(id(env.functions[name].call) for name in sorted(env.functions)))
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = _compile(text, env)
        if len(_programs) > _KEPT:
            _programs.popitem(last=False)
    return program


def inspect(text: str, env: Env) -> "CheckedExpression":
    """Return what the checker finds: types, and issues of which some may only be warnings. Raises SyntaxIssue."""
    from muster.cel.checker import check
    from muster.cel.parser import parse

    return check(parse(text), check_env(env), text)


def _compile(text: str, env: Env) -> Program:
    store = cache.current()
    found = None if store is None else store.load(text, env.digest)
    if found is None:
        found = _analysed(text, env)
        if store is not None:
            store.save(text, env.digest, *found)
    node, types, warnings = found
    source, body = generate(node, env, types)
    return Program(text, env, node, types, body, source, warnings)


def _analysed(text: str, env: Env) -> tuple[ast.Node, dict[int, Type], tuple[Issue, ...]]:
    """Return the resolved tree of a text, the types that the generator needs of it, and what looks suspicious."""
    from muster.cel.parser import parse
    from muster.cel.resolve import resolve

    node = parse(text)
    types: Mapping[int, Type] = {}
    warnings: tuple[Issue, ...] = ()
    if env.typed:
        from muster.cel.checker import check

        checked = check(node, check_env(env), text)
        errors = tuple(issue for issue in checked.issues if not issue.is_warning)
        if errors:
            raise CompileError(_first(errors, text))
        _afford(text, env, node, checked)
        types = checked.types
        doubts = tuple(issue for issue in checked.issues if issue.is_warning)
        warnings = _first(doubts, text)
    resolved = resolve(node, env)
    return resolved, _needed(resolved, types), warnings


def _first(issues: tuple[Issue, ...], text: str) -> tuple[Issue, ...]:
    """Return the first of many issues, and how many more there are at the place of the next."""
    if len(issues) <= _MOST_ISSUES:
        return issues
    rest = issues[_MOST_ISSUES:]
    message = f"{len(rest):,} more of this expression are not shown"
    return (*issues[:_MOST_ISSUES], issue_at(text, rest[0].offset, message, is_warning=rest[0].is_warning))


def _afford(text: str, env: Env, node: ast.Node, checked: "CheckedExpression") -> None:
    """Refuse an expression that may cost more than its environment allows. Raises CostIssue."""
    from muster.cel.cost import estimate, limit_issue

    if env.max_estimate is not None and (issue := limit_issue(estimate(node, checked, env), env.max_estimate, text)):
        raise CostIssue((issue,))


def _needed(node: ast.Node, types: Mapping[int, Type]) -> dict[int, Type]:
    """Return the reduced types of what is read from data, of what loops go over, and of the whole."""
    wanted = {node.id}
    for current in ast.walk(node):
        if isinstance(current, ast.Ident | ast.Select | ast.IndexNode):
            wanted.add(current.id)
        elif isinstance(current, ast.Macro):
            wanted.add(current.range.id)
    reduced = {identity: reduce_type(types[identity]) for identity in sorted(wanted) if identity in types}
    return {identity: kind for identity, kind in reduced.items() if kind != DYN}
