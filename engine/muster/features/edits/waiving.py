"""Waiving by hand: a Waiver for what is found of an object, or of a file, as an edit of the repository.

What is found is found anew, by a run on the branch as it is: a person names the code and the object, and the digests of
all that this code says of it go into the file. A Waiver that stands is written anew, so that it can be extended.
"""

import re
from collections.abc import Collection
from datetime import datetime
from importlib.util import find_spec

from muster.data.codes import CODES
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import WAIVER
from muster.data.names import did_you_mean
from muster.data.tree import Tree
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.agent_refs import with_agent_refs
from muster.rules.checks.advice import advice
from muster.rules.checks.waivers import NEVER, PROVED
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.taints.policy import TaintPolicy
from muster.run.evaluate import NOBODY, decide

_STRANGE = re.compile(r"[^a-z0-9]+")
_LONGEST = 200
_DAY = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", re.ASCII)


def waive(
    draft: Draft, code: str, about: str, *, reason: str, owner: str, until: str, now: datetime, name: str = ""
) -> None:
    """Waive what a code says of an object (`Kind/[namespace/]name`) or a file, until a day.

    EditRefusedError where it says nothing, where nobody can answer for it, where the day is none or has come, and where
    a Waiver of that name is about something else.
    """
    if code in NEVER or code not in CODES:
        raise EditRefusedError(f"{code} cannot be waived", "" if code in NEVER else did_you_mean(code, CODES))
    if not _DAY.fullmatch(until) or until <= now.date().isoformat():
        raise EditRefusedError(f"{until!r} is no day to come", "write the first day on which it counts again")
    everything = _proved(draft.fleet, about) if code in PROVED else _found(draft, now)
    found = [one for one in everything if (one.code, one.about) == (code, about)]
    if not found:
        raise EditRefusedError(f"{code} says nothing of {about}", _nearest(everything, code, about))
    spec: Tree = {"code": code, "object" if found[0].object else "file": about}
    told = {one.digest: one.message for one in found}
    spec["findings"] = [{"digest": digest, "message": told[digest]} for digest in sorted(told)]
    spec |= {"reason": reason, "owner": owner, "until": until}
    _write(draft, WAIVER.id(name or _named(code, about)), spec)
    draft.told.extend(f"{code} of {about}: {told[digest]}" for digest in sorted(told))


def _found(draft: Draft, now: datetime) -> list[Finding]:
    """All that is found in the fleet: by checking, by a run, and by who gives advice."""
    run = decide(with_agent_refs(draft.fleet, draft.agents), now, NOBODY, None)
    return sorted({*draft.fleet.findings, *run.findings, *advice(draft.fleet)}, key=Finding.sort_key)


def _proved(fleet: FleetWithPolicies, about: str) -> list[Finding]:
    """What a solver finds of the policy that is named."""
    if find_spec("z3") is None:
        raise EditRefusedError("what is proved is found by z3, which is not installed", "install muster-fleet[prove]")
    from muster.features.lint.proving.questions import prove_policy

    policies = (*fleet.compiled.of(ConditionPolicy), *fleet.compiled.of(TaintPolicy), *fleet.compiled.of(PulsePolicy))
    return [one for policy in policies if str(policy.id) == about for one in prove_policy(fleet, policy).findings]


def _nearest(found: Collection[Finding], code: str, about: str) -> str:
    """What is found of the object, or of what the code is said."""
    if codes := sorted({one.code for one in found if one.about == about}):
        return f"what is found of it: {', '.join(codes)}"
    return did_you_mean(about, {one.about for one in found if one.code == code and one.about})


def _named(code: str, about: str) -> str:
    return _STRANGE.sub("-", f"{code}-{about}".lower()).strip("-")[:_LONGEST].rstrip("-")


def _write(draft: Draft, id_: ObjectId, spec: Tree) -> None:
    standing = draft.fleet.objects.get(id_)
    if standing is None:
        draft.create(f"waivers/{id_.name}.yaml", WAIVER.body({"name": id_.name}, spec=spec))
        return
    for field in ("code", "object", "file"):
        if (standing.spec or {}).get(field) != spec.get(field):
            raise EditRefusedError(f"{id_} is about something else", "give this one another name with --name")
    part = draft.part_with(id_, "spec")
    if part is None:
        raise EditRefusedError(f"no file of a person declares {id_}")
    for field, value in spec.items():
        if standing.spec.get(field) != value:
            draft.set(part, ("spec", field), value)
