"""What cel-python's parser and evaluator would do for muster: `python -m benchmarks.cel_python [--rounds N]`.

Prints the figures of CONTRIBUTING.md: what importing them costs, what parsing an expression takes beside the
parser that muster builds from the same grammar, and which of the language definition's cases each gets right.
"""

import argparse
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import celpy
from celpy import celtypes
from celpy.celparser import CELParseError, CELParser
from lark.exceptions import LarkError
from tests.cel.comparing import ERROR, comparable
from tests.conformance.cel import cases, decode

from benchmarks.cel_cases import CASES, policy_cases
from muster import cel
from muster.cel.grammar import parser
from muster.cel.parser import parse

DIRECTORY = Path(__file__).parents[1] / "tests" / "conformance" / "cases"
STARTS = {
    "lark": "import lark",
    "muster.cel": "import muster.cel",
    "muster.cel, its parser built": "import muster.cel.grammar as g; g.parser()",
    "celpy": "import celpy",
    "celpy, its parser built": "import celpy; from celpy.celparser import CELParser; CELParser()",
}


def started(code: str, rounds: int) -> float:
    """Return the median milliseconds of CPU time that a fresh process takes for some code."""
    text = f"import time; start = time.process_time()\n{code}\nprint((time.process_time() - start) * 1000)"
    command = [sys.executable, "-c", text]
    return statistics.median(float(subprocess.check_output(command, text=True)) for _ in range(rounds))


def parsing(parse_one: Callable[[str], object], texts: Iterable[str], rounds: int) -> float:
    """Return the microseconds that parsing one of the texts takes: the mean over them, the best of the rounds."""
    chosen = list(texts)
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        for text in chosen:
            parse_one(text)
        best = min(best, time.thread_time() - start)
    return best / len(chosen) * 1e6


def is_read(parse_one: Callable[[str], object], text: str) -> bool:
    """Return whether a parser takes a text."""
    try:
        parse_one(text)
    except (CELParseError, cel.CelError, LarkError):
        return False
    return True


def theirs(value: Any) -> Any:
    """Return a plain value in the classes of cel-python."""
    match value:
        case cel.UInt():
            return celtypes.UintType(value)
        case bytes():
            return celtypes.BytesType(value)
        case datetime():
            return celtypes.TimestampType(value)
        case timedelta():
            return celtypes.DurationType(value)
        case list():
            return celtypes.ListType([theirs(item) for item in value])
        case Mapping():
            return celtypes.MapType({theirs(key): theirs(item) for key, item in value.items()})
        case _:
            return celpy.json_to_cel(value)


def plain(value: Any) -> Any:
    """Return a value of cel-python as plain data."""
    if isinstance(value, celtypes.BoolType):
        return bool(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {plain(key): plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def given(case: Mapping[str, Any], evaluate: Callable[[str, Mapping[str, Any]], Any]) -> Any:
    """Return what an engine says of a case, in comparable form."""
    try:
        data = {name: decode(value) for name, value in case.get("bindings", {}).items()}
        return comparable(evaluate(case["expr"], data))
    except Exception:  # noqa: BLE001 - cel-python raises many classes
        return ERROR


def runner(name: str) -> Callable[[str, Mapping[str, Any]], Any]:
    """Return cel-python's evaluation by one of its runners; its parser is one per process, and of one of them."""
    CELParser.CEL_PARSER = None

    def evaluate(text: str, data: Mapping[str, Any]) -> Any:
        env = celpy.Environment(runner_class=getattr(celpy, name))
        return plain(env.program(env.compile(text)).evaluate({key: theirs(value) for key, value in data.items()}))

    return evaluate


def values(found: list[Mapping[str, Any]]) -> None:
    """Print how many of the cases each evaluator gets right."""
    for name in ("muster", "InterpretedRunner", "CompiledRunner"):
        evaluate = (lambda text, data: cel.compile(text).evaluate(data)) if name == "muster" else runner(name)
        right = sum(
            given(case, evaluate) == (comparable(decode(case["expect"])) if "expect" in case else ERROR)
            for case in found
        )
        print(f"{name}: {right} of {len(found)} values and errors right")


def unclosed(read: Callable[[str], object], escapes: int) -> float:
    """Return the milliseconds that a parser takes to refuse a text of so many escapes that lacks its last quote."""
    start = time.thread_time()
    assert not is_read(read, "'" + r"\\a" * escapes)
    return (time.thread_time() - start) * 1000


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    rounds = arguments.parse_args().rounds
    for name, code in STARTS.items():
        print(f"start, {name}: {started(code, rounds):.0f} ms")

    limit = sys.getrecursionlimit()
    logging.disable(logging.CRITICAL)
    reads: dict[str, Callable[[str], object]] = {
        "cel-python's parser": CELParser().parse,
        "muster's, the parse tree": lambda text: parser().parse(text),
        "muster's, the syntax tree": parse,
    }
    texts = [case.text for case in (*CASES, *policy_cases())]
    for name, read in reads.items():
        known = [text for text in texts if is_read(read, text)]
        print(f"{name}: {parsing(read, known, rounds):.0f} us each, reads {len(known)} of {len(texts)} of ours")

    for name, read in list(reads.items())[:2]:
        print(
            f"{name}: an unclosed quote, " + ", ".join(f"{n} escapes {unclosed(read, n):.1f} ms" for n in (8, 10, 12))
        )

    found = [case for case in cases(DIRECTORY) if "expect" in case or case.get("expect_error")]
    sound = [case["expr"] for case in found if "expect" in case]
    for name, read in reads.items():
        print(f"{name}: reads {sum(is_read(read, text) for text in sound)} of {len(sound)} sound expressions")
    values([case for case in found if "type_env" not in case and not case.get("container")])
    sys.setrecursionlimit(limit)


if __name__ == "__main__":
    main()
