"""Certificates in people's files, in a fleet that requires signed reports.

Such a certificate makes its key an agent's: everybody who has that key speaks for the cluster. So one in a file counts
only if `Fleet.spec.signing.authority` names who may issue certificates. Without an authority, everybody whose file is
merged would be one, with a certificate that signs itself or is of a CA of their own. What `muster sign` issued is in no
file of people's and needs no authority.

Only the issuer's name is compared here. Signatures are verified where certificates are used
(`muster.git.agents.identities`).
"""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CSR
from muster.data.locations import AUTHORITY
from muster.data.tree import Tree, dig
from muster.fleet.approvals import CERTIFICATE
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.settings import Settings

_NO_AUTHORITY: Final = (
    "the Fleet requires signed reports and names no authority, so nothing says who may issue one",
    "set spec.signing.authority of the Fleet to the issuer's certificate, or let `muster sign` issue this one",
)
_UNREADABLE: Final = (
    "it cannot be read",
    "it is one X.509 certificate, PEM in base64, as `muster sign` writes it",
)
_OTHER_ISSUER: Final = (
    "its issuer is no authority in the Fleet's spec.signing.authority",
    "let one of them sign the request, or add the issuer's certificate to spec.signing.authority",
)


def with_vouched_certificates(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], settings: Settings
) -> tuple[dict[ObjectId, Object], dict[ObjectId, Tree], list[Finding]]:
    """Return the objects and derived parts without certificates of files that do not count, and a finding about each.
    Nothing changes if the fleet does not require signed reports."""
    vouched, past, findings = dict(objects), dict(previous), list[Finding]()
    if not settings.signing_required:
        return vouched, past, findings
    authority = settings.get(*AUTHORITY)
    for id_, obj in objects.items():
        if not CSR.has(id_) or not (text := dig(obj.body, *CERTIFICATE)):
            continue
        if (doubt := _doubt(str(text), authority if isinstance(authority, str) else "")) is None:
            continue
        reason, hint = doubt
        message = f"the certificate in this file of {id_} does not count: {reason}"
        findings.append(finding_at(obj, CERTIFICATE, Code.CERTIFICATE_NOT_VOUCHED, message, hint))
        vouched[id_] = replace(obj, body=_without_certificate(obj.body))
        if dig(before := previous.get(id_), *CERTIFICATE) == text:  # a run before the Fleet required signatures
            past[id_] = _without_certificate(before)
    return vouched, past, findings


def _doubt(text: str, authority: str) -> tuple[str, str] | None:
    """Why a certificate does not count, and what to do; None if it does as far as names tell."""
    if not authority:
        return _NO_AUTHORITY
    try:
        (certificate,) = _certificates(base64.b64decode(text, validate=True))
        issuer = certificate.issuer
    except (ValueError, TypeError, KeyError):
        return _UNREADABLE
    try:
        subjects = [certificate.subject for certificate in _certificates(authority.encode())]
    except (ValueError, TypeError, KeyError):
        return None  # a finding about the Fleet's own field
    return None if issuer in subjects else _OTHER_ISSUER


def _certificates(text: bytes) -> list[Any]:
    from asn1crypto import pem
    from asn1crypto.x509 import Certificate

    return [Certificate.load(der, strict=True) for _, _, der in pem.unarmor(text, multiple=True)]


def _without_certificate(body: Tree) -> Tree:
    status = {name: value for name, value in body["status"].items() if name != CERTIFICATE[-1]}
    return {**body, "status": status}
