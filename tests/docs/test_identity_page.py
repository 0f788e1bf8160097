"""docs/identity.md: its command lines are ones that muster takes, and its rulesets can be read."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from muster.commandline import cli

PAGE = (Path(__file__).parents[2] / "docs" / "identity.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("muster ")]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line(line: str) -> None:
    _, *arguments = shlex.split(line.partition(" > ")[0])
    context, command = click.Context(cli, **cli.context_settings), click.Command("none")
    group: click.Command = cli
    while isinstance(group, click.Group):
        _, found, arguments = group.resolve_command(context, arguments)
        assert found is not None
        group = command = found
    assert command.make_context("muster", arguments, parent=context).params


def test_the_rulesets_are_json() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    assert [rule["name"] for rule in json.loads(text)] == ["main", "derived"]
