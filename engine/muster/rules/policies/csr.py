"""Certificate signing requests, decoded: what policies see of the PEM that an agent sends.

The decoder is imported when the first request is met: most runs have none. What cannot be decoded is an empty request
with an `error`, which no approval policy can take for anything; nothing in it is ever executed or trusted.
"""

import base64
import binascii
from collections.abc import Mapping

from muster.cel.types import STRING, ListType, ObjectType, required
from muster.data.agentref import GROUP, agent_named, cluster_of
from muster.data.groups import grouped
from muster.data.kinds import CONDITION_POLICY
from muster.data.tree import Tree, dig
from muster.fleet.builtin import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object

#: What policies see of one request.
Decoded = Mapping[str, Tree]
REQUEST = ObjectType(
    "csr",
    required(
        pemType=STRING, commonName=STRING, organizations=ListType(STRING), agentOf=STRING, error=STRING, ref=STRING
    ),
)
_REQUEST = ("spec", "request")
_APPROVAL = CONDITION_POLICY.id("csr-approval")


def decoded(obj: Object) -> Decoded:
    """Return `pemType`, `commonName`, `organizations` and `error` of a CertificateSigningRequest, `agentOf` and `ref`.

    `error` is empty where the request could be read; otherwise the first three are. `agentOf` is the cluster whose
    agent may have such a certificate; empty for none. `ref` is `agents/<cluster>` where the request came through an
    agent's branch: whoever may push there made it. It is empty where it is in a file.
    """
    refs = (part.source.ref for part in obj.parts if "spec" in part.body)
    ref = next((f"agents/{cluster_of(ref)}" for ref in refs if ref), "")
    content = _content(str(dig(obj.body, *_REQUEST) or ""))
    return {**content, "agentOf": agent_of(content), "ref": ref}


def agent_signers(fleet: Fleet) -> list[Tree]:
    """Who signs for agents, as the approval policy in force says; the built-in one where that says nothing of it."""
    in_force = (obj for obj in fleet.policies(CONDITION_POLICY) if obj.id == _APPROVAL)
    named = (dig(obj.spec, "params", "signers") for obj in (*in_force, builtin_objects()[_APPROVAL]))
    return next(signers for signers in named if isinstance(signers, list))


def is_of(obj: Object, cluster: str, signers: list[Tree]) -> bool:
    """Whether a request to one of these signers asks for what an agent of this cluster may have."""
    return (
        obj.labels.get(CLUSTER_NAME) == cluster
        and obj.spec.get("signerName") in signers
        and decoded(obj)["agentOf"] == cluster
    )


def agent_of(request: Decoded) -> str:
    """Return the cluster whose agent a request is for, by upstream's rule: its name is
    `system:open-cluster-management:<cluster>:<agent>`, and it is in the cluster's group and no other but
    that of all."""
    cluster = agent_named(request["commonName"])
    group, groups = f"{GROUP}{cluster}", set(request["organizations"])
    sound = request["pemType"] == "CERTIFICATE REQUEST" and {group} <= groups <= {group, f"{GROUP}managed-clusters"}
    return cluster if sound else ""


def _content(text: str) -> Decoded:
    try:
        return _decode(text)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        # What the decoder raises for bytes that are no request depends on where they stop making sense.
        return {"pemType": "", "commonName": "", "organizations": [], "error": _line(error)}


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines and lines[0] else type(error).__name__


def _decode(text: str) -> Decoded:
    from asn1crypto import pem
    from asn1crypto.csr import CertificationRequest

    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from error
    if not pem.detect(data):
        raise ValueError("it is not PEM")
    type_, _, der = pem.unarmor(data)
    subject = CertificationRequest.load(der, strict=True)["certification_request_info"]["subject"]
    names = grouped(
        (part["type"].native, str(part["value"].native)) for relative in subject.chosen for part in relative
    )
    common = names.get("common_name", [""])
    return {
        "pemType": str(type_),
        "commonName": common[-1],  # the last one counts, as where certificates are signed
        "organizations": names.get("organization_name", []),
        "error": "",
    }
