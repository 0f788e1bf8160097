"""What was decided of a request for a certificate is bound to that request's content.

A CertificateSigningRequest is immutable on a hub; in git its file, or the one on its agent's ref, can be replaced under
the same name. So what muster decided, and what a person said, is remembered with a digest of the request that it was
said of. Another content is a new request: it is judged anew, and the word about the old one does not count for it until
the old content is back, or the person says it again (with another `lastUpdateTime`, reason or message). Whoever writes
the digest beside the word, as `muster accept` does, names the request that was looked at: none that came later counts.

Requests of a cluster that was denied are approved by nobody; the policy `csr-denial` denies them.

The certificate that a signer made of an approved request stands in the request's derived part, as on a hub, with the
digest of the request that was signed. It stands for as long as that very request is approved: denied, revoked (a
person's word `Denied`), replaced by another content or taken away by its agent, it ends.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, CSR, MANAGED_CLUSTER
from muster.data.snapshot import SignerIdentity
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig, digest_of, mapping_at, mappings_at
from muster.fleet.acceptance import is_accepted
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object, by_type
from muster.fleet.places import finding_at

#: Where it is remembered: `request` is the content of which muster decided, `word` what a person said and of which,
#: `signed` the one of which the certificate was made; `vouchedBy` the requests whose keys vouched for it, the nearest
#: first; `denied` tells the agent, which sees no files of people's, that
#: a person's word is no.
DECIDED = ("status", "muster", "decided")
#: Its field with the digest of the request that the certificate was signed for.
SIGNED = "signed"
#: The certificate, PEM in base64.
CERTIFICATE = ("status", "certificate")
VOUCHED = "vouchedBy"
WORDS = ("Approved", "Denied")
#: On what a person says of a request: the digest of the request that is meant.
MEANT = "muster.dev/request-digest"
_NAMING = (CLUSTER_NAME, "open-cluster-management.io/addon-name")


@dataclass(frozen=True, slots=True)
class Word:
    """What people said of a request: a digest of their conditions, and the digest of the request that they meant."""

    said: str
    request: str

    @property
    def entry(self) -> Tree:
        """As it is remembered."""
        return {"said": self.said, "request": self.request}


def request_digest(obj: Object) -> str:
    """A digest of all that is asked for, and in whose name. How the text of the request is wrapped does not count."""
    spec = dict(obj.spec)
    if isinstance(request := spec.get("request"), str):
        spec["request"] = "".join(request.split())
    return digest_of({"spec": spec, "labels": {name: obj.labels.get(name) for name in _NAMING}})


def is_word(part: Part) -> bool:
    """Whether a part is a person's word about the very request that it names by its digest, as `muster accept` says it.

    Without the request it is no mistake: that lies on its agent's branch, and goes when its certificate is replaced.
    """
    return part.id.kind == CSR.name and not part.source.ref and isinstance(_meant(part), str)


def _meant(part: Part) -> Tree:
    return dig(part.body, "metadata", "annotations", MEANT)


def word_of(obj: Object, before: Tree) -> Word | None:
    """What people say of a request, and of which: of the one that stood there when they first said so."""
    conditions = by_type(c for part in obj.parts for c in mappings_at(part.body, "status", "conditions"))
    said = [conditions[type_] for type_ in WORDS if type_ in conditions]
    if not said:
        return None
    for part in obj.parts:
        if not part.source.ref and isinstance(meant := _meant(part), str):
            return Word(digest_of(said), meant)
    digest, known = digest_of(said), mapping_at(before, *DECIDED, "word")
    same = known.get("said") == digest and isinstance(known.get("request"), str)
    return Word(digest, known["request"] if same else request_digest(obj))


def issued(obj: Object, before: Tree) -> str:
    """The certificate that was made of a request, as it stands there now; empty where there is none of it.

    What an API server says in a file is believed: there a request never becomes another one.
    """
    served = dig(obj.body, *CERTIFICATE)
    if isinstance(served, str) and served:
        return served
    derived = dig(before, *CERTIFICATE)
    return derived if isinstance(derived, str) and dig(before, *DECIDED, SIGNED) == request_digest(obj) else ""


def lineage(
    obj: Object, previous: Mapping[ObjectId, Tree], identities: Mapping[str, SignerIdentity] | None
) -> list[str]:
    """The requests whose keys vouched for a request, the nearest first: that of the certificate with which it was sent,
    and those that vouched for that one. It is found when the request is first seen, and remembered.

    Where agents need not sign, every certificate of the cluster may have been used to ask for a renewal.
    """
    before, cluster = previous.get(obj.id), str(obj.labels.get(CLUSTER_NAME, ""))
    known = dig(before, *DECIDED, VOUCHED)
    if isinstance(known, list) and dig(before, *DECIDED, "request") == request_digest(obj):
        return [name for name in known if isinstance(name, str)]
    if not any(part.source.ref for part in obj.parts):
        return []
    behind = None if identities is None else identities.get(cluster, SignerIdentity())
    renews = isinstance(obj.spec.get("username"), str) if behind is None else bool(behind.certificate)
    found = dict[str, None]()
    for id_, body in sorted(previous.items()) if renews else ():
        if id_ == obj.id or not CSR.has(id_) or not (text := dig(body, *CERTIFICATE)):
            continue
        whose = mapping_at(body, "metadata", "labels").get(CLUSTER_NAME)
        if whose == cluster and (behind is None or _digest(text) == behind.certificate):
            further = dig(body, *DECIDED, VOUCHED)
            found |= dict.fromkeys((id_.name, *(further if isinstance(further, list) else ())))
    found.pop(obj.id.name, None)
    return list(found)


def _digest(certificate: Tree) -> str:
    """A digest of a certificate's text, as `Identity.certificate` has it."""
    try:
        return hashlib.sha256(base64.b64decode(str(certificate), validate=True)).hexdigest()
    except ValueError:
        return ""


