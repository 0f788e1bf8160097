"""`muster lint`: find things that are valid but probably unintended."""

import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.progress import working
from muster.cli.reading import require_repository, snapshot_of
from muster.data.extras import install_command
from muster.data.finding import Finding
from muster.data.snapshot import Snapshot
from muster.rules.policies.in_force import FleetWithPolicies

if TYPE_CHECKING:
    from muster.features.lint.proving.questions import Proof


@click.command()
@click.option("--rev", metavar="REV", help="Read this revision.  [default: the files as they are]")
@click.option("--prove", "prove_", is_flag=True, help="Prove policies for all possible objects (extra `prove`).")
@click.option("-v", "--verbose", is_flag=True, help="With --prove: list what is proved about each policy.")
@options.report_option
@options.repo_option
@options.now_option
def command(repo: Path, rev: str | None, prove_: bool, verbose: bool, now: datetime, output: str) -> int:
    """Find things that are valid but probably unintended: policies that match nothing, rules that never apply, Remedies
    for conditions that nothing reports, budgets that hold nothing, Calendars that never open, freezes that are over,
    stages of Rollouts whose windows are all in freezes, and waivers that silence nothing or expire soon.

    With --prove, find rules that can never decide, expressions that can fail, invariants of PolicyTests that do not
    hold, gates of Rollouts that never or always pass, stages that no cluster can reach, and scores out of range, for
    any object that the schemas allow, with an example where there is one. A question that cannot be decided is not a
    finding.

    Errors are reported by `muster validate`. The exit code is 1 if a finding is not waived.

    \b
    Examples:
      muster lint
      muster lint --prove -v
    """
    from muster.cli.outcome import findings_text, tally
    from muster.cli.reports import REPORTS
    from muster.features.lint.proving.invariants import invariant_findings
    from muster.rules.checks.advice import advice, time_advice
    from muster.run.checking import check_snapshot

    if prove_ and find_spec("z3") is None:
        raise click.UsageError(f"--prove needs an extra: {install_command('prove')}; all other checks do not")
    with working("checking the fleet"):
        snapshot = snapshot_of(repo, rev, worktree=rev is None)
        fleet = check_snapshot(snapshot)
        if not fleet.objects:
            require_repository(repo)
        findings, proofs = [*advice(fleet), *time_advice(fleet, now), *invariant_findings(fleet)], list["Proof"]()
    if prove_:
        from muster.features.lint.proving.questions import prove  # only --prove has z3

        with working("proving properties of policies"):
            proofs = prove(fleet)
            findings += [finding for proof in proofs for finding in proof.findings]
    findings = _with_waivers(findings, fleet, snapshot, now, proved=prove_)
    if output != "text":
        sys.stdout.write(REPORTS[output](findings))
    elif text := findings_text(findings):
        sys.stdout.write(f"{text}\n{tally(findings)}\n")
    else:
        click.echo("nothing found" + (f" ({tally(findings)})" if findings else ""))
    _print_proofs(proofs, verbose=verbose, err=output != "text")
    return int(any(finding.waiver is None for finding in findings))


def _print_proofs(proofs: "list[Proof]", *, verbose: bool, err: bool) -> None:
    for proof in proofs if verbose else ():
        click.echo(f"{proof.policy}: {_sums([proof])}", err=err)
        for rule in proof.disabled:
            click.echo(f"  switched off by its parameters: {rule}", err=err)
        for question in proof.undecided:
            click.echo(f"  not decided: {question}", err=err)
    if proofs:
        click.echo(f"{len(proofs)} policies: {_sums(proofs)}", err=err)


def _sums(proofs: "list[Proof]") -> str:
    deciding, sound = sum(proof.deciding for proof in proofs), sum(proof.sound for proof in proofs)
    kept, undecided = sum(proof.kept for proof in proofs), sum(len(proof.undecided) for proof in proofs)
    reached = sum(proof.reached for proof in proofs)
    terms = [f"{deciding} rules can decide", f"{sound} expressions never fail", f"{kept} invariants hold"]
    terms += [f"{reached} stages can have clusters"] if reached else []
    return ", ".join([*terms, *([f"{undecided} questions not decided"] if undecided else [])])


def _with_waivers(
    findings: list[Finding], fleet: FleetWithPolicies, snapshot: Snapshot, now: datetime, *, proved: bool
) -> list[Finding]:
    """Apply waivers, and add advice about them. If there are any, a run is made: only it finds some of what they
    silence."""
    from muster.rules.checks.waivers import PROVED, shown, waiver_advice, waivers_in
    from muster.run.evaluate import evaluate_snapshot

    waivers = waivers_in(fleet.findings)
    if waivers:
        everything = {*fleet.findings, *findings, *evaluate_snapshot(snapshot, now).findings}
        findings = [*findings, *waiver_advice(everything, now, unasked=frozenset() if proved else PROVED)]
    return shown((*findings, *waivers), now)
