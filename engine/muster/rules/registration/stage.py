"""Registration: acceptance and denial of ManagedClusters, joining, derived Leases, and verified signers.

Source: seed 002 (double opt-in, removal), seed 000 (who creates the Lease) and upstream's managedcluster and lease
controllers. A cluster that was never accepted has no condition; one that was accepted once and is no longer is denied.
An accepted cluster without a Lease gets a derived one, renewed now, so that it has a full grace period; it goes when
the agent's own Lease exists.

A cluster has joined, in upstream's words, when its agent has reported after acceptance: with its own Lease, or by the
condition itself. If agents need certificates, a request of its agent must be signed, too. Joining is never withdrawn,
but a cluster that is declared again and whose agent has not spoken is another one.

If agents must sign (`Fleet.spec.agents.signing`), `AgentIdentityVerified` is decided for every accepted cluster with a
ref. Signers are verified where refs are read (`muster.git.agents.identities`); reports without a verified signer are
not received, so the lease will expire.
"""

from collections.abc import Iterator, Set
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Input
from muster.data.finding import Finding
from muster.data.kinds import ACCEPTED, CLUSTERS, CSR, LEASE, MANAGED_CLUSTER
from muster.data.snapshot import SignerIdentity
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.acceptance import ACCEPTED_ON, is_accepted, is_accepted_automatically
from muster.fleet.agent_refs import VERIFIED
from muster.fleet.approvals import issued_certificate
from muster.fleet.clusters import JOINED
from muster.fleet.faults import each
from muster.fleet.fleet import RefsRead
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME, lease_id, leases_by_cluster, renew_time
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.heartbeats.silence import retained_clusters
from muster.rules.policies.in_force import InForce
from muster.rules.stages import CONDITIONS, METADATA, SPEC, Local, UnsoundObjects
from muster.rules.transitions import condition, condition_decision

_BECAUSE = Because("registration", (Input(("spec", "hubAcceptsClient")),))
_AUTOMATIC = Because("registration", OF_ITSELF, "the Fleet accepts clusters without a person's decision")
_JOINED = "it was accepted, and its agent has reported"
_REPORTED = "its agent reports that it joined"
_JOINED_BEFORE = Because("registration", OF_ITSELF, "it joined before, and joining happens once")


def stage(
    view: View, now: datetime, rules: InForce, refs: RefsRead, unsound: UnsoundObjects
) -> Iterator[Decision | Finding]:
    """Decide acceptance, joining, and derived Leases."""
    leases, certificates = leases_by_cluster(view), rules.settings.certificates_required

    def registered(obj: Object) -> Iterator[Decision]:
        decision = _acceptance(view, obj, now)
        if decision is not None:
            yield decision
            yield from _automatically(view, obj, now)
            yield from _joined(view, obj, leases.get(obj.id.name), now, certificates=certificates)
            if obj.id.name not in leases and not obj.deleting:
                yield from _awaited_lease(view, obj, now)

    def awaited(obj: Object) -> Iterator[Decision]:
        has_lease = obj.id.name in leases or lease_id(obj.id.name) in view.previous
        expected = obj.kind is MANAGED_CLUSTER and ACCEPTED in view.conditions_before(obj.id)
        if (expected or obj.id in refs.lost) and not has_lease:
            yield from _awaited_lease(view, obj, now)

    yield from each(view.of(MANAGED_CLUSTER), registered)
    yield from each(retained_clusters(view, refs, unsound), awaited)


def _acceptance(view: View, obj: Object, now: datetime) -> Decision | None:
    before = view.conditions_before(obj.id).get(ACCEPTED)
    if is_accepted(obj):
        statement = ("True", "HubClusterAdminAccepted", "Accepted by hub cluster admin")
    elif before is not None and before.get("status") == "True":
        statement = ("False", "HubClusterAdminDenied", "Denied by hub cluster admin")
    elif before is not None:  # it was denied before, for the recorded reason
        statement = ("False", str(before.get("reason", "")), str(before.get("message", "")))
    else:
        return None
    return condition_decision(view, obj.id, ACCEPTED, statement, _BECAUSE, now)


def _automatically(view: View, obj: Object, now: datetime) -> Iterator[Decision]:
    """The record of automatic acceptance: since when."""
    if not is_accepted_automatically(obj):
        return
    since = view.before(obj.id, "metadata", "annotations", ACCEPTED_ON)
    annotations = {**mapping_at(view.now(obj.id, "metadata", "annotations"))}
    annotations[ACCEPTED_ON] = since if isinstance(since, str) else format_time(now)
    yield Decision(obj.id, ("metadata", "annotations"), annotations, _AUTOMATIC)
    yield Decision(obj.id, ("spec", "hubAcceptsClient"), value=True, because=_AUTOMATIC)