def is_denied(conditions: Mapping[str, Tree]) -> bool:
    """Whether a request with these conditions is denied."""
    return bool(dig(conditions.get("Denied"), "status") == "True")


def is_approved(conditions: Mapping[str, Tree]) -> bool:
    """Whether a request with these conditions is approved, and not denied."""
    said = {type_ for type_ in WORDS if type_ in conditions and conditions[type_].get("status", "True") == "True"}
    return said == {"Approved"}


def with_bound_decisions(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], parts: Iterable[Part],
    identities: Mapping[str, SignerIdentity] | None,
) -> tuple[dict[ObjectId, Object], dict[ObjectId, Tree], list[Finding]]:  # fmt: skip
    """Return the objects without the words that do not count, the derived parts without the decisions that were made of
    another content, and what people have to know of it.

    A person's no to a request, in one of the `parts`, is a no to all those for which its key vouched, for good.
    """
    kept, known = dict(objects), dict(previous)
    findings: list[Finding] = []
    refused = {id_.name for id_ in denied_by_people(parts) if id_ in objects or id_ in previous}
    for id_, obj in objects.items():
        if not CSR.has(id_):
            continue
        before, digest = previous.get(id_), request_digest(obj)
        if dig(before, *DECIDED, "request") not in (None, digest):
            known[id_] = _without_conditions(before, WORDS)
        word = word_of(obj, before)
        if word is None:
            vouchers = lineage(obj, previous, identities)
            said = mapping_at(before, *DECIDED)
            ended = said.get("request") == digest and "denied" in said and "word" not in said
            if vouchers and (ended or not refused.isdisjoint(vouchers)):
                kept[id_] = _with_denial(obj)
            continue
        cluster = str(obj.labels.get(CLUSTER_NAME, ""))
        if word.request != digest:
            kept[id_] = replace(obj, body=_without_conditions(obj.body, WORDS))
            findings.append(_other_request(obj))
        elif denied(objects, previous, cluster) and _says(obj, "Approved"):
            kept[id_] = replace(obj, body=_without_conditions(obj.body, ("Approved",)))
            if not any(map(is_word, obj.parts)):  # `muster accept` said it, so that the cluster was denied came later
                findings.append(_denied_cluster(obj, cluster))
    return kept, known, findings


def denied(objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], cluster: str) -> bool:
    """Whether a cluster was in the fleet and is not accepted any more."""
    obj = objects.get(id_ := MANAGED_CLUSTER.id(cluster))
    accepted = obj is not None and is_accepted(obj)
    return not accepted and ACCEPTED in by_type(mappings_at(previous.get(id_), "status", "conditions"))


def denied_by_people(parts: Iterable[Part]) -> frozenset[ObjectId]:
    """The requests that people deny, whether they are there or not."""
    people = (part for part in parts if part.layer is Layer.INPUT and CSR.has(part.id) and not part.source.ref)
    return frozenset(part.id for part in people if is_denied(by_type(mappings_at(part.body, "status", "conditions"))))


def _with_denial(obj: Object) -> Object:
    """A request as if people had denied it."""
    message = "A request that vouched for it was denied."
    said = {"type": "Denied", "status": "True", "reason": "VoucherDenied", "message": message}
    body = _without_conditions({"status": {}, **obj.body}, WORDS)
    conditions = [*mappings_at(body, "status", "conditions"), said]
    return replace(obj, body={**body, "status": {**body["status"], "conditions": conditions}})


def _says(obj: Object, type_: str) -> bool:
    return type_ in by_type(mappings_at(obj.body, "status", "conditions"))


def _without_conditions(body: Tree, types: tuple[str, ...]) -> Tree:
    conditions = [c for c in mappings_at(body, "status", "conditions") if c.get("type") not in types]
    return {**body, "status": {**body["status"], "conditions": conditions}}


def _other_request(obj: Object) -> Finding:
    message = f"the request of {obj.id} is not the one that was approved or denied, so that word does not count for it"
    hint = "look at the new request; to approve it, accept its cluster again, or write the condition anew"
    return finding_at(obj, ("status", "conditions"), "MUS241", message, hint)


def _denied_cluster(obj: Object, cluster: str) -> Finding:
    message = f"{obj.id} is approved, but cluster {cluster!r} was denied, so it is not"
    hint = f"accept the cluster (muster accept --clusters {cluster}), or remove the approval"
    return finding_at(obj, ("status", "conditions"), "MUS242", message, hint)
