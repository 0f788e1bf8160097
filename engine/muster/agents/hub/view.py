"""What the hub has decided of a cluster, as its agent reads it: from derived files."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.data.kinds import ACCEPTED
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import load_documents
from muster.fleet.agent_refs import VERIFIED
from muster.fleet.approvals import CERTIFICATE, DECIDED
from muster.fleet.leases import DURATION, LEASE_SECONDS, LONGEST_SECONDS
from muster.git.errors import RepositoryError


@dataclass(frozen=True, slots=True)
class CertificateAnswer:
    """What became of a request for a certificate: `certificate` as PEM, empty until it is signed."""

    certificate: bytes = b""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class HubView:
    """`accepted`: whether the hub lets the cluster in. `synced`: False where it says that the clocks differ.
    `lease_seconds`: how long the lease lasts by the hub's word, None where it says nothing else than the default.
    `doubt`: why what the agent says was not received, as a reason and a sentence; empty where it was, or need not be
    signed. `answers`: to the requests that were asked about, by their names."""

    accepted: bool = False
    synced: bool = True
    lease_seconds: int | None = None
    doubt: tuple[str, str] | tuple[()] = ()
    answers: Mapping[str, CertificateAnswer] = field(default_factory=dict)


def bounded(seconds: Tree) -> int | None:
    """A duration as an agent obeys it, a day at most; None where it is none."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        return None
    return min(seconds, LONGEST_SECONDS)


def read_body(data: bytes, path: str) -> Tree:
    """The derived part in a file of the hub. RepositoryError where nobody can read it."""
    loaded = load_documents(data, path)
    if loaded.problems or not loaded.documents:
        raise RepositoryError(f"{path} of the hub cannot be read", "the next reconcile writes it anew")
    return loaded.documents[0].body


def answer_of(body: Tree) -> CertificateAnswer:
    """What became of a request for a certificate, by its derived part."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    text = dig(body, *CERTIFICATE)
    try:
        certificate = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        certificate = b""
    denied = status.get("Denied") == "True" or dig(body, *DECIDED, "denied") is True
    return CertificateAnswer(certificate, denied)


def view_of(body: Tree) -> HubView:
    """What a cluster's derived part says to its agent."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    own = mapping_at(body, "metadata", "annotations").get(DURATION)
    told = int(own) if isinstance(own, str) and own.isascii() and own.isdigit() and len(own) < 12 else None
    return HubView(
        accepted=status.get(ACCEPTED) == "True",
        synced=status.get("ManagedClusterConditionClockSynced") != "False",
        lease_seconds=bounded(dig(body, *LEASE_SECONDS)) or bounded(told),
        doubt=_doubt_of(body),
    )


def _doubt_of(body: Tree) -> tuple[str, str] | tuple[()]:
    """Why what a cluster's agent says was not received, by the cluster's derived part."""
    for one in mappings_at(body, "status", "conditions"):
        if one.get("type") == VERIFIED and one.get("status") == "False":
            return str(one.get("reason", "")), f"{one.get('message', '')} (since {one.get('lastTransitionTime', '')})"
    return ()
