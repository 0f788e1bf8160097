"""`muster lint`: what is sound, and decides something else than its author is likely to think."""

import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.progress import working
from muster.cli.reading import snapshot_of

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.data.snapshot import Snapshot
    from muster.features.lint.proving.questions import Proof
    from muster.rules.policies.in_force import FleetWithPolicies


@click.command()
@options.repo_option
@click.option("--rev", metavar="REV", help="Look at this revision.  [default: the files as they are]")
@click.option("--prove", "prove_", is_flag=True, help="Prove what policies can say of any fleet (the extra `prove`).")
@click.option("-v", "--verbose", is_flag=True, help="With --prove: say of each policy what is proved, and what is not.")
@options.now_option
@options.report_option
def command(repo: Path, rev: str | None, prove_: bool, verbose: bool, now: datetime, output: str) -> int:
    """Look for policies that speak of nothing, rules that are never asked, Remedies that wait for what nobody says,
    budgets that hold nothing, and waivers that silence nothing or are about to expire.

    With --prove, look for rules that can never decide, expressions that can fail, and invariants of PolicyTests that do
    not hold, of any object that the schemas allow; with an example of each. What is neither proved nor refuted is none
    of the findings.

    What is wrong is for `muster validate` to say. Exit code 1: something was found that nobody has waived.
    """
    from muster.cli.findings import findings_text, tally
    from muster.cli.reports import REPORTS
    from muster.features.lint.proving.invariants import invariant_findings
    from muster.rules.checks.advice import advice
    from muster.run.checking import check_snapshot

    if prove_ and find_spec("z3") is None:
        raise click.UsageError("--prove needs z3, which is not installed: pip install 'muster-fleet[prove]'")
    with working("looking at the fleet"):
        snapshot = snapshot_of(repo, rev, worktree=rev is None)
        fleet = check_snapshot(snapshot)
        found, proofs = [*advice(fleet), *invariant_findings(fleet)], list["Proof"]()
    if prove_:
        with working("proving what policies can say"):
            proofs = _proofs(fleet, found)
    found = _with_waivers(found, fleet, snapshot, now, proved=prove_)
    if output != "text":
        sys.stdout.write(REPORTS[output](found))
    elif text := findings_text(found):
        sys.stdout.write(f"{text}\n{tally(found)}\n")
    else:
        click.echo("nothing to say" + (f" ({tally(found)})" if found else ""))
    _tell(proofs, verbose=verbose, beside=output != "text")
    return int(any(one.waiver is None for one in found))


def _proofs(fleet: "FleetWithPolicies", found: "list[Finding]") -> "list[Proof]":
    """Ask the solver, and add what it finds."""
    from muster.features.lint.proving.questions import prove

    proofs = prove(fleet)
    for proof in proofs:
        found += proof.findings
    return proofs


def _tell(proofs: "list[Proof]", *, verbose: bool, beside: bool) -> None:
    """Say how much is proved; `beside` a document, on standard error."""
    for proof in proofs if verbose else ():
        click.echo(f"{proof.policy}: {_sums([proof])}", err=beside)
        for rule in proof.off:
            click.echo(f"  switched off by its parameters: {rule}", err=beside)
        for question in proof.undecided:
            click.echo(f"  not decided: {question}", err=beside)
    if proofs:
        click.echo(f"{len(proofs)} policies: {_sums(proofs)}", err=beside)


def _sums(proofs: "list[Proof]") -> str:
    deciding, sound = sum(proof.deciding for proof in proofs), sum(proof.sound for proof in proofs)
    kept, undecided = sum(proof.kept for proof in proofs), sum(len(proof.undecided) for proof in proofs)
    terms = [f"{deciding} rules can decide", f"{sound} expressions never fail", f"{kept} invariants hold"]
    return ", ".join([*terms, *([f"{undecided} questions not decided"] if undecided else [])])


def _with_waivers(
    found: "list[Finding]", fleet: "FleetWithPolicies", snapshot: "Snapshot", now: datetime, *, proved: bool
) -> "list[Finding]":
    """Apply waivers, and give advice about them. What they silence may be found by a run alone, so one is made where
    there are any."""
    from muster.rules.checks.waivers import PROVED, shown, waiver_advice, waivers_in
    from muster.run.evaluate import evaluate_snapshot

    standing = waivers_in(fleet.findings)
    if standing:
        everything = {*fleet.findings, *found, *evaluate_snapshot(snapshot, now).findings}
        found = [*found, *waiver_advice(everything, now, unasked=frozenset() if proved else PROVED)]
    return shown((*found, *standing), now)
