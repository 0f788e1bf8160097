"""The parameters that a Fleet sets for policies: each must be one that a policy has, and one that it can take.

A misspelt threshold would silently leave the policy's own in force, and one of another sort would have a built-in
policy fail for every cluster.
"""

from collections.abc import Iterable, Iterator

from muster.data.finding import Finding
from muster.data.kinds import CONDITION_POLICY, FLEET, NOTIFICATION_POLICY, PULSE_POLICY, TAINT_POLICY
from muster.data.names import did_you_mean
from muster.data.tree import mapping_at
from muster.fleet.builtin import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.parameters import wanted


def policy_params_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each policy and parameter that does not exist, and an error for each value that a built-in
    policy cannot take."""
    known: dict[str, set[str]] = {}
    for obj in (*fleet.of(CONDITION_POLICY, TAINT_POLICY, PULSE_POLICY, NOTIFICATION_POLICY), *fleet.builtin.values()):
        known.setdefault(obj.id.name, set()).update(mapping_at(obj.spec, "params"))
    for settings in fleet.of(FLEET):
        for policy, params in sorted(mapping_at(settings.spec, "policyParams").items()):
            if policy not in known:
                yield _unknown(settings, (policy,), f"there is no policy {policy!r}", policy, known)
                continue
            for name in sorted(set(params) - known[policy]):
                yield _unknown(
                    settings, (policy, name), f"policy {policy!r} has no parameter {name!r}", name, known[policy]
                )
    for obj in fleet.builtin.values():
        for settings in fleet.of(FLEET):
            yield from _misfits(settings, obj)


def _misfits(settings: Object, policy: Object) -> Iterator[Finding]:
    own = mapping_at(builtin_objects()[policy.id].spec, "params")
    for name, value in sorted(mapping_at(settings.spec, "policyParams", policy.id.name).items()):
        if name in own and (needed := wanted(own[name], value)):
            at = ("spec", "policyParams", policy.id.name, name)
            message = f"{policy.id} cannot take the parameter {name}: it must be {needed}"
            yield finding_at(settings, at, "MUS280", message, f"it is {own[name]} by default")


def _unknown(settings: Object, at: tuple[str, ...], message: str, name: str, known: Iterable[str]) -> Finding:
    return finding_at(settings, ("spec", "policyParams", *at), "MUS210", message, did_you_mean(name, known))
