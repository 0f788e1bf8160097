"""Waivers: findings that are silenced until a date.

A Waiver has no effect on decisions, only on which findings are shown. So validation creates a finding of its own for
each (MUS701), next to all others; `shown` applies them.

A waiver is bound to a finding: code, object or file, severity and text, without line numbers. Another problem of the
same object, or a changed text, is not silenced. Warnings, notes and advice are silenced. An error still blocks its
object's change, so it is shown with the waiver, but does not fail the command.

A pull request can waive findings about its files, but none about what its commits do (`Code.of_change`): there, the
waivers of its base count.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from muster.data.codes import CODES, Code
from muster.data.finding import Finding, Waiver
from muster.data.findings import finding
from muster.data.groups import grouped
from muster.data.kinds import FLEET, WAIVER
from muster.data.names import did_you_mean
from muster.data.tree import Tree, mappings_at
from muster.fleet.faults import OURS
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at

#: Codes that only `muster lint --prove` finds.
PROVED: Final = frozenset(
    (
        Code.RULE_NEVER_DECIDES,
        Code.EXPRESSION_CAN_FAIL,
        Code.INVARIANT_BROKEN,
        Code.GATE_NEVER_PASSES,
        Code.ALWAYS_THE_SAME,
        Code.SCORE_OUT_OF_RANGE,
        Code.STAGE_NEVER_REACHED,
    )
)
#: Codes that cannot be waived: faults in muster, runs ahead of the clock, and findings about waivers.
NEVER: Final = OURS | {
    Code.RUN_AHEAD,
    Code.WAIVER,
    Code.NOTHING_TO_WAIVE,
    Code.WAIVER_EXPIRED,
    Code.WAIVER_EXPIRES_SOON,
    Code.WAIVER_SILENCES_NOTHING,
}
#: Waivers by the code and what they are about.
_Waivers: TypeAlias = dict[tuple[str, str], list[Waiver]]
#: How long before its date a waiver is about to expire.
_SOON: Final = timedelta(days=14)


def waiver_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a finding for each Waiver: its content, or why it is invalid."""
    for obj in fleet.of(WAIVER):
        code = obj.spec["code"]
        if code in NEVER:
            message = f"{code} cannot be waived: {CODES[code].heading}"
            yield finding_at(obj, ("spec", "code"), Code.NOTHING_TO_WAIVE, message)
        elif code not in CODES:
            yield finding_at(
                obj, ("spec", "code"), Code.NOTHING_TO_WAIVE, f"no finding is {code}", did_you_mean(code, CODES)
            )
        else:
            waiver = _read(obj)
            message = f"{waiver.code} of {waiver.about} is {waiver}"
            yield replace(finding_at(obj, ("spec",), Code.WAIVER, message), waiver=waiver)


def _read(obj: Object) -> Waiver:
    spec: Tree = obj.spec
    digests = tuple(entry["digest"] for entry in mappings_at(spec, "findings"))
    about = str(spec.get("object") or spec.get("file"))
    return Waiver(obj.id.name, spec["code"], about, digests, spec["reason"], spec["owner"], spec["until"])


def waivers_in(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that carry waivers."""
    return [finding for finding in findings if finding.code == Code.WAIVER and finding.waiver is not None]


def with_waivers(
    findings: Iterable[Finding], waivers: Iterable[Finding], now: datetime, base: Iterable[Finding] | None = None
) -> list[Finding]:
    """Return findings sorted by place, each with the waiver of `waivers` that covers it at `now`.

    `base` are the findings of what a change is compared with: findings about the change are covered by its waivers.
    """
    in_force = _in_force(waivers, now)
    of_base = in_force if base is None else _in_force(base, now)
    covered = (
        replace(finding, waiver=_waiver_of(finding, of_base if finding.code.of_change else in_force))
        for finding in findings
    )
    return sorted(set(covered), key=Finding.sort_key)


def _in_force(findings: Iterable[Finding], now: datetime) -> _Waivers:
    waivers = (finding.waiver for finding in waivers_in(findings) if finding.waiver is not None)
    return grouped(((waiver.code, waiver.about), waiver) for waiver in waivers if not expired(waiver, now))


def shown(
    findings: Iterable[Finding],
    now: datetime,
    waivers: Iterable[Finding] | None = None,
    base: Iterable[Finding] | None = None,
) -> list[Finding]:
    """Return the findings to show: `with_waivers`, without waivers except for expired ones.

    `waivers`: the findings that carry them; None: those among `findings`.
    """
    findings = list(findings)
    expiries = (_expiry(finding, now) for finding in waivers_in(findings))
    rest = (finding for finding in findings if finding.code != Code.WAIVER)
    covered = with_waivers(rest, findings if waivers is None else waivers, now, base)
    return sorted({*_joined(covered), *(expiry for expiry in expiries if expiry is not None)}, key=Finding.sort_key)


def _joined(findings: list[Finding]) -> Iterator[Finding]:
    """Yield the findings, with what follows from an error in the Fleet as a part of the first one's message."""
    ignored = next((finding for finding in findings if finding.code == Code.SETTINGS_IGNORED), None)
    cause = next(
        (
            reported
            for reported in findings
            if reported.fails and reported.object is not None and FLEET.has(reported.object)
        ),
        None,
    )
    for reported in findings:
        if ignored is None or cause is None or reported not in (ignored, cause):
            yield reported
        elif reported is cause:
            yield replace(reported, message=f"{reported.message}; {ignored.message}")


def expired(waiver: Waiver, now: datetime) -> bool:
    """Has the waiver ended?"""
    return now.date().isoformat() >= waiver.until


def _waiver_of(covered: Finding, in_force: _Waivers) -> Waiver | None:
    candidates = in_force.get((covered.code, covered.about), ())
    return next((waiver for waiver in candidates if covered.digest in waiver.digests), None)


def _expiry(stands: Finding, now: datetime) -> Finding | None:
    waiver = stands.waiver
    if waiver is None or not expired(waiver, now):
        return None
    message = f"{stands.object} expired on {waiver.until}: {waiver.code} of {waiver.about} counts again"
    hint = f"fix it, or ask {waiver.owner} and waive it again"
    return finding(Code.WAIVER_EXPIRED, message, stands.place, hint=hint, object_=stands.object)


def waiver_advice(
    findings: Iterable[Finding], now: datetime, unasked: Collection[str] = frozenset()
) -> Iterator[Finding]:
    """Yield advice about waivers, given all findings of the fleet; codes in `unasked` were not checked."""
    findings = list(findings)
    for carrier in waivers_in(findings):
        waiver = carrier.waiver
        if waiver is None or expired(waiver, now):
            continue
        if expired(waiver, now + _SOON):
            message = f"{carrier.object} expires on {waiver.until}: then {waiver.code} of {waiver.about} counts again"
            yield finding(
                Code.WAIVER_EXPIRES_SOON, message, carrier.place, hint=f"ask {waiver.owner}", object_=carrier.object
            )
        alone = {(waiver.code, waiver.about): [waiver]}
        if waiver.code not in unasked and not any(_waiver_of(other, alone) for other in findings):
            message = f"{carrier.object} silences nothing: there is no such {waiver.code} of {waiver.about}"
            yield finding(
                Code.WAIVER_SILENCES_NOTHING,
                message,
                carrier.place,
                hint="remove it, or waive a finding that exists",
                object_=carrier.object,
            )
