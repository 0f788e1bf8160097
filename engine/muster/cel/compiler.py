"""From text to program, once per expression and process: analyse it, or load the analysis, then generate code."""

from collections import OrderedDict

from muster.cel import cache
from muster.cel.codegen.generate import generate
from muster.cel.env import Env
from muster.cel.program import Program

_DYNAMIC = Env()
_CACHED_PROGRAMS = 20_000

_programs: OrderedDict[tuple[object, ...], Program] = OrderedDict()


def compile(text: str, env: Env | None = None) -> Program:  # noqa: A001 - used as cel.compile
    """Return the program for `text`. Raises CompileError with everything that is wrong.

    The same text in an equal environment gives the same program.
    """
    env = _DYNAMIC if env is None else env
    # Functions with the same signature have the same digest, but the program must call the right one.
    key = (text, env.digest, *(id(env.functions[name].call) for name in sorted(env.functions)))
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = _compile(text, env)
        if len(_programs) > _CACHED_PROGRAMS:
            _programs.popitem(last=False)
    return program


def _compile(text: str, env: Env) -> Program:
    store = cache.current()
    analysed = None if store is None else store.load(text, env.digest)
    if analysed is None:
        # Parser, checker and Lark take 100 ms to import, which a process that finds its expressions in the cache saves.
        from muster.cel.analysis import analyse

        analysed = analyse(text, env)
        if store is not None:
            store.save(text, env.digest, *analysed)
    node, types, warnings = analysed
    return Program(text, env, node, types, generate(node, env, types), warnings)
