"""Certificate requests: which content was decided, and the certificates issued for them.

See `muster.fleet.approvals` for what is recorded and why. It changes with a decision, muster's or a person's. Signers
issue certificates (`muster.features.sign.signing`); here they are kept while their request is approved.
"""

from collections.abc import Iterator

from muster.data.decision import OF_CONDITIONS, OF_ITSELF, OF_SPEC, Because, Decision
from muster.data.finding import Finding
from muster.data.kinds import CSR
from muster.data.tree import Tree
from muster.fleet.approvals import (
    CERTIFICATE,
    DECIDED,
    DECISION_TYPES,
    SIGNED,
    VOUCHED,
    human_decision,
    is_approved,
    is_denied,
    issued_certificate,
    request_digest,
    vouching_requests,
)
from muster.fleet.faults import each
from muster.fleet.fleet import RefsRead
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.stages import Local

_BECAUSE = Because("requests", OF_SPEC, "the request that was decided: other content is decided again")
_WHOSE = Because("requests", OF_ITSELF, "names the cluster when the request is gone")
_SIGNED = Because("requests", OF_CONDITIONS, "a signer made it, and the request is still approved")


def stage(view: View, refs: RefsRead) -> Iterator[Decision | Finding]:
    """Record the content of every decided request, and keep its certificate."""

    def bound(obj: Object) -> Iterator[Decision]:
        entry: Tree = {}
        if any(type_ in view.conditions(obj.id) for type_ in DECISION_TYPES):
            entry["request"] = request_digest(obj)
        if (human := human_decision(obj, view.previous.get(obj.id))) is not None:
            entry["word"] = human.entry
        if is_denied(view.reported(obj.id)):
            entry["denied"] = True
        certificate = issued_certificate(obj, view.previous.get(obj.id))
        approved = is_approved({**view.reported(obj.id), **view.conditions(obj.id)})
        if certificate and approved:
            entry[SIGNED] = request_digest(obj)
            yield Decision(obj.id, CERTIFICATE, certificate, _SIGNED)
        if entry and (vouchers := vouching_requests(obj, view.previous, refs.identities)):
            entry.setdefault("request", request_digest(obj))
            entry[VOUCHED] = vouchers
        if entry:
            yield Decision(obj.id, DECIDED, entry, _BECAUSE)
        if (entry or view.decisions(obj.id)) and (cluster := cluster_of(obj)):
            yield Decision(obj.id, ("metadata", "labels"), {CLUSTER_NAME: cluster}, _WHOSE)

    yield from each(view.of(CSR), bound)


STAGE = Local("requests", stage, derives=(((CSR,), (DECIDED, CERTIFICATE, ("metadata", "labels"))),))
