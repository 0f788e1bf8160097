"""From text to program: parse, check, resolve, generate; each expression once per process."""

from collections import OrderedDict
from typing import Any

from muster.cel.checker import Checked, check
from muster.cel.codegen.generate import generate
from muster.cel.env import Env, declared
from muster.cel.errors import CompileError
from muster.cel.parser import parse
from muster.cel.program import Program
from muster.cel.resolve import resolve
from muster.model.finding import Severity

_DYNAMIC = Env()
_KEPT = 20_000

_programs: OrderedDict[tuple[Any, ...], Program] = OrderedDict()


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


def inspect(text: str, env: Env) -> Checked:
    """Return what the checker finds: types, and issues of which some may only be warnings. Raises SyntaxIssue."""
    return check(parse(text), declared(env), text)


def _compile(text: str, env: Env) -> Program:
    node = parse(text)
    types = {}
    if env.typed:
        checked = check(node, declared(env), text)
        errors = tuple(issue for issue in checked.issues if issue.severity is Severity.ERROR)
        if errors:
            raise CompileError(errors)
        types = dict(checked.types)
    resolved = resolve(node, env)
    source, body = generate(resolved, env, types)
    return Program(text, env, resolved, types, body, source)