def _with_certificates(view: View) -> Set[str]:
    return {cluster_of(obj) for obj in view.of(CSR) if issued_certificate(obj, view.previous.get(obj.id))}


def _joined(view: View, obj: Object, lease: Tree, now: datetime, *, certificates: bool) -> Iterator[Decision]:
    """Upstream's agent writes this condition itself: it counts if no certificate is needed, and is kept when the agent
    is gone."""
    reported = view.reported(obj.id).get(JOINED)
    earlier = reported if not certificates and reported is not None and reported.get("status") == "True" else None
    last_joined = view.conditions_before(obj.id).get(JOINED)
    spoke = renew_time(lease) is not None or bool(view.reported(obj.id))
    certified = not certificates or obj.id.name in view.once(_with_certificates)
    if spoke and certified and is_accepted(obj):
        because = Because("registration", (Input(("spec", "hubAcceptsClient")), _report_input(lease)), _JOINED)
    elif last_joined is not None and not _is_younger(obj, last_joined):
        because = _JOINED_BEFORE
    elif earlier is not None:
        because = Because("registration", (Input(("status", "conditions", (JOINED,))),), _REPORTED)
    else:
        return
    decided = condition(last_joined or earlier, "True", JOINED, "Managed cluster joined", now=now)
    yield Decision(obj.id, ("status", "conditions", (JOINED,)), decided, because)


def _is_younger(obj: Object, joined: Tree) -> bool:
    """Was the cluster declared again since this condition became true? If its agent has not spoken either, it is
    another cluster's condition."""
    created, since = (
        try_time(dig(obj.body, "metadata", "creationTimestamp")),
        try_time(dig(joined, "lastTransitionTime")),
    )
    return created is not None and since is not None and created > since


def _report_input(lease: Tree) -> Input:
    """Where an agent has reported: in its Lease, else in its conditions."""
    if renew_time(lease) is None:
        return Input(("status", "conditions"))
    metadata = mapping_at(lease, "metadata")
    return Input(("spec", "renewTime"), LEASE.id(metadata["name"], metadata.get("namespace", "")))


def _awaited_lease(view: View, obj: Object, now: datetime) -> Iterator[Decision]:
    id_ = lease_id(obj.id.name)
    renewed = view.before(id_, "spec", "renewTime")
    since = renewed if isinstance(renewed, str) else format_time(now)
    text = f"the cluster's agent has no Lease: it is expected from {since} on"
    because = Because("registration", (Input(("spec", "hubAcceptsClient"), obj.id),), text)
    yield Decision(id_, ("metadata", "labels"), {CLUSTER_NAME: obj.id.name}, because)
    yield Decision(id_, ("spec", "holderIdentity"), LEASE_NAME, because)
    yield Decision(id_, ("spec", "renewTime"), since, because)


STAGE = Local(
    "registration",
    stage,
    derives=(
        ((MANAGED_CLUSTER,), (("spec", "hubAcceptsClient"), ("metadata", "annotations"), CONDITIONS)),
        ((LEASE,), (METADATA, SPEC)),
    ),
)


_SIGNED = Because("identity", OF_ITSELF, "the signature of the newest commit on its agent's ref")


def verify(view: View, now: datetime, refs: RefsRead, unsound: UnsoundObjects) -> Iterator[Decision | Finding]:
    """Decide the condition `AgentIdentityVerified`."""
    identities = refs.identities
    if identities is None:
        return

    def verified(obj: Object) -> Iterator[Decision]:
        identity = identities.get(obj.id.name)
        if identity is None and obj.id in refs.lost:
            identity = SignerIdentity("", "RefGone", f"agents/{obj.id.name} is gone")
        if identity is None or (obj.kind is MANAGED_CLUSTER and obj.id not in refs.lost and not is_accepted(obj)):
            return
        statement = ("True", "SignatureVerified", f"What its agent says is signed by {identity.user}.")
        if identity.reason:
            statement = ("False", identity.reason, f"Not received: {identity.doubt}.")
        yield condition_decision(view, obj.id, VERIFIED, statement, _SIGNED, now)

    yield from each(view.of(*CLUSTERS), verified)
    yield from each((obj for obj in retained_clusters(view, refs, unsound) if obj.id in refs.lost), verified)


IDENTITY = Local("identity", verify, derives=((CLUSTERS, (CONDITIONS,)),))
