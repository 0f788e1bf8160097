"""CEL engines for Python, side by side in one process: `python -m benchmarks.cel [--rounds N] [--json]`.

Every figure is thread CPU time; every round measures every engine once before the next begins, so that a change of
the machine's pace meets all of them; the median over the rounds counts. An engine is measured twice per expression:
with its context converted beforehand, and with the conversion that a fresh object needs. Needs the `bench` extra.

`--go` measures cel-go instead, which Go builds from `benchmarks/cel_go`: muster and a process of cel-go take turns, and
of each the least time counts.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from benchmarks.cel_cases import CASES, NOW, Case, environment, policy_cases, variables
from muster import cel as muster_cel

BLOCK_SECONDS = 0.004

#: What a figure is of: the expression, the engine, and `fresh`, `ready` or `compile`.
Key = tuple[str, str, str]


class Engine(Protocol):
    """One engine: it compiles a text, prepares a context from plain data, and evaluates."""

    name: str

    def compile(self, text: str) -> Any: ...

    def prepare(self, data: Mapping[str, Any]) -> Any: ...

    def evaluator(self, program: Any) -> Callable[[Any], Any]: ...


class Muster:
    """This project's engine, its variables typed by their schemas."""

    name = "muster"

    def __init__(self) -> None:
        self._env = environment()
        self._numbers = count()

    def compile(self, text: str) -> Any:
        # A text is compiled once per process: a comment makes each one new.
        return muster_cel.compile(f"{text} // {next(self._numbers)}", self._env)

    def prepare(self, data: Mapping[str, Any]) -> Any:
        return {**data, "now": muster_cel.Clock(data["now"]).now} if "now" in data else data

    def evaluator(self, program: Any) -> Callable[[Any], Any]:
        evaluate: Callable[[Any], Any] = program.evaluate
        return evaluate


class CelPython:
    """cel-python, with one of its two runners. Its parser is one per process, of one runner: it is swapped."""

    def __init__(self, runner: str) -> None:
        import celpy

        self._celpy = celpy
        self._runner = getattr(celpy, runner)
        self._parser: Any = None
        self.name = "cel-python " + ("compiled" if runner == "CompiledRunner" else "interpreted")

    def compile(self, text: str) -> Any:
        self._celpy.CELParser.CEL_PARSER = self._parser
        limit = sys.getrecursionlimit()
        env = self._celpy.Environment(runner_class=self._runner)
        program = env.program(env.compile(text))
        sys.setrecursionlimit(limit)
        self._parser = self._celpy.CELParser.CEL_PARSER
        return program

    def prepare(self, data: Mapping[str, Any]) -> Any:
        celtypes = self._celpy.celtypes
        return {
            name: celtypes.TimestampType(value) if name == "now" else self._celpy.json_to_cel(value)
            for name, value in data.items()
        }

    def evaluator(self, program: Any) -> Callable[[Any], Any]:
        evaluate: Callable[[Any], Any] = program.evaluate
        return evaluate


class Rust:
    """common-expression-language: the Rust `cel` crate."""

    name = "Rust cel"

    def __init__(self) -> None:
        import cel

        self._cel = cel

    def compile(self, text: str) -> Any:
        return self._cel.compile(text)

    def prepare(self, data: Mapping[str, Any]) -> Any:
        return self._cel.Context(variables=dict(data))

    def evaluator(self, program: Any) -> Callable[[Any], Any]:
        evaluate: Callable[[Any], Any] = program.execute
        return evaluate


