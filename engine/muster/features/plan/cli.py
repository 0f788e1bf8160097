"""`muster plan`: what a reconcile would change, or what a branch changes in that; and comments with plans."""

import os
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.cache import open_state_of, state_path
from muster.cli.options import FILE
from muster.cli.outcome import report
from muster.cli.progress import working
from muster.cli.reading import FleetReading, open_reading, settle_reading
from muster.cli.uncommitted import note_uncommitted
from muster.data.kinds import DRILL
from muster.data.printable import printable
from muster.features.whatif.options import Supposed, supposed_options
from muster.git.changes import changed_paths
from muster.git.config import remotes
from muster.git.derivedbranch import evaluated_commit
from muster.git.errors import RepositoryError
from muster.git.store.paths import IGNORE_FILE, is_data

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.data.snapshot import Snapshot
    from muster.features.plan.commenting import CommentApi
    from muster.features.plan.plan import BranchComparison
    from muster.git.agents.listing import AgentRefs
    from muster.git.repository import Repository
    from muster.run.run import Settled
    from muster.run.shards.workers import Workers


@click.group(invoke_without_command=True, subcommand_metavar="[comment FORGE FILE]")
@click.pass_context
@click.option("--base", metavar="REV", help="Show what this branch changes in the derived files, since it left REV.")
@click.option(
    "--with",
    "branches",
    multiple=True,
    metavar="BRANCH",
    help="Also merge this branch: show what each changes, and what only comes from several. Repeatable.",
)
@click.option("--open", "open_", is_flag=True, help="As --with, for each open pull request of the forge.")
@click.option(
    "--within",
    metavar="DURATION",
    type=options.DurationType(),
    default="5m",
    show_default=True,
    help="With --with or --open: try no further sets of branches after this time.",
)
@click.option(
    "--out", type=options.FILE, metavar="FILE", help="Also write the plan to this file, for muster reconcile --plan."
)
@supposed_options
@options.output_option("table", "yaml", "json", "markdown", "diff")
@options.findings_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a reconcile, or the branch, would change anything.")
@options.repo_option
@options.snapshot_options
@options.offline_option
@options.agents_gone_option
@options.now_option
@options.state_option
@options.workers_option
def plan(
    context: click.Context,
    repo: Path,
    rev: str | None,
    worktree: bool,
    base: str | None,
    out: Path | None,
    offline: bool,
    agents_gone: bool,
    now: datetime,
    state: Path | None,
    workers: "Workers",
    supposed: Supposed,
    output: str,
    findings: tuple[tuple[str, str], ...],
    exit_code: bool,
    branches: tuple[str, ...],
    open_: bool,
    within: timedelta,
) -> int:
    """Show every change that a reconcile would commit; commit nothing.

    With --base, show what a branch or a pull request changes: the branch, and the commit where it left REV, are
    evaluated at the same instant and compared. Changes that time alone causes are not shown, and only new findings
    count. Missing history is fetched, unless --offline. Drills that the branch breaks are findings.

    With --with or --open, branches are merged as git does: each alone, each two, and each three. What comes about only
    with several of them is shown; sets that share nothing are not tried. --open asks GitHub or GitLab, as `plan
    comment` does, with its environment.

    With -o diff, what a reconcile would write below derived/ is printed as a patch for git apply. Findings go to
    standard error.

    \b
    Examples:
      muster plan
      muster plan --base origin/main
      muster plan --with fewer-clusters --with new-region
      muster plan --lose region=eu
      muster plan -o diff > changes.patch
    """
    from muster.cli.listening import READER

    if context.invoked_subcommand:
        return 0
    if output == "diff" and base is not None:
        raise click.UsageError("-o diff shows what a reconcile would write: not with --base.")
    if branches or open_:
        if base or out or worktree or supposed or output not in ("table", "json"):
            raise click.UsageError("--with goes with --rev and -o table or json alone.")
        return _together(repo, rev, branches, now, output, ask=not offline, open_=open_, within=within)
    if out and (base or worktree or supposed):
        raise click.UsageError("--out is for a reconcile of a commit: not with --base or --worktree, or a supposition.")
    if supposed and base is not None:
        raise click.UsageError("--base compares commits: it does not go with a supposition.")
    asked, now = options.asked_instant(now), now if base else options.instant_of_revision(repo, rev, now)
    with working("evaluating the fleet"):
        reading = open_reading(
            repo,
            rev,
            worktree=worktree,
            freshness=replace(READER, ask=not offline, gone=agents_gone),
            governing=base,
            now=asked,
        )
        if not (rev or worktree or base):
            note_uncommitted(reading.repository, "--worktree reads the files as they are")
        instant = reading.instant(now)
        compared = None if base is None else _branch(reading, base, rev, instant.now, state, ask=not offline)
        if supposed:
            settled = _supposed(reading, instant.now, state, supposed)
        else:
            settled = compared.head if compared else settle_reading(replace(reading, state=state), instant.now, workers)
        settled = replace(settled, faults=settled.faults | instant.findings)
    for each in (compared.base, compared.head) if compared else (settled,):
        reading.require_heard(each.first)
    if out:
        _write(out, settled, reading)
    if output == "diff":
        _print_diff(reading, settled)
    else:
        _print(settled, compared, base or "", output)
    reading.print_age(instant.now, err=output != "table")
    if instant.note:
        click.echo(f"a reconcile would refuse: {instant.note}" if instant.refused else instant.note, err=True)
    shown = _findings(settled, compared)
    for form, target in findings:
        options.write_findings(shown, form, target)
    code = report(shown)
    return 1 if exit_code and (compared.comparison if compared else settled.files) else code


