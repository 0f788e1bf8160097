"""What the hub says about a cluster to its agent, read from derived files."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import field

from muster.data.kinds import ACCEPTED, MANIFEST_WORK
from muster.data.locations import SHARDS, SUFFIX, derived_path
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.agent_refs import VERIFIED
from muster.fleet.approvals import CERTIFICATE, DECIDED
from muster.fleet.leases import DURATION, LEASE_SECONDS, LONGEST_SECONDS
from muster.git.errors import RepositoryError


@dataclass(frozen=True, slots=True)
class CertificateAnswer:
    """The answer to a certificate request: `certificate` as PEM, empty until it is signed."""

    certificate: bytes = b""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class ClusterWorks:
    """All ManifestWorks that the hub has for a cluster: their derived parts by name. `digest` changes with them."""

    digest: str
    bodies: Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class HubView:
    """What the hub says about one cluster.

    `synced` is False if the hub says that the clocks differ. `lease_seconds` is the lease duration; None for the
    default. `doubt` is why the hub ignores the agent's reports, as a reason and a sentence; empty if it received them,
    or if they need no signature. `answers` are the answers to certificate requests, by the request's name. `works` is
    None if the agent did not ask for them, or the cluster is not accepted.
    """

    accepted: bool = False
    synced: bool = True
    lease_seconds: int | None = None
    doubt: tuple[str, str] | tuple[()] = ()
    answers: Mapping[str, CertificateAnswer] = field(default_factory=dict)
    works: ClusterWorks | None = None


def bounded(seconds: Tree) -> int | None:
    """Return a lease duration as agents apply it, at most a day; None if the value is not a duration."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        return None
    return min(seconds, LONGEST_SECONDS)


def read_body(data: bytes, path: str) -> Tree:
    """Return the derived part in a file of the hub. RepositoryError if the file cannot be read."""
    loaded = load_documents(data, path)
    if loaded.problems or not loaded.documents:
        raise RepositoryError(f"{path} of the hub cannot be read", "the next reconcile writes it anew")
    return loaded.documents[0].body


def work_folders(cluster: str) -> list[str]:
    """Return the folders that may have the derived works of a cluster, one for each number of shards."""
    return [derived_path(MANIFEST_WORK.id("work", cluster), shards).rpartition("/")[0] for shards in SHARDS]


def is_work_file(mode: bytes, name: bytes) -> bool:
    """Is an entry of such a folder a work? With another number of shards, the same folder has those of clusters."""
    return mode.startswith(b"100") and name.endswith(SUFFIX.encode())


def works_of(cluster: str, digest: str, bodies: Iterable[Tree]) -> ClusterWorks:
    """Return the works of a cluster. RepositoryError if one of the bodies is something else."""
    by_name = {str(dig(body, "metadata", "name")): body for body in bodies}
    for name, body in by_name.items():
        if not is_work(body, cluster):
            raise RepositoryError(f"the work {name} of the hub cannot be read", "the next reconcile writes it anew")
    return ClusterWorks(digest, by_name)


def is_work(body: Tree, cluster: str) -> bool:
    """Is it the derived part of a ManifestWork of the cluster?"""
    return (
        dig(body, "kind") == MANIFEST_WORK.name
        and dig(body, "metadata", "namespace") == cluster
        and isinstance(dig(body, "metadata", "name"), str)
    )


def answer_of(body: Tree) -> CertificateAnswer:
    """Return the answer to a certificate request, from its derived part."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    denied = status.get("Denied") == "True" or dig(body, *DECIDED, "denied") is True
    return CertificateAnswer(decode_certificate(dig(body, *CERTIFICATE)), denied)


def decode_certificate(text: Tree) -> bytes:
    """Return a certificate that is given in base64; empty if it is missing or malformed."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""


def view_of(body: Tree) -> HubView:
    """Return what a cluster's derived part says to its agent."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    duration = mapping_at(body, "metadata", "annotations").get(DURATION)
    seconds = (
        int(duration)
        if isinstance(duration, str) and duration.isascii() and duration.isdigit() and len(duration) < 12
        else None
    )
    return HubView(
        accepted=status.get(ACCEPTED) == "True",
        synced=status.get("ManagedClusterConditionClockSynced") != "False",
        lease_seconds=bounded(dig(body, *LEASE_SECONDS)) or bounded(seconds),
        doubt=_doubt_of(body),
    )


def _doubt_of(body: Tree) -> tuple[str, str] | tuple[()]:
    for condition in mappings_at(body, "status", "conditions"):
        if condition.get("type") == VERIFIED and condition.get("status") == "False":
            return str(
                condition.get("reason", "")
            ), f"{condition.get('message', '')} (since {condition.get('lastTransitionTime', '')})"
    return ()
