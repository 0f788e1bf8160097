"""Checks of single objects that are valid by their schemas: what they contain has no effect, or breaks a policy.

Source of the rules for sets and bindings: upstream's webhook of ManagedClusterSetBinding. Policy parameters in the
Fleet must exist and have the right type: otherwise a misspelt threshold would silently leave the default in force, or a
built-in policy would fail for every cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from muster.data import kinds
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import Kind
from muster.data.locations import FLEET_FILE
from muster.data.names import did_you_mean
from muster.data.tree import dig, mapping_at
from muster.fleet.clusters import AUTO_UPDATE, BUILT_IN, is_managed
from muster.fleet.files import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.leases import LEASE_NAME, LONGEST_SECONDS
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.effects.budget import ALLOW_DISRUPTION, FORM, override_of
from muster.rules.policies.csr import decoded
from muster.rules.policies.parameters import wanted
from muster.rules.policies.selectors import selector_mistakes


def policy_params_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each unknown policy or parameter, and an error for each value that a built-in policy cannot
    use."""
    parameters: dict[str, set[str]] = {}
    for obj in (
        *fleet.of(
            kinds.CONDITION_POLICY,
            kinds.TAINT_POLICY,
            kinds.PULSE_POLICY,
            kinds.NOTIFICATION_POLICY,
            kinds.SCORE_POLICY,
        ),
        *fleet.read.builtin.values(),
    ):
        parameters.setdefault(obj.id.name, set()).update(mapping_at(obj.spec, "params"))
    for settings in fleet.of(kinds.FLEET):
        for policy, params in sorted(mapping_at(settings.spec, "policyParams").items()):
            if policy not in parameters:
                yield _unknown(settings, (policy,), f"there is no policy {policy!r}", policy, parameters)
                continue
            for name in sorted(set(params) - parameters[policy]):
                yield _unknown(
                    settings, (policy, name), f"policy {policy!r} has no parameter {name!r}", name, parameters[policy]
                )
    for obj in fleet.read.builtin.values():
        for settings in fleet.of(kinds.FLEET):
            yield from _misfits(settings, obj)


def _misfits(settings: Object, policy: Object) -> Iterator[Finding]:
    defaults = mapping_at(builtin_objects()[policy.id].spec, "params")
    for name, value in sorted(mapping_at(settings.spec, "policyParams", policy.id.name).items()):
        if name in defaults and (needed := wanted(defaults[name], value)):
            at = ("spec", "policyParams", policy.id.name, name)
            message = f"{policy.id} cannot take the parameter {name}: it must be {needed}"
            yield finding_at(settings, at, Code.BAD_POLICY_PARAMETER, message, f"it is {defaults[name]} by default")


def _unknown(settings: Object, at: tuple[str, ...], message: str, name: str, names: Iterable[str]) -> Finding:
    return finding_at(
        settings, ("spec", "policyParams", *at), Code.UNKNOWN_REFERENCE, message, did_you_mean(name, names)
    )


def branch_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield an error if the branch of derived files is set in a file where it is not read."""
    path = ("derived", "branch")
    for obj in fleet.of(kinds.FLEET):
        read = (part for part in obj.parts if part.source.path == FLEET_FILE and not part.source.ref)
        if dig(obj.spec, *path) and not any(dig(part.body, "spec", *path) for part in read):
            message = "spec.derived.branch has no effect here, for it has to be known before anything else is read"
            yield finding_at(
                obj,
                ("spec", *path),
                Code.SETTING_WITHOUT_EFFECT,
                message,
                f"write the Fleet into {FLEET_FILE} at the root",
            )


def set_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield findings about sets and bindings; only a binding is broken by them."""
    for obj in fleet.of(kinds.MANAGED_CLUSTER_SET):
        written = dig(obj.spec, "clusterSelector")
        if is_managed(obj) and written is not None and written != BUILT_IN[obj.id.name]:
            message = f"spec.clusterSelector of {obj.id} is decided by muster; the value in this file has no effect"
            hint = f'Remove it, or set the annotation {AUTO_UPDATE}: "false".'
            yield finding_at(obj, ("spec", "clusterSelector"), Code.BUILT_IN_SET_SELECTOR, message, hint)
    for obj in fleet.of(kinds.MANAGED_CLUSTER_SET_BINDING):
        if obj.spec["clusterSet"] != obj.id.name:
            message = f"{obj.id} binds {obj.spec['clusterSet']!r}, which is not its name"
            yield finding_at(
                obj, ("spec", "clusterSet"), Code.BINDING_NAME_DIFFERS, message, "Give the binding the name of the set."
            )


def override_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each malformed annotation, which has no effect."""
    for obj in fleet.of(*kinds.CLUSTERS, kinds.FLEET, kinds.DISRUPTION_BUDGET):
        if ALLOW_DISRUPTION in obj.annotations and override_of(obj) is None:
            message = f"{ALLOW_DISRUPTION} has no effect: {obj.annotations[ALLOW_DISRUPTION]!r}"
            hint = f"write it as {FORM!r}"
            yield finding_at(obj, ("metadata", "annotations", ALLOW_DISRUPTION), Code.USELESS_OVERRIDE, message, hint)


def lease_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each lease longer than the maximum."""
    path = ("spec", "leaseDurationSeconds")
    for obj in fleet.of(kinds.MANAGED_CLUSTER, kinds.LEASE):
        seconds = dig(obj.body, *path)
        # The hub ignores the duration in a cluster's own Lease.
        if isinstance(seconds, int) and seconds > LONGEST_SECONDS and obj.id.name != LEASE_NAME:
            message = f"{'.'.join(path)} of {obj.id} is {seconds}, which counts as {LONGEST_SECONDS}: a day"
            hint = "a cluster that renews its lease less often is not watched; 60 is the default"
            yield finding_at(obj, path, Code.LEASE_TOO_LONG, message, hint)


def request_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a finding for each undecodable certificate request."""
    for obj in fleet.of(kinds.CSR):
        if error := decoded(obj)["error"]:
            message = f"spec.request of {obj.id} cannot be decoded: {error}"
            hint = "it is a PKCS #10 request, PEM in base64; it stays pending"
            yield finding_at(obj, ("spec", "request"), Code.REQUEST_UNDECODABLE, message, hint)


#: Selectors in objects; those of muster's own policies are checked when they are compiled.
_SELECTORS: Final[Mapping[Kind, tuple[tuple[str, ...], ...]]] = {
    kinds.MANAGED_CLUSTER_SET: (("clusterSelector", "labelSelector"),),
    kinds.DISRUPTION_BUDGET: (("selector",),),
    kinds.CLUSTER_TAINT_POLICY: (("targetClusters", "labelSelector"),),
    kinds.VALIDATING_ADMISSION_POLICY: tuple(
        ("matchConstraints", name) for name in ("objectSelector", "namespaceSelector")
    ),
    kinds.VALIDATING_ADMISSION_POLICY_BINDING: (
        *(("matchResources", name) for name in ("objectSelector", "namespaceSelector")),
        ("paramRef", "selector"),
    ),
}


def selector_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield an error for each invalid selector: an empty set of values would select nothing."""
    for obj in fleet.of(*_SELECTORS):
        for path in _SELECTORS[obj.kind]:
            for at, mistake in selector_mistakes(mapping_at(obj.spec, *path)):
                yield finding_at(
                    obj, ("spec", *path, *at), Code.INVALID_SELECTOR, mistake, f"until then {obj.id} stays as it was"
                )