class CelCpp:
    """cel-expr-python: Google's cel-cpp."""

    name = "cel-cpp"

    def __init__(self) -> None:
        from cel_expr_python import cel

        data = ("self", "lease", "leaseDurationSeconds", "reports", "conditions", "reported", "variables")
        kinds = {**dict.fromkeys(data, cel.Type.DYN), "now": cel.Type.TIMESTAMP, "l": cel.Type.List(cel.Type.INT)}
        self._env = cel.NewEnv(variables=kinds)

    def compile(self, text: str) -> Any:
        return self._env.compile(text)

    def prepare(self, data: Mapping[str, Any]) -> Any:
        return self._env.Activation(data)

    def evaluator(self, program: Any) -> Callable[[Any], Any]:
        run = program.eval
        return lambda activation: run(activation).plain_value()


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be timed, and how often one block repeats it."""

    key: Key
    run: Callable[[], Any]
    repeats: int


def timed(run: Callable[[], Any], repeats: int) -> float:
    """Return the microseconds of thread CPU time that one call takes."""
    loop = range(repeats)
    start = time.thread_time()
    for _ in loop:
        run()
    return (time.thread_time() - start) / repeats * 1e6


def task(key: Key, run: Callable[[], Any]) -> Task:
    """Return the task with as many repeats as fill a block."""
    once = max(timed(run, 1), timed(run, 1), 0.05)
    return Task(key, run, max(1, min(int(BLOCK_SECONDS * 1e6 / once), 20_000)))


def measure(tasks: Sequence[Task], rounds: int) -> dict[Key, float]:
    """Return the median microseconds per task: all tasks once per round."""
    found: dict[Key, list[float]] = {job.key: [] for job in tasks}
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for job in tasks:
            found[job.key].append(timed(job.run, job.repeats))
    gc.enable()
    return {key: statistics.median(times) for key, times in found.items()}


def fresh(prepare: Callable[[Any], Any], evaluate: Callable[[Any], Any], data: Mapping[str, Any]) -> Any:
    """Evaluate on a context that is made for it."""
    return evaluate(prepare(data))


def expression_tasks(engines: Sequence[Engine], cases: Sequence[Case]) -> list[Task]:
    """Return the tasks of all expressions on all engines: `ready` and `fresh` contexts, and `compile`."""
    tasks = []
    everything = variables()
    for case in cases:
        data = {name: everything[name] for name in case.uses}
        expected = None
        for engine in engines:
            text = case.text if isinstance(engine, Muster) else case.elsewhere or case.text
            if case.elsewhere and not isinstance(engine, Muster):
                data = {name: value for name, value in data.items() if name != "variables"}
            try:
                program = engine.compile(text)
                evaluate = engine.evaluator(program)
                context = engine.prepare(data)
                value = str(evaluate(context))
            except Exception as error:  # noqa: BLE001 - an engine that cannot do it is left out, and says so
                print(f"# {engine.name} cannot do ({case.name}): {str(error)[:80]!r}", file=sys.stderr)
                continue
            expected = value if expected is None else expected
            if value != expected:
                print(f"# {engine.name} gives {value} for ({case.name})", file=sys.stderr)
            tasks.append(task((case.name, engine.name, "ready"), partial(evaluate, context)))
            tasks.append(task((case.name, engine.name, "fresh"), partial(fresh, engine.prepare, evaluate, data)))
            tasks.append(task((case.name, engine.name, "compile"), partial(engine.compile, text)))
        if case.by_hand is not None:
            tasks.append(task((case.name, "by hand", "ready"), partial(case.by_hand, data)))
    return tasks


LOOPS = (
    Case("sum", "two nested loops, 90 ints", "l.all(a, l.all(b, a + b >= 0))", ("l",)),
    Case("find", "a search in a loop, 90 ints", "l.filter(a, l.exists(b, b == a)).size() == 90", ("l",)),
)


def loop_tasks(engines: Sequence[Engine]) -> list[Task]:
    """Return tasks that only compute: nested loops over a short list of ints."""
    tasks = []
    data = {"l": list(range(90))}
    for case in LOOPS:
        for engine in engines:
            try:
                evaluate, context = engine.evaluator(engine.compile(case.text)), engine.prepare(data)
                evaluate(context)
            except Exception as error:  # noqa: BLE001
                print(f"# {engine.name} cannot do ({case.name}): {str(error)[:80]!r}", file=sys.stderr)
                continue
            tasks.append(task((case.name, engine.name, "ready"), partial(evaluate, context)))
    return tasks


def fleet(engine: Engine, objects: int, expressions: int = 20) -> float:
    """Return the seconds that `expressions` over so many separately parsed objects take, conversion included."""
    programs = [(engine.evaluator(engine.compile(case.text)), case.uses) for case in CASES[:6]]
    chosen = [programs[position % len(programs)] for position in range(expressions)]
    text = json.dumps({name: variables()[name] for name in ("self", "lease", "reports")})
    total = 0.0
    remaining = objects
    while remaining > 0:  # parsed in batches: all at once would take gigabytes
        batch = [{**json.loads(text), "now": NOW} for _ in range(min(500, remaining))]
        remaining -= len(batch)
        gc.collect()
        start = time.thread_time()
        for data in batch:
            context = engine.prepare(data)
            for evaluate, _ in chosen:
                evaluate(context)
        total += time.thread_time() - start
    return total


def memory(engine: Engine, count: int) -> float:
    """Return the kibibytes that a compiled expression keeps, over so many different ones."""
    engine.compile(CASES[2].text)
    tracemalloc.start()
    kept = [engine.compile(f"self.spec.leaseDurationSeconds > {number} && {CASES[2].text}") for number in range(count)]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] / 1024 / len(kept)
    tracemalloc.stop()
    return grown


def beside_go(rounds: int) -> str:
    """Return a table of muster and cel-go, ready contexts: microseconds, and how many times muster's cel-go takes."""
    everything = variables()
    cases = [{"name": case.name, "text": case.elsewhere or case.text, "uses": case.uses} for case in CASES]
    plain = {name: everything[name] for case in CASES for name in case.uses if name != "now"}
    question = json.dumps({"now": NOW.isoformat(), "variables": plain, "cases": cases})
    engine = Muster()
    ours, go, limited = dict[str, float](), dict[str, float](), dict[str, float]()
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "cel_go"
        subprocess.run(["go", "build", "-o", program, "."], cwd=Path(__file__).parent / "cel_go", check=True)
        for _ in range(rounds):
            for case in CASES:
                context = engine.prepare({name: everything[name] for name in case.uses})
                run = partial(engine.evaluator(muster_cel.compile(case.text, environment())), context)
                _least(ours, case.name, min(timed(run, 5_000) for _ in range(5)))
            # One thread, as muster has; collecting garbage is part of an evaluation that makes some.
            said = subprocess.run(
                [program, "5"],
                input=question,
                env={**os.environ, "GOMAXPROCS": "1"},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for answer in json.loads(said):
                _least(go, answer["name"], answer["plain"])
                _least(limited, answer["name"], answer["limited"])
    lines = [_row("", ["muster", "cel-go", "cel-go with a limit of cost"]), _row("---", ["---"] * 3)]
    for name, mine in ours.items():
        lines.append(_row(name, [f"{mine:.3g}", _cell(go[name], mine), _cell(limited[name], mine)]))
    return "\n".join(lines)


def _least(known: dict[str, float], name: str, found: float) -> None:
    known[name] = min(known.get(name, found), found)


KINDS = {"fresh": "context preparation and evaluation", "ready": "evaluation alone", "compile": "parse and compile"}


def report(found: Mapping[Key, float], names: Sequence[str]) -> str:
    """Return the figures as Markdown: microseconds, and behind them how many times muster's own."""
    lines = []
    for kind, title in KINDS.items():
        columns = [name for name in (*names, "by hand") if any(key[1:] == (name, kind) for key in found)]
        if not columns:
            continue
        lines += [f"\n**{title}**, µs (times muster)\n", _row("", columns), _row("---", ["---"] * len(columns))]
        for case in dict.fromkeys(key[0] for key in found if key[2] == kind):
            ours = found.get((case, "muster", kind))
            lines.append(_row(case, [_cell(found.get((case, name, kind)), ours) for name in columns]))
    return "\n".join(lines)


def _row(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def _cell(value: float | None, ours: float | None) -> str:
    if value is None:
        return "–"
    times = f" ({value / ours:.3g}x)" if ours and value != ours else ""
    return f"{value:.3g}{times}"


def main() -> None:
    """Run everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", choices=["expressions", "policies", "loops", "fleet", "memory"])
    parser.add_argument("--go", action="store_true", help="beside cel-go; needs Go")
    parser.add_argument("--objects", type=int, default=20_000)
    chosen = parser.parse_args()
    if chosen.go:
        print(beside_go(chosen.rounds))
        return
    engines: list[Engine] = [Muster(), CelCpp(), Rust(), CelPython("CompiledRunner"), CelPython("InterpretedRunner")]
    names = [engine.name for engine in engines]
    if chosen.only in (None, "expressions"):
        print(report(measure(expression_tasks(engines, CASES), chosen.rounds), names))
    if chosen.only in (None, "policies"):
        print(report(measure(expression_tasks(engines, policy_cases()), chosen.rounds), names))
    if chosen.only in (None, "loops"):
        print(report(measure(loop_tasks(engines[:3]), chosen.rounds), names))
    if chosen.only in (None, "fleet"):
        for engine, share in zip(engines, (1, 10, 40, 400, 2000), strict=True):
            objects = max(chosen.objects // share, 5)
            seconds = fleet(engine, objects) * chosen.objects / objects
            print(
                f"{engine.name}: {chosen.objects:,} objects x 20 expressions {seconds:.2f} s (measured on {objects:,})"
            )
    if chosen.only in (None, "memory"):
        print(f"memory of one compiled expression, of 10,000: {memory(engines[0], 10_000):.1f} KiB")


if __name__ == "__main__":
    main()
