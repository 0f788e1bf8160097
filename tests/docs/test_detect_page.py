"""docs/detect.md: its command lines are ones that muster takes, and its files are sound."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

import muster
from muster.__main__ import cli

PAGE = (Path(__file__).parents[2] / "docs" / "detect.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]
FILES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)


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
