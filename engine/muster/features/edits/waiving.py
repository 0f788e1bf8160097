"""Waive findings by hand: write a Waiver for an object or a file.

The branch is evaluated to get the findings: a person names code and object, and the digests of all findings with that
code about it go into the file. An existing Waiver is rewritten, so that it can be extended.
"""

from collections.abc import Collection
from datetime import datetime
from importlib.util import find_spec

from muster.cli.select import id_matcher
from muster.data.codes import CODES
from muster.data.extras import install_command
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import WAIVER, UnknownKind, is_cluster
from muster.data.names import did_you_mean, slip_of
from muster.data.tree import Tree
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.agent_refs import with_agent_refs
from muster.regex import Regex
from muster.rules.checks.advice import advice, time_advice
from muster.rules.checks.waivers import NEVER, PROVED
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.evaluate import NONE_RESTLESS, decide

_UNSAFE = Regex(r"[^a-z0-9]+")
_MAX_NAME = 200
_DAY = Regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")


def waive(
    draft: Draft, code: str, about: str, *, reason: str, owner: str, until: str, now: datetime, name: str = ""
) -> None:
    """Waive the findings with a code about an object (`Kind/[namespace/]name`) or a file, until a day.

    EditRefusedError if there are none, the code cannot be waived, the day is malformed or past, or a Waiver of that
    name is about something else.
    """
    if code not in CODES:
        near = slip_of(code, CODES)
        raise EditRefusedError(f"no finding has the code {code}", f"did you mean {near!r}?" if near else "")
    if code in NEVER:
        raise EditRefusedError(f"{code} cannot be waived")
    if not _DAY.fullmatch(until) or until <= now.date().isoformat():
        raise EditRefusedError(
            f"{until!r} is not a day in the future", "write the first day on which it counts again, as 2026-03-01"
        )
    about = _object_named(draft, about)
    everything = _proved(draft.fleet, about) if code in PROVED else _found(draft, now)
    findings = [finding for finding in everything if (finding.code, finding.about) == (code, about)]
    if not findings:
        raise EditRefusedError(f"there is no finding {code} about {about}", _nearest(everything, code, about))
    spec: Tree = {"code": code, "object" if findings[0].object else "file": about}
    messages = {finding.digest: finding.message for finding in findings}
    spec["findings"] = [{"digest": digest, "message": messages[digest]} for digest in sorted(messages)]
    spec |= {"reason": reason, "owner": owner, "until": until}
    _write(draft, WAIVER.id(name or _default_name(code, about)), spec)
    draft.changes.extend(f"{code} about {about}: {messages[digest]}" for digest in sorted(messages))


def _object_named(draft: Draft, about: str) -> str:
    """Return `Kind/[namespace/]name` for an object as a person names it; a file's path as it is."""
    try:
        is_named = id_matcher(about)
    except UnknownKind:
        named = [id_ for id_ in draft.fleet.objects if is_cluster(id_) and id_.name == about]
    else:
        named = [id_ for id_ in draft.fleet.objects if is_named(id_)] if "/" in about else []
    return str(named[0]) if len(named) == 1 else about


def _found(draft: Draft, now: datetime) -> list[Finding]:
    """All findings of the fleet: by checks, by a run, and by lint."""
    run = decide(with_agent_refs(draft.fleet, draft.agents), now, NONE_RESTLESS, None)
    findings = {*draft.fleet.findings, *run.findings, *advice(draft.fleet), *time_advice(draft.fleet, now)}
    return sorted(findings, key=Finding.sort_key)


def _proved(fleet: FleetWithPolicies, about: str) -> list[Finding]:
    """The solver's findings about one policy."""
    if find_spec("z3") is None:
        raise EditRefusedError("this finding needs the solver z3, which is not installed", install_command("prove"))
    from muster.features.lint.proving.provable import provable_policies
    from muster.features.lint.proving.questions import prove_policy

    policies = (policy for policy in provable_policies(fleet) if str(policy.id) == about)
    return [finding for policy in policies for finding in prove_policy(fleet, policy).findings]


def _nearest(findings: Collection[Finding], code: str, about: str) -> str:
    """A hint: the codes found about the object, or the object with the nearest name that has the code."""
    if codes := sorted({finding.code for finding in findings if finding.about == about}):
        return f"findings about it: {', '.join(codes)}"
    return did_you_mean(about, {finding.about for finding in findings if finding.code == code and finding.about})


def _default_name(code: str, about: str) -> str:
    return _UNSAFE.replace(f"{code}-{about}".lower(), "-").strip("-")[:_MAX_NAME].rstrip("-")


def _write(draft: Draft, id_: ObjectId, spec: Tree) -> None:
    existing = draft.fleet.objects.get(id_)
    if existing is None:
        draft.create(f"waivers/{id_.name}.yaml", WAIVER.body({"name": id_.name}, spec=spec))
        return
    for field in ("code", "object", "file"):
        if (existing.spec or {}).get(field) != spec.get(field):
            raise EditRefusedError(f"{id_} is about something else", "give this one another name with --name")
    part = draft.part_with(id_, "spec")
    if part is None:
        raise EditRefusedError(f"only an agent declares {id_}")
    for field, value in spec.items():
        if existing.spec.get(field) != value:
            draft.set(part, ("spec", field), value)
