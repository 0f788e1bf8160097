"""`muster explain`: why something is as it is."""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import completion, options
from muster.cli.outcome import report, told_of
from muster.cli.progress import working
from muster.data.source import Place
from muster.data.times import age
from muster.features.whatif.options import Supposed, supposed_options

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.data.ids import ObjectId


@click.command()
@click.argument("target", metavar="KIND/NAME|KIND.FIELD|CODE", shell_complete=completion.targets)
@click.argument("field", required=False, default="")
@options.source_options
@options.state_option
@supposed_options
@options.output_option("text", "json")
def command(
    target: str, field: str, source: options.Source, state: Path | None, supposed: Supposed, output: str
) -> int:
    """Say why an object is as it is: the rule behind each field, the rule's expression with the value of each part,
    the inputs with file, line, commit and author, the arithmetic of deadlines, and until when it holds.

    FIELD is a path (`status.conditions[Available]`), or a part of one (`Available`, `taints`, `remedyActions`); of a
    Placement also the name of a cluster: why it is chosen, or not. KIND.FIELD prints what the schema says of a field,
    CODE what a finding means.
    """
    from muster.data.kinds import UnknownKind
    from muster.features.explain.pages import page_of

    with options.usage_errors(UnknownKind):
        page = page_of(target)
    if page is not None:
        sys.stdout.write(page)
        return 0
    is_named = options.one_object(target)
    with supposed.over(replace(source.reading(), state=state), state, source.now) as tried:
        return _explain(tried, is_named, target, field, source.now, output)


def _explain(
    reading: "FleetReading", is_named: "Callable[[ObjectId], bool]", target: str, field: str, now: datetime, output: str
) -> int:
    from muster.cli.documents import json_text
    from muster.cli.reading import run_of
    from muster.features.explain.explain import NothingDecided, explain
    from muster.features.explain.text import explanation_document, explanation_text
    from muster.rules.policies.witness import Witness

    witness = Witness(is_named)
    with working("evaluating the fleet"):
        run = run_of(reading, now, options.wanted(target), witness)
    id_ = options.the_one(run, target, is_named)
    with options.usage_errors(NothingDecided):
        found = explain(run, witness, id_, field)
    told = _told(reading, now)
    sys.stdout.write(
        json_text(explanation_document(found, told)) if output == "json" else explanation_text(found, told)
    )
    return report([one for one in told_of(run) if one.object == id_])


def _told(reading: "FleetReading", now: datetime) -> Callable[[Place], str]:
    """Who wrote what stands at a place, as far as git knows."""
    from muster.fleet.builtin import PREFIX
    from muster.git.authors import line_author

    repository, commit = reading.repository, reading.snapshot.commit

    @cache
    def told(place: Place) -> str:
        if repository is None or not place.line or place.file.startswith(PREFIX):
            return ""
        ref, _, path = place.file.rpartition(":")
        revision = reading.tip_of(ref) if ref else commit
        found = line_author(repository, revision, path, place.line) if revision else None
        if found is None:
            return ""
        when = f"{age(found.time, now)} ago" if found.time <= now else f"on {found.time:%Y-%m-%d}"
        return f"{found.commit} by {found.author}, {when}"

    return told