def _together(
    repo: Path,
    rev: str | None,
    named: tuple[str, ...],
    now: datetime,
    output: str,
    *,
    ask: bool,
    open_: bool,
    within: timedelta,
) -> int:
    """Show what branches change, and what only comes from several."""
    from muster.cli.documents import json_text
    from muster.cli.listening import READER
    from muster.features.plan.open_requests import open_requests
    from muster.features.plan.together import plan_together, together_document, together_text
    from muster.git.mergebase import commit_of
    from muster.net.deadline import Deadline

    with working("evaluating the fleet"):
        reading = open_reading(repo, rev, worktree=False, freshness=replace(READER, ask=ask))
        assert reading.repository is not None
        branches = {name: commit_of(reading.repository, name, ask=ask) for name in named}
        if open_:
            branches |= open_requests(reading.repository, os.environ)
        with Supposed.tried(reading, None) as trial:
            deadline = Deadline.after(within.total_seconds())
            together = plan_together(trial, branches, reading.instant(now).now, deadline)
    sys.stdout.write(json_text(together_document(together)) if output == "json" else together_text(together))
    return report(together.found)


def _findings(settled: "Settled", compared: "BranchComparison | None") -> "list[Finding]":
    """The findings of a reconcile, or the new ones of a branch; waivers are applied."""
    from muster.rules.checks.waivers import shown

    return list(compared.comparison.found) if compared else shown(settled.findings, settled.last.now)


