"""`muster lint`: what is sound, and decides something else than its author is likely to think."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.commands import options
from muster.commands.progress import working
from muster.commands.reading import snapshot_of

if TYPE_CHECKING:
    from muster.answers.proving.questions import Proof
    from muster.model.finding import Finding
    from muster.policy.ruled import Ruled


@click.command()
@options.repo_option
@click.option("--rev", metavar="REV", help="Look at this revision.  [default: the files as they are]")
@click.option("--prove", "prove_", is_flag=True, help="Prove what policies can say of any fleet (the extra `prove`).")
@click.option("-v", "--verbose", is_flag=True, help="With --prove: say of each policy what is proved, and what is not.")
@options.report_option
def command(repo: Path, rev: str | None, prove_: bool, verbose: bool, output: str) -> int:
    """Look for policies that speak of nothing, rules that are never asked, Remedies that wait for what nobody says, and
    budgets that hold nothing.

    With --prove, look for rules that can never decide, expressions that can fail, and invariants of PolicyTests that do
    not hold, of any object that the schemas allow; with an example of each. What is neither proved nor refuted is none
    of the findings.

    What is wrong is for `muster validate` to say. Exit code 1: something was found.
    """
    from muster.check.advice import advice
    from muster.engine.checking import check_snapshot
    from muster.model.finding import Finding
    from muster.output.findings import findings_text, tally
    from muster.output.reports import REPORTS

    if prove_ and find_spec("z3") is None:
        raise click.UsageError("--prove needs z3, which is not installed: pip install 'muster-fleet[prove]'")
    with working("looking at the fleet"):
        fleet = check_snapshot(snapshot_of(repo, rev, worktree=rev is None))
        found, proofs = list(advice(fleet)), list["Proof"]()
    if prove_:
        with working("proving what policies can say"):
            proofs = _proofs(fleet, found)
    found = sorted(set(found), key=Finding.sort_key)
    if output != "text":
        sys.stdout.write(REPORTS[output](found))
    elif found:
        sys.stdout.write(f"{findings_text(found)}\n{tally(found)}\n")
    else:
        click.echo("nothing to say")
    _tell(proofs, verbose=verbose, beside=output != "text")
    return int(bool(found))


def _proofs(fleet: "Ruled", found: "list[Finding]") -> "list[Proof]":
    """Ask the solver, and add what it finds."""
    from muster.answers.proving.questions import prove, unsound_invariants

    proofs = prove(fleet)
    found += unsound_invariants(fleet)
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
