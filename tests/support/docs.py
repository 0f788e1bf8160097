"""Writes the generated parts of docs/: `python -m tests.support.docs`. The tests check that they are current."""

from pathlib import Path

import click

from muster.commands.cli import VERBS, cli
from muster.model.codes import CODES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def errors_page() -> str:
    """docs/errors.md: every finding code with its explanation."""
    lines = [
        "# Findings",
        "",
        "Generated from `engine/muster/model/codes.py` by `make docs`. A code is never reused.",
        "",
    ]
    for code in sorted(CODES.values(), key=lambda code: code.name):
        lines += [f"## {code.name}: {code.title}", "", f"*{code.severity.value}.* {code.explanation}", ""]
    return "\n".join(lines)


def commands_page() -> str:
    """docs/commands.md: the help text of every verb."""
    root = click.Context(cli, info_name="muster", **cli.context_settings)
    lines = ["# Commands", "", "Generated from the help texts by `make docs`.", "", *_block(root)]
    for verb in VERBS:
        command = cli.get_command(root, verb)
        assert command is not None
        context = click.Context(command, info_name=verb, parent=root)
        lines += [f"## {verb}", "", *_block(context)]
        for name, part in sorted(command.commands.items()) if isinstance(command, click.Group) else ():
            lines += [f"### {verb} {name}", "", *_block(click.Context(part, info_name=name, parent=context))]
    return "\n".join(lines)


def _block(context: click.Context) -> list[str]:
    context.terminal_width = context.max_content_width = 100
    return ["```", context.get_help(), "```", ""]


PAGES = {"errors.md": errors_page, "commands.md": commands_page}


def write() -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
