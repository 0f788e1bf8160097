"""A decision about a certificate request is bound to the request's content.

A CertificateSigningRequest is immutable on a hub. In git its file, or the copy on its agent's ref, can be replaced
under the same name. So each decision, muster's or a person's, is stored with a digest of the request. Different content
is a new request: it is decided again, and the old decision does not apply until the old content is back or the person
repeats it (with another `lastUpdateTime`, reason or message). A decision that states the digest, as `muster accept`
writes it, applies to that request only.

Requests of a denied cluster are never approved; the policy `csr-denial` denies them.

The certificate issued for a request is in its derived part, as on a hub, with the digest of the signed request. It ends
when that request is denied, revoked (a person's `Denied`), replaced by other content or removed by its agent.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, CSR, MANAGED_CLUSTER
from muster.data.snapshot import SignerIdentity
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig, digest_of, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_accepted
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object, by_type
from muster.fleet.places import finding_at

#: Bookkeeping of decisions: `request` is the digest muster decided, `word` a person's decision and its digest, `signed`
#: the digest the certificate was issued for, `vouchedBy` the requests whose keys vouched for it, nearest first.
#: `is_cluster_denied` tells the agent, which sees no files of people's, that a person denied it.
DECIDED = ("status", "muster", "decided")
#: The digest of the request that the certificate was issued for.
SIGNED = "signed"
#: The certificate, PEM in base64.
CERTIFICATE = ("status", "certificate")
VOUCHED = "vouchedBy"
DECISION_TYPES = ("Approved", "Denied")
#: Annotation on a person's decision: the digest of the request it applies to.
DIGEST_ANNOTATION = "muster.dev/request-digest"
_NAMING = (CLUSTER_NAME, "open-cluster-management.io/addon-name")


@dataclass(frozen=True, slots=True)
class HumanDecision:
    """A person's decision about a request: a digest of its conditions, and the digest of the request it applies to."""

    digest: str
    request: str

    @property
    def entry(self) -> Tree:
        """The form stored in the derived part."""
        return {"said": self.digest, "request": self.request}


def request_digest(obj: Object) -> str:
    """A digest of everything requested and of the requester. Line breaks in the request's text do not count."""
    spec = dict(obj.spec)
    if isinstance(request := spec.get("request"), str):
        spec["request"] = "".join(request.split())
    return digest_of({"spec": spec, "labels": {name: obj.labels.get(name) for name in _NAMING}})


def is_human_decision(part: Part) -> bool:
    """Is this part a person's decision that names its request by digest, as `muster accept` writes it?

    It may exist without the request: that is on the agent's branch, and goes when its certificate is replaced.
    """
    return part.id.kind == CSR.name and not part.source.ref and isinstance(_stated_digest(part), str)


def _stated_digest(part: Part) -> Tree:
    return dig(part.body, "metadata", "annotations", DIGEST_ANNOTATION)


def human_decision(obj: Object, before: Tree) -> HumanDecision | None:
    """A person's decision about a request, with the digest of the request that existed when it was first made."""
    conditions = by_type(c for part in obj.parts for c in mappings_at(part.body, "status", "conditions"))
    decisions = [conditions[type_] for type_ in DECISION_TYPES if type_ in conditions]
    if not decisions:
        return None
    for part in obj.parts:
        if not part.source.ref and isinstance(request := _stated_digest(part), str):
            return HumanDecision(digest_of(decisions), request)
    digest, recorded = digest_of(decisions), mapping_at(before, *DECIDED, "word")
    same = recorded.get("said") == digest and isinstance(recorded.get("request"), str)
    return HumanDecision(digest, recorded["request"] if same else request_digest(obj))


def issued_certificate(obj: Object, before: Tree) -> str:
    """The certificate issued for the request's present content; empty if there is none.

    A certificate in an input file counts as it is: on an API server a request cannot change.
    """
    served = dig(obj.body, *CERTIFICATE)
    if isinstance(served, str) and served:
        return served
    derived = dig(before, *CERTIFICATE)
    return derived if isinstance(derived, str) and dig(before, *DECIDED, SIGNED) == request_digest(obj) else ""


def vouching_requests(
    obj: Object, previous: Mapping[ObjectId, Tree], identities: Mapping[str, SignerIdentity] | None
) -> list[str]:
    """The requests whose keys vouched for a request, nearest first: the one whose certificate signed it, and those that
    vouched for that one. Found when the request is first seen, then remembered.

    If agents need not sign, any certificate of the cluster may have been used to ask for a renewal.
    """
    before, cluster = previous.get(obj.id), str(obj.labels.get(CLUSTER_NAME, ""))
    vouched = dig(before, *DECIDED, VOUCHED)
    if isinstance(vouched, list) and dig(before, *DECIDED, "request") == request_digest(obj):
        return [name for name in vouched if isinstance(name, str)]
    if not any(part.source.ref for part in obj.parts):
        return []
    signer = None if identities is None else identities.get(cluster, SignerIdentity())
    renews = isinstance(obj.spec.get("username"), str) if signer is None else bool(signer.certificate)
    vouchers = dict[str, None]()
    for id_, body in sorted(previous.items()) if renews else ():
        if id_ == obj.id or not CSR.has(id_) or not (text := dig(body, *CERTIFICATE)):
            continue
        owner = mapping_at(body, "metadata", "labels").get(CLUSTER_NAME)
        if owner == cluster and (signer is None or _digest(text) == signer.certificate):
            earlier = dig(body, *DECIDED, VOUCHED)
            vouchers |= dict.fromkeys((id_.name, *(earlier if isinstance(earlier, list) else ())))
    vouchers.pop(obj.id.name, None)
    return list(vouchers)