def _write(out: Path, settled: "Settled", reading: FleetReading) -> None:
    from muster.features.plan.planfile import plan_text

    assert reading.heard is not None
    try:
        out.write_text(plan_text(settled, reading.heard), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from error


def _supposed(reading: FleetReading, now: datetime, given: Path | None, supposed: Supposed) -> "Settled":
    """The result if the supposition were committed."""
    with supposed.tried(reading, given) as trial:
        supposed.suppose(trial, now)
        return trial.step(now)


def _print(settled: "Settled", compared: "BranchComparison | None", against: str, output: str) -> None:
    """Print the plan, or what a branch changes in it."""
    from muster.cli.documents import json_text, yaml_stream
    from muster.features.plan import text as plan
    from muster.features.plan.plan import branch_document, plan_document, result_document
    from muster.run.transitions.subjects import subject_line

    if output in ("json", "yaml"):
        document = branch_document(compared) if compared else {**plan_document(settled), **result_document(settled)}
        sys.stdout.write(json_text(document) if output == "json" else yaml_stream([document]))
    elif output == "markdown":
        from muster.features.plan.comment import branch_comment, comment_text, plan_comment

        if compared:
            comment = branch_comment(compared.comparison, against, compared.base.last, compared.head.last)
        else:
            comment = plan_comment(settled)
        sys.stdout.write(comment_text(comment))
    elif compared:
        from muster.features.plan.effects import sections_of

        plan.print_sections(sections_of(compared.comparison))
        plan.print_branch(compared.comparison, against, compared.base.last.commit or "", compared.head.last.now)
    else:
        plan.print_transitions(settled.changes)
        plan.print_held(settled.last.fleet.held)
        plan.print_summary(subject_line(settled.changes), len(settled.files), settled.last.horizon)


def _branch(
    reading: FleetReading, against: str, rev: str | None, now: datetime, given: Path | None, *, ask: bool
) -> "BranchComparison":
    """Compare a branch with the commit where it left another revision. No state is written."""
    from muster.features.plan.plan import branch
    from muster.features.validate.derivededits import derived_edits
    from muster.git.mergebase import merge_base
    from muster.rules.checks.waivers import with_waivers

    repository, commit, heard = reading.repository, reading.base, reading.heard
    if repository is None or commit is None or heard is None:
        raise RepositoryError("there is no commit here to compare", "run it in a fleet repository with commits")
    forked = merge_base(repository, commit, against, ask=ask)
    left = evaluated_commit(repository, forked)
    name = against.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    for remote in remotes(repository):
        name = name.removeprefix(f"{remote}/")
    path = state_path(os.environ, repository, name, given)
    kept = open_state_of(os.environ, repository, name, given) if path is not None and path.is_file() else None
    head = commit if commit == reading.snapshot.commit else reading.snapshot
    compared = branch(repository, left, head, heard, now, kept)
    edits = derived_edits(repository, forked, rev or "HEAD")
    drills = []
    if compared.head.last.fleet.of(DRILL) and (head is reading.snapshot or _changes_fleet(repository, left, commit)):
        drills = _drills(reading, left, heard, now)
    new = with_waivers([*edits, *drills], (), now, compared.base.findings)
    return replace(
        compared,
        comparison=replace(compared.comparison, found=(*compared.comparison.found, *new, *reading.unasked)),
    )


def _changes_fleet(repository: "Repository", left: str, commit: str) -> bool:
    """Did more change than files that are no part of the fleet? Else no Drill can come out differently."""
    changes = changed_paths(repository, left, commit)
    return any(is_data(os.fsencode(change.path)) or change.path == IGNORE_FILE for change in changes)


def _drills(reading: FleetReading, left: str, heard: "AgentRefs", now: datetime) -> "list[Finding]":
    """What fails in the Drills of a branch, and did not where the branch left."""
    from muster.cli.cache import usable_cache
    from muster.features.drill.drill import broken_by
    from muster.features.drill.rehearsing import rehearsed
    from muster.features.whatif.rehearsal import rehearsal
    from muster.run.shards.workers import cores

    assert reading.repository is not None
    with rehearsal(reading.repository, left, heard) as before, rehearsed(reading) as after:
        return broken_by(before, after, now, cache=usable_cache(os.environ), workers=cores())


def _print_diff(reading: FleetReading, settled: "Settled") -> None:
    from muster.features.plan.patch import patch_lines
    from muster.git.store.objects import SHA1

    form = SHA1 if reading.repository is None else reading.repository.object_format
    before = _before(reading.snapshot, settled)
    sys.stdout.writelines(f"{line}\n" for line in patch_lines(before, settled.files, form))


def _before(snapshot: "Snapshot", settled: "Settled") -> dict[str, bytes]:
    """The present content of the files that differ."""
    if not settled.files:
        return {}
    return {file.path: file.read() for file in snapshot.files() if not file.ref and file.path in settled.files}


@plan.command("comment", short_help="Comment on a pull request with a plan.")
@click.argument("forge", type=click.Choice(("github", "gitlab")))
@click.argument("file", type=FILE)
@click.option("--head", metavar="OWNER:BRANCH", help="github: where the pull request comes from.")
@click.option("--commit", metavar="ID", help="github: its newest commit, which was planned.")
def comment(forge: str, file: Path, head: str | None, commit: str | None) -> int:
    """Comment on a pull request with the output of `muster plan -o markdown` in FILE.

    The comment replaces the last one of muster. If nothing changes and there is no comment yet, none is written.

    \b
    github: the open pull requests from --head whose newest commit is --commit.
      Environment: GITHUB_REPOSITORY, GITHUB_TOKEN or GH_TOKEN, and
      GITHUB_API_URL if it is not https://api.github.com.
    gitlab: the merge request of the pipeline.
      Environment: CI_API_V4_URL, CI_MERGE_REQUEST_PROJECT_ID,
      CI_MERGE_REQUEST_IID, and MUSTER_GITLAB_TOKEN with the scope api.
    """
    from muster.features.plan.commenting import Api, GitHub, GitLab

    if forge == "gitlab":
        if head or commit:
            raise click.UsageError("--head and --commit are for github: a pipeline knows its merge request.")
        api = Api(_required("CI_API_V4_URL"), {"PRIVATE-TOKEN": _required("MUSTER_GITLAB_TOKEN")})
        return _comment(file, GitLab(api, _required("CI_MERGE_REQUEST_PROJECT_ID"), _required("CI_MERGE_REQUEST_IID")))
    if not head or not commit:
        raise click.UsageError("github needs --head and --commit.")
    token = os.environ.get("GITHUB_TOKEN") or _required("GH_TOKEN")
    url = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    api = Api(url, {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"})
    return _comment(file, GitHub(api, _required("GITHUB_REPOSITORY"), head, commit))


def _comment(file: Path, forge: "CommentApi") -> int:
    from muster.features.plan.commenting import NoCommentError, comment_on, read_comment

    try:
        text = read_comment(file)
    except NoCommentError as error:
        raise click.UsageError(printable(str(error))) from error
    done = comment_on(forge, text)
    for line in done or ("no open pull request has this commit as its newest: nothing to comment on",):
        click.echo(line)
    return 0


def _required(name: str) -> str:
    if not (value := os.environ.get(name)):
        raise click.UsageError(f"the environment variable {name} is not set.")
    return value
