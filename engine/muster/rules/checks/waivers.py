"""Waivers as they are checked, and as they are told.

A Waiver changes nothing of what is decided: it speaks of findings to whoever is told of them, and has no say in
anything else. So checking makes of each a finding of its own (MUS701), which is kept beside all others; `told` applies
them.

What is waived is bound to what was found: code, object or file, severity and words, without numbers of lines. When the
same object has another problem, or the same one in other words, that counts. A warning, a note and advice are
silenced. An error still costs its object its change, so it goes on to be told, with the waiver beside it; but nothing
fails for it.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from muster.data.codes import CODES, Code
from muster.data.finding import Finding, Waiver
from muster.data.findings import finding
from muster.data.groups import grouped
from muster.data.kinds import WAIVER
from muster.data.names import did_you_mean
from muster.data.tree import Tree, mappings_at
from muster.fleet.faults import OURS
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at

#: What only `muster lint --prove` finds.
PROVED: Final = frozenset((Code.RULE_NEVER_DECIDES, Code.EXPRESSION_CAN_FAIL, Code.INVARIANT_BROKEN))
#: What nobody can waive: faults of ours, and what is said of waivers.
NEVER: Final = OURS | {
    Code.WAIVER,
    Code.NOTHING_TO_WAIVE,
    Code.WAIVER_EXPIRED,
    Code.WAIVER_EXPIRES_SOON,
    Code.WAIVER_SILENCES_NOTHING,
}
#: So long before its day a waiver is about to expire.
_SOON: Final = timedelta(days=14)


def waiver_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield what each Waiver says, or that it cannot."""
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
    """Return the findings that tell of waivers."""
    return [one for one in findings if one.code == Code.WAIVER and one.waiver is not None]


def marked(findings: Iterable[Finding], standing: Iterable[Finding], now: datetime) -> list[Finding]:
    """Return findings, those that one of the `standing` waivers speaks of at an instant with that waiver; by place."""
    waivers = (one.waiver for one in waivers_in(standing) if one.waiver is not None)
    in_force = grouped(((one.code, one.about), one) for one in waivers if not expired(one, now))
    return sorted({replace(one, waiver=_waiver_of(one, in_force)) for one in findings}, key=Finding.sort_key)


def told(findings: Iterable[Finding], now: datetime, standing: Iterable[Finding] | None = None) -> list[Finding]:
    """Return findings as people are told of them: `marked`, without waivers, but for those that have expired.

    The waivers are `standing`, or among the findings.
    """
    findings = list(findings)
    expiries = (_expiry(one, now) for one in waivers_in(findings))
    rest = (one for one in findings if one.code != Code.WAIVER)
    found = marked(rest, findings if standing is None else standing, now)
    return sorted({*found, *(one for one in expiries if one is not None)}, key=Finding.sort_key)


def expired(waiver: Waiver, now: datetime) -> bool:
    """Whether what it waives counts again."""
    return now.date().isoformat() >= waiver.until


def _waiver_of(found: Finding, in_force: dict[tuple[str, str], list[Waiver]]) -> Waiver | None:
    speaking = in_force.get((found.code, found.about), ())
    return next((waiver for waiver in speaking if found.digest in waiver.digests), None)


def _expiry(stands: Finding, now: datetime) -> Finding | None:
    waiver = stands.waiver
    if waiver is None or not expired(waiver, now):
        return None
    message = f"{stands.object} expired on {waiver.until}: {waiver.code} of {waiver.about} counts again"
    hint = f"mend it, or ask {waiver.owner} and waive it anew"
    return finding(Code.WAIVER_EXPIRED, message, stands.place, hint=hint, object_=stands.object)


def waiver_advice(
    findings: Iterable[Finding], now: datetime, unasked: Collection[str] = frozenset()
) -> Iterator[Finding]:
    """Yield what is suspicious in waivers, which are among all that is found in the fleet; of the codes that are
    `unasked` nobody has looked for anything."""
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
                Code.WAIVER_SILENCES_NOTHING,
                message,
                one.place,
                hint="remove it, or waive what is there",
                object_=one.object,
            )
