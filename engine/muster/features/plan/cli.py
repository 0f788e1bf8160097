"""`muster plan`: what a reconcile would change, or what a branch changes in that."""

import os
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.cache import open_state_of, state_path
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.cli.reading import FleetReading, open_reading, settle_reading, warn_uncommitted
from muster.features.whatif.options import Supposed, supposed_options
from muster.git.config import remotes
from muster.git.derivedbranch import evaluated_commit
from muster.git.errors import RepositoryError

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.features.plan.plan import BranchComparison
    from muster.run.run import Settled
    from muster.run.workers import Workers


@click.command()
@options.repo_option
@options.snapshot_options
@click.option(
    "--base", metavar="REV", help="Show what this branch changes, since it left REV, in what would be derived."
)
@click.option(
    "--out",
    type=options.FILE,
    metavar="FILE",
    help="Write the plan to this file, too, for muster reconcile --plan.",
)
@options.offline_option
@options.agents_gone_option
@options.now_option
@options.state_option
@options.workers_option
@supposed_options
@options.output_option("table", "yaml", "json", "markdown")
@options.findings_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 where a reconcile, or the branch, would change anything.")
def command(
    repo: Path, rev: str | None, worktree: bool, base: str | None, out: Path | None, offline: bool, agents_gone: bool,
    now: datetime, state: Path | None, workers: "Workers", supposed: Supposed, output: str,
    findings: tuple[tuple[str, str], ...], exit_code: bool,
) -> int:  # fmt: skip
    """Show every transition that a reconcile would commit; commit nothing.

    With --base, show what a branch or a pull request changes in that: both it and the commit that it was made from (its
    merge base with REV) are decided as of the same instant, and compared. So nothing shows that time alone changes, or
    that is not carried out yet. Of findings, those count that are new. History that the clone lacks is fetched, unless
    --offline. Findings are told on standard error, and with --findings in the formats of forges and CI.
    """
    from muster.cli.listening import READER

    if out and (base or worktree or supposed):
        raise click.UsageError("--out is for what a reconcile of a commit would do: not with --base or --worktree.")
    if supposed and base is not None:
        raise click.UsageError("--base compares what is committed: suppose nothing with it.")
    with working("evaluating the fleet"):
        reading = open_reading(
            repo, rev, worktree=worktree, freshness=replace(READER, ask=not offline, gone=agents_gone)
        )
        if not (rev or worktree or base):
            warn_uncommitted(reading)
        instant = reading.instant(now)
        found = None if base is None else _branch(reading, base, rev, instant.now, state, ask=not offline)
        if supposed:
            settled = _supposed(reading, instant.now, state, supposed)
        else:
            settled = found.head if found else settle_reading(replace(reading, state=state), instant.now, workers)
    for each in (found.base, found.head) if found else (settled,):
        reading.require_heard(each.first)
    if out:
        _write(out, settled, reading)
    _print(settled, found, base or "", output)
    reading.print_age(instant.now, err=output != "table")
    if instant.note:
        click.echo(f"a reconcile would refuse: {instant.note}" if instant.refused else instant.note, err=True)
    shown = _told(settled, found)
    for form, target in findings:
        options.write_findings(shown, form, target)
    code = report(shown)
    return 1 if exit_code and (found.comparison if found else settled.files) else code


def _told(settled: "Settled", found: "BranchComparison | None") -> "list[Finding]":
    """What a reconcile would find, or what a branch brings; waivers are applied."""
    from muster.rules.checks.waivers import shown

    return list(found.comparison.found) if found else shown(settled.findings, settled.last.now)


def _write(out: Path, settled: "Settled", reading: FleetReading) -> None:
    from muster.features.plan.planfile import plan_text

    assert reading.heard is not None
    try:
        out.write_text(plan_text(settled, reading.heard), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from error


def _supposed(reading: FleetReading, now: datetime, given: Path | None, supposed: Supposed) -> "Settled":
    """What would follow if what is supposed were committed."""
    with supposed.tried(reading, given) as trial:
        supposed.suppose(trial, now)
        return trial.step(now)


def _print(settled: "Settled", found: "BranchComparison | None", against: str, output: str) -> None:
    """Print the plan, or what a branch changes in it."""
    from muster.cli.documents import json_text, yaml_stream
    from muster.features.plan import text as plan
    from muster.features.plan.plan import branch_document, plan_document
    from muster.run.changes import summary

    if output in ("json", "yaml"):
        document = branch_document(found) if found else plan_document(settled)
        sys.stdout.write(json_text(document) if output == "json" else yaml_stream([document]))
    elif output == "markdown":
        from muster.features.plan.comment import branch_comment, comment_text, plan_comment

        if found:
            comment = branch_comment(found.comparison, against, found.base.last, found.head.last)
        else:
            comment = plan_comment(settled)
        sys.stdout.write(comment_text(comment))
    elif found:
        from muster.features.plan.effects import sections_of

        plan.print_sections(sections_of(found.comparison))
        plan.print_branch(found.comparison, against, found.base.last.commit or "", found.head.last.now)
    else:
        plan.print_transitions(settled.changes)
        plan.print_held(settled.last.fleet.held)
        plan.print_summary(summary(settled.changes), len(settled.files), settled.last.horizon)


def _branch(
    reading: FleetReading, against: str, rev: str | None, now: datetime, given: Path | None, *, ask: bool
) -> "BranchComparison":  # fmt: skip
    """What a branch changes since it left another revision. Nothing is kept."""
    from muster.features.plan.plan import branch
    from muster.features.validate.derivededits import derived_edits
    from muster.git.mergebase import merge_base

    repository, commit, heard = reading.repository, reading.base, reading.heard
    if repository is None or commit is None or heard is None:
        raise RepositoryError(
            "there is no commit here to compare", "run it in the repository of a fleet, which has commits"
        )
    forked = merge_base(repository, commit, against, ask=ask)
    left = evaluated_commit(repository, forked)
    name = against.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    for remote in remotes(repository):
        name = name.removeprefix(f"{remote}/")
    path = state_path(os.environ, repository, name, given)
    kept = open_state_of(os.environ, repository, name, given) if path is not None and path.is_file() else None
    head = commit if commit == reading.snapshot.commit else reading.snapshot
    found = branch(repository, left, head, heard, now, kept)
    edits = derived_edits(repository, forked, rev or "HEAD")
    return replace(found, comparison=replace(found.comparison, found=(*found.comparison.found, *edits)))
