"""`muster cel`: check, evaluate and explain one expression."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.outcome import say
from muster.data.printable import printable_json, printable_lines
from muster.data.times import format_time
from muster.data.tree import Tree

if TYPE_CHECKING:
    from muster.features.cel.evaluate import EvaluatedExpression


@click.command()
@click.argument("expression", metavar="EXPR")
@click.option(
    "--object",
    "file",
    type=options.FILE_THERE,
    metavar="FILE",
    help="A YAML file with the object (`self`), and its Lease and AdapterReports if it needs them.",
)
@options.output_option("text", "json")
@options.now_option
def command(expression: str, file: Path | None, now: datetime, output: str) -> int:
    """Evaluate EXPR as a policy would, and show the value of each part.

    With --object, the expression is first checked against the schema of the object's kind. The exit code is 1 if the
    expression is wrong, or fails for this object.

    \b
    Examples:
      muster cel 'now + duration("90m")'
      muster cel --object cluster.yaml "self.metadata.labels['region']"
    """
    from muster import cel
    from muster.data.yaml.positions import excerpt
    from muster.features.cel.evaluate import evaluate, value_text

    try:
        evaluated = evaluate(expression, _documents(file) if file else [], now)
    except cel.CompileError as error:
        for issue in error.issues:
            kind = "warning" if issue.is_warning else "error"
            click.echo(f"{issue.line}:{issue.column}: {kind}: {issue.message}", err=True)
            click.echo(_indented(excerpt(expression.encode("utf-8", "replace"), issue.line, issue.column)), err=True)
            if issue.hint:
                click.echo(f"    hint: {issue.hint}", err=True)
        return 1
    result = evaluated.result
    if output == "json":
        text = json.dumps(_document(evaluated), indent=2, ensure_ascii=False)
        sys.stdout.write(printable_json(text) + "\n")
        return int(result.error is not None)
    click.echo(printable_lines(str(result.trace)))
    click.echo()
    say(f"error: {result.error.message}" if result.error else f"{value_text(result.value)}  ({evaluated.type})")
    if file is None and result.error and "'self'" in result.error.message:
        click.echo("hint: name the file with the object by --object")
    for issue in evaluated.warnings:
        click.echo(f"warning: {issue.message}" + (f" ({issue.hint})" if issue.hint else ""))
    if result.horizon is not None:
        click.echo(f"holds until {format_time(result.horizon)}")
    click.echo(f"cost: {result.cost:,} units")
    return int(result.error is not None)


def _documents(file: Path) -> list[Tree]:
    from muster.data.yaml.loader import load_documents

    loaded = load_documents(file.read_bytes(), str(file))
    if loaded.problems:
        problem = loaded.problems[0]
        raise click.UsageError(f"{file}:{problem.line}:{problem.column}: {problem.message}")
    return [document.body for document in loaded.documents]


def _document(evaluated: "EvaluatedExpression") -> Tree:
    from muster.rules.policies.trees import spoken_tree

    result = evaluated.result
    return {
        "value": spoken_tree(result.value),
        "type": evaluated.type,
        "error": result.error.message if result.error else None,
        "horizon": None if result.horizon is None else format_time(result.horizon),
        "cost": result.cost,
    }


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
