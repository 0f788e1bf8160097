"""docs/monitoring.md: its command lines are ones that muster takes. What it prints is held by `make docs`."""

import re
import shlex
from pathlib import Path

import click
import pytest

from muster.commandline import cli

PAGE = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fleet").mkdir()
    for name in ("token.txt", "tls.crt", "tls.key", "ca.crt", "secret.txt"):
        Path(name).touch()
    program, verb, *arguments = [word for word in shlex.split(line) if not word.startswith("OTEL_")]
    context = click.Context(cli, **cli.context_settings)
    command = cli.get_command(context, verb)
    assert program == "muster"
    assert command is not None
    assert command.make_context(verb, arguments, parent=context).params
