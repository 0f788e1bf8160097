"""docs/detect.md: its command lines are ones that muster takes, and its files are sound."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

import muster
from muster.agents.detect.table import TableRow, read_table
from muster.commandline import cli

PAGE = (Path(__file__).parents[2] / "docs" / "detect.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
FILES = [block for block in BLOCKS if "apiVersion" in block]
TABLES = [block for block in BLOCKS if "apiVersion" not in block]
ANSWERS = Path(__file__).parents[1] / "agents/detect/answers"


@pytest.mark.parametrize("line", LINES)
def test_a_command_line(line: str) -> None:
    program, *arguments = shlex.split(re.split(r" [|>] ", line)[0])
    assert program == "muster"
    context, command = click.Context(cli, **cli.context_settings), click.Command("none")
    group: click.Command = cli
    while isinstance(group, click.Group):
        _, found, arguments = group.resolve_command(context, arguments)
        assert found is not None
        group = command = found
    made = command.make_context("muster", list(arguments), parent=context)
    assert made.params


def test_the_files(tmp_path: Path) -> None:
    for number, text in enumerate(FILES):
        (tmp_path / f"{number}.yaml").write_text(text)
    assert FILES
    assert muster.evaluate(tmp_path, datetime(2026, 1, 1, tzinfo=UTC)).findings == []


def test_the_tables(tmp_path: Path) -> None:
    assert [len(table(tmp_path, text)) for text in TABLES] == [3, 6]


def table(folder: Path, text: str) -> list[TableRow]:
    (folder / "table.yaml").write_text(text)
    rows, findings = read_table(folder / "table.yaml")
    assert findings == []
    return rows


@pytest.mark.parametrize("answers", ["healthy", "broken", "failing"])
def test_managed_control_planes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str) -> None:
    """The programs answer what is recorded for their first words, and refuse other arguments as the real ones do."""
    for program, words in (("aws", "$2"), ("gcloud", "$2-$3"), ("az", "$1-$2")):
        script = f'#!/bin/sh\nexec cat "{ANSWERS}/{answers}/{program}-{words}.json"\n'
        (tmp_path / program).write_text(script)
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    expected = {"healthy": True, "broken": False, "failing": None}[answers]
    for row in table(tmp_path, TABLES[1]):
        assert row.probe().run().healthy is expected, row
