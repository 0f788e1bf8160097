"""Decoded certificate signing requests, as policies see the PEM that an agent sends, and their certificates.

The decoder is imported for the first request: most runs have none. An undecodable request is empty, with an `error`, so
no policy can approve it; nothing in it is executed or trusted.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from muster.cel.types import STRING, ListType, ObjectType, required
from muster.data.agentref import GROUP, agent_named, cluster_of
from muster.data.groups import grouped
from muster.data.kinds import CONDITION_POLICY
from muster.data.tree import Tree, dig
from muster.fleet.approvals import CERTIFICATE
from muster.fleet.files import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object

#: One request in expressions.
Decoded = Mapping[str, Tree]
REQUEST = ObjectType(
    "csr",
    required(
        pemType=STRING, commonName=STRING, organizations=ListType(STRING), agentOf=STRING, error=STRING, ref=STRING
    ),
)
_REQUEST = ("spec", "request")
_MOST_CHARACTERS = 1 << 16  # a request of an agent has 700
_APPROVAL = CONDITION_POLICY.id("csr-approval")


def decoded(obj: Object) -> Decoded:
    """Return `pemType`, `commonName`, `organizations` and `error` of a CertificateSigningRequest, `agentOf` and `ref`.

    Either `error` or the first three are empty. `agentOf`: the cluster whose agent may have such a certificate, or
    empty. `ref`: `agents/<cluster>` if the request came through an agent's branch, so anyone with push access there may
    have written it; empty for a file.
    """
    refs = (part.source.ref for part in obj.parts if "spec" in part.body)
    ref = next((f"agents/{cluster_of(ref)}" for ref in refs if ref), "")
    content = _content(str(dig(obj.body, *_REQUEST) or ""))
    return {**content, "agentOf": agent_of(content), "ref": ref}


class IssuedCertificate(NamedTuple):
    """Who a certificate is for, and its lifetime."""

    user: str
    begin: datetime
    end: datetime


def issued_certificate(body: Tree) -> IssuedCertificate | None:
    """Return the certificate of a request; None if there is none, or it cannot be read."""
    from asn1crypto.x509 import Certificate

    try:
        _, der = _unarmored(str(dig(body, *CERTIFICATE) or ""))
        content = Certificate.load(der, strict=True)["tbs_certificate"]
        begin, end = (content["validity"][name].native for name in ("not_before", "not_after"))
        return IssuedCertificate(str(content["subject"].native.get("common_name", "")), begin, end)
    except (ValueError, TypeError, KeyError):
        return None


def agent_signers(fleet: Fleet) -> list[Tree]:
    """The signers for agents, by the approval policy in force, else by the built-in one."""
    in_force = (obj for obj in fleet.policies(CONDITION_POLICY) if obj.id == _APPROVAL)
    named = (dig(obj.spec, "params", "signers") for obj in (*in_force, builtin_objects()[_APPROVAL]))
    return next(signers for signers in named if isinstance(signers, list))


def is_of(obj: Object, cluster: str, signers: list[Tree]) -> bool:
    """Does a request to one of these signers ask for what an agent of this cluster may have?"""
    return (
        obj.labels.get(CLUSTER_NAME) == cluster
        and obj.spec.get("signerName") in signers
        and decoded(obj)["agentOf"] == cluster
    )


def agent_of(request: Decoded) -> str:
    """Return the cluster whose agent a request is for, by upstream's rule: its name is
    `system:open-cluster-management:<cluster>:<agent>`, and its groups are the cluster's and possibly that of all
    clusters."""
    cluster = agent_named(request["commonName"])
    group, groups = f"{GROUP}{cluster}", set(request["organizations"])
    sound = request["pemType"] == "CERTIFICATE REQUEST" and {group} <= groups <= {group, f"{GROUP}managed-clusters"}
    return cluster if sound else ""


def key_fingerprint(text: str) -> str:
    """Return the fingerprint of the key in a request, as ssh-keygen writes it; empty if the request cannot be read."""
    from asn1crypto.csr import CertificationRequest

    try:
        _, der = _unarmored(text)
        key = CertificationRequest.load(der, strict=True)["certification_request_info"]["subject_pk_info"].dump()
    except (ValueError, TypeError):
        return ""
    return f"SHA256:{base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip('=')}"


def _content(text: str) -> Decoded:
    try:
        return _decode(text)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        # The decoder's exception for invalid bytes depends on their content.
        return {"pemType": "", "commonName": "", "organizations": [], "error": _line(error)}


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines and lines[0] else type(error).__name__


def _unarmored(text: str) -> tuple[str, bytes]:
    """Return the type and the DER of a PEM in base64. ValueError for any other text."""
    from asn1crypto import pem

    if len(text) > _MOST_CHARACTERS:  # reading PEM takes quadratic time
        raise ValueError(f"it has {len(text):,} characters; {_MOST_CHARACTERS:,} are allowed")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from error
    if not pem.detect(data):
        raise ValueError("it is not PEM")
    type_, _, der = pem.unarmor(data)
    return str(type_), der


def _decode(text: str) -> Decoded:
    from asn1crypto.csr import CertificationRequest

    type_, der = _unarmored(text)
    subject = CertificationRequest.load(der, strict=True)["certification_request_info"]["subject"]
    names = grouped(
        (part["type"].native, str(part["value"].native)) for relative in subject.chosen for part in relative
    )
    common = names.get("common_name", [""])
    return {
        "pemType": type_,
        "commonName": common[-1],  # the last one counts, as in signing
        "organizations": names.get("organization_name", []),
        "error": "",
    }
