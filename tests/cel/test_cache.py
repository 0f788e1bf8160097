"""Compiled expressions are loaded from disk unchanged, and no file in the directory can do harm."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster import cel
from muster.cel import cache, serial
from muster.cel.codegen.generate import generate
from muster.cel.parser import parse
from muster.cel.types import DYN, TIMESTAMP, ListType
from tests.conformance import cel as cases

TEXT = "now - self.created > duration('5m') && self.items.exists(i, i > 2)"
VERSION = "1.0"
ENV = cel.Env(variables={"self": DYN, "now": TIMESTAMP, "times": ListType(TIMESTAMP)})

PROGRAM = """
import sys
from pathlib import Path
from muster import cel
from muster.cel import cache
cache.use(Path(sys.argv[1]), "1.0")
program = cel.compile("has(self.spec) && self.spec.replicas > 2", cel.Env())
print(program.evaluate({"self": {"spec": {"replicas": 3}}}), "celpy" in sys.modules, "lark" in sys.modules)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    cache.use(tmp_path, VERSION)
    yield tmp_path
    cache.use(None, VERSION)


def lines(directory: Path) -> list[str]:
    return [line for path in sorted(directory.iterdir()) for line in path.read_text().splitlines()]


def test_a_second_process_needs_no_parser(tmp_path: Path) -> None:
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["True False True\n", "True False False\n"]


def test_every_tree_survives() -> None:
    for case in cases.cases(Path(cases.__file__).parent / "cases"):
        try:
            node = parse(case["expr"])
        except cel.SyntaxIssue:
            continue
        if "nan" not in case["expr"].lower():
            assert serial.load(json.loads(json.dumps(serial.dump(node)))) == node


def test_types_survive(directory: Path) -> None:
    store = cache.ExpressionCache(directory, VERSION)
    node = parse(TEXT)
    warnings = (cel.Issue("never true", 3, 1, 4, "look again", is_warning=True),)
    store.save(TEXT, ENV.digest, node, {3: TIMESTAMP, 4: ListType(TIMESTAMP)}, warnings)
    assert cache.ExpressionCache(directory, VERSION).load(TEXT, ENV.digest) == (
        node,
        {3: TIMESTAMP, 4: ListType(TIMESTAMP)},
        warnings,
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: line.replace('"_&&_"', '"_?_:_"'),
        lambda line: line.replace('"C"', '"__import__"'),
        lambda line: line.replace('["I"', '["I",-1'),
        lambda line: line.replace('"text":"now', '"text":"new'),
        lambda line: line.split(" ")[0] + " " + "[" * 100_000,
        lambda line: line.split(" ")[0] + " " + '{"text": 1}',
    ],
)
def test_an_invalid_entry_is_skipped(directory: Path, damage: object) -> None:
    assert callable(damage)
    cache.ExpressionCache(directory, VERSION).save(TEXT, ENV.digest, parse(TEXT), {})
    (path,) = directory.iterdir()
    path.write_text(damage(path.read_text().strip()) + "\n")
    assert cache.ExpressionCache(directory, VERSION).load(TEXT, ENV.digest) is None


def test_what_an_entry_holds_cannot_become_code() -> None:
    for name in ("x']); import os; (v['", "\n    raise SystemExit", "'''", "\\"):
        node = serial.load(["S", 0, 0, ["I", 1, 0, name], name, False])
        program = cel.Program("x", cel.Env(), node, {}, generate(node, cel.Env(), {}))
        assert program.evaluate({name: {name: 7}}) == 7


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache.use(blocked / "below", VERSION)
    try:
        assert cel.compile("1 + 1 + 41 - 1").evaluate({}) == 42
    finally:
        cache.use(None, VERSION)


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_directory_that_others_can_write_into_is_not_used(directory: Path, mode: int) -> None:
    """We trust the files: with others' files, somebody else could decide what a policy does."""
    cache.ExpressionCache(directory, VERSION).save(TEXT, ENV.digest, parse(TEXT), {})
    assert cache.ExpressionCache(directory, VERSION).load(TEXT, ENV.digest) is not None
    before = lines(directory)
    directory.chmod(mode)
    assert cache.ExpressionCache(directory, VERSION).load(TEXT, ENV.digest) is None
    cache.ExpressionCache(directory, VERSION).save("2 + 2", ENV.digest, parse("2 + 2"), {})
    assert lines(directory) == before


def test_a_pipe_or_a_link_in_its_place_is_not_used(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Opening never blocks on a pipe without a writer."""
    cache.ExpressionCache(directory, VERSION).save(TEXT, ENV.digest, parse(TEXT), {})
    (path,) = directory.iterdir()
    elsewhere = path.rename(tmp_path_factory.mktemp("elsewhere") / "file")
    for put in (os.mkfifo, lambda link: link.symlink_to(elsewhere)):
        put(path)
        assert cache.ExpressionCache(directory, VERSION).load(TEXT, ENV.digest) is None
        cache.ExpressionCache(directory, VERSION).save(TEXT, ENV.digest, parse(TEXT), {})
        path.unlink()
    assert len(elsewhere.read_text().splitlines()) == 1
