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
PROVED: Final = frozenset((
    Code.RULE_NEVER_DECIDES, Code.EXPRESSION_CAN_FAIL, Code.INVARIANT_BROKEN, Code.GATE_NEVER_PASSES,
    Code.ALWAYS_THE_SAME, Code.SCORE_OUT_OF_RANGE, Code.STAGE_NEVER_REACHED,
))  # fmt: skip
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
    return [one for one in findings if one.code == Code.WAIVER and one.waiver is not None]


def with_waivers(
    findings: Iterable[Finding], standing: Iterable[Finding], now: datetime, base: Iterable[Finding] | None = None
) -> list[Finding]:
    """Return findings sorted by place, each with the `standing` waiver that covers it at `now`.

    `base` are the findings of what a change is compared with: findings about the change are covered by its waivers.
    """
    standing_ones = _in_force(standing, now)
    of_base = standing_ones if base is None else _in_force(base, now)
    covered = (
        replace(one, waiver=_waiver_of(one, of_base if one.code.of_change else standing_ones)) for one in findings
    )
    return sorted(set(covered), key=Finding.sort_key)


def _in_force(findings: Iterable[Finding], now: datetime) -> _Waivers:
    waivers = (one.waiver for one in waivers_in(findings) if one.waiver is not None)
    return grouped(((one.code, one.about), one) for one in waivers if not expired(one, now))


def shown(
    findings: Iterable[Finding], now: datetime, standing: Iterable[Finding] | None = None,
    base: Iterable[Finding] | None = None,
) -> list[Finding]:  # fmt: skip
    """Return the findings to show: `with_waivers`, without waivers except for expired ones.

    The waivers are `standing`, or among the findings.
    """
    findings = list(findings)
    expiries = (_expiry(one, now) for one in waivers_in(findings))
    rest = (one for one in findings if one.code != Code.WAIVER)
    found = with_waivers(rest, findings if standing is None else standing, now, base)
    return sorted({*_joined(found), *(one for one in expiries if one is not None)}, key=Finding.sort_key)


def _joined(findings: list[Finding]) -> Iterator[Finding]:
    """Yield the findings, with what follows from an error in the Fleet as a part of the first one's message."""
    ignored = next((one for one in findings if one.code == Code.SETTINGS_IGNORED), None)
    cause = next((one for one in findings if one.fails and one.object is not None and FLEET.has(one.object)), None)
    for one in findings:
        if ignored is None or cause is None or one not in (ignored, cause):
            yield one
        elif one is cause:
            yield replace(one, message=f"{one.message}; {ignored.message}")


def expired(waiver: Waiver, now: datetime) -> bool:
    """Has the waiver ended?"""
    return now.date().isoformat() >= waiver.until


def _waiver_of(found: Finding, in_force: _Waivers) -> Waiver | None:
    speaking = in_force.get((found.code, found.about), ())
    return next((waiver for waiver in speaking if found.digest in waiver.digests), None)


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
    for one in waivers_in(findings):
        waiver = one.waiver
        if waiver is None or expired(waiver, now):
            continue
        if expired(waiver, now + _SOON):
            message = f"{one.object} expires on {waiver.until}: then {waiver.code} of {waiver.about} counts again"
            yield finding(Code.WAIVER_EXPIRES_SOON, message, one.place, hint=f"ask {waiver.owner}", object_=one.object)
        known = {(waiver.code, waiver.about): [waiver]}
        if waiver.code not in unasked and not any(_waiver_of(other, known) for other in findings):
            message = f"{one.object} silences nothing: there is no such {waiver.code} of {waiver.about}"
            yield finding(
                Code.WAIVER_SILENCES_NOTHING, message, one.place, hint="remove it, or waive a finding that exists",
                object_=one.object,
            )  # fmt: skip