def _digest(certificate: Tree) -> str:
    """A digest of a certificate's text, as in `SignerIdentity.certificate`."""
    try:
        return hashlib.sha256(base64.b64decode(str(certificate), validate=True)).hexdigest()
    except ValueError:
        return ""


def is_denied(conditions: Mapping[str, Tree]) -> bool:
    """Do these conditions deny the request?"""
    return bool(dig(conditions.get("Denied"), "status") == "True")


def is_approved(conditions: Mapping[str, Tree]) -> bool:
    """Do these conditions approve the request, and none denies it?"""
    types = {
        type_ for type_ in DECISION_TYPES if type_ in conditions and conditions[type_].get("status", "True") == "True"
    }
    return types == {"Approved"}


def with_bound_decisions(
    objects: Mapping[ObjectId, Object],
    previous: Mapping[ObjectId, Tree],
    parts: Iterable[Part],
    identities: Mapping[str, SignerIdentity] | None,
) -> tuple[dict[ObjectId, Object], dict[ObjectId, Tree], list[Finding]]:
    """Return the objects without decisions that do not apply, the derived parts without decisions about other content,
    and findings about both.

    If one of the `parts` denies a request, all requests that its key vouched for are denied for good.
    """
    bound, past = dict(objects), dict(previous)
    findings: list[Finding] = []
    refused = {id_.name for id_ in requests_denied_by_people(parts) if id_ in objects or id_ in previous}
    for id_, obj in objects.items():
        if not CSR.has(id_):
            continue
        before, digest = previous.get(id_), request_digest(obj)
        if dig(before, *DECIDED, "request") not in (None, digest):
            past[id_] = _without_conditions(before, DECISION_TYPES)
        decision = human_decision(obj, before)
        if decision is None:
            vouchers = vouching_requests(obj, previous, identities)
            recorded = mapping_at(before, *DECIDED)
            ended = recorded.get("request") == digest and "denied" in recorded and "word" not in recorded
            if vouchers and (ended or not refused.isdisjoint(vouchers)):
                bound[id_] = _with_denial(obj)
            continue
        cluster = str(obj.labels.get(CLUSTER_NAME, ""))
        if decision.request != digest:
            bound[id_] = replace(obj, body=_without_conditions(obj.body, DECISION_TYPES))
            findings.append(_other_request(obj))
        elif is_cluster_denied(objects, previous, cluster) and (
            "Approved" in by_type(mappings_at(obj.body, "status", "conditions"))
        ):
            bound[id_] = replace(obj, body=_without_conditions(obj.body, ("Approved",)))
            if not any(map(is_human_decision, obj.parts)):  # `muster accept` wrote it, so the cluster was denied later
                findings.append(_denied_cluster(obj, cluster))
    return bound, past, findings


def is_cluster_denied(objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], cluster: str) -> bool:
    """Was the cluster in the fleet, and is it no longer accepted?"""
    obj = objects.get(id_ := MANAGED_CLUSTER.id(cluster))
    accepted = obj is not None and is_accepted(obj)
    return not accepted and ACCEPTED in by_type(mappings_at(previous.get(id_), "status", "conditions"))


def requests_denied_by_people(parts: Iterable[Part]) -> frozenset[ObjectId]:
    """The requests that people deny, whether they exist or not."""
    people = (part for part in parts if part.layer is Layer.INPUT and CSR.has(part.id) and not part.source.ref)
    return frozenset(part.id for part in people if is_denied(by_type(mappings_at(part.body, "status", "conditions"))))


def _with_denial(obj: Object) -> Object:
    """The request as if people had denied it."""
    message = "A request that vouched for it was denied."
    condition = {"type": "Denied", "status": "True", "reason": "VoucherDenied", "message": message}
    body = _without_conditions({"status": {}, **obj.body}, DECISION_TYPES)
    conditions = [*mappings_at(body, "status", "conditions"), condition]
    return replace(obj, body={**body, "status": {**body["status"], "conditions": conditions}})


def _without_conditions(body: Tree, types: tuple[str, ...]) -> Tree:
    conditions = [c for c in mappings_at(body, "status", "conditions") if c.get("type") not in types]
    return {**body, "status": {**body["status"], "conditions": conditions}}


def _other_request(obj: Object) -> Finding:
    message = f"the request of {obj.id} is not the one that was approved or denied, so that decision does not apply"
    hint = "look at the new request; to approve it, accept its cluster again, or write the condition again"
    return finding_at(obj, ("status", "conditions"), Code.REQUEST_REPLACED, message, hint)


def _denied_cluster(obj: Object, cluster: str) -> Finding:
    message = f"{obj.id} is approved, but cluster {cluster!r} was denied, so it is not"
    hint = f"accept the cluster (muster accept {cluster}), or remove the approval"
    return finding_at(obj, ("status", "conditions"), Code.REQUEST_OF_DENIED_CLUSTER, message, hint)
