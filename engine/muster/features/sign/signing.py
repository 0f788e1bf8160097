"""Signs approved certificate requests, in one commit.

Source: seed 002 ("approved and signed by any certificate provider setting filling .status.certificate"). A signed
request is approved in the evaluated commit, by the policy or by a person, with exactly its present content, and names a
signer for agents that the approval policy names. The certificate goes into the request's derived part, where the next
run finds it as its own (`muster.rules.registration.requests`). Nothing of the key is written.
"""

import base64
from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import datetime

from muster.agents.identity.authority import Approved, Authority
from muster.cli.listening import WRITER, Freshness, agent_refs_at
from muster.data.agentref import GROUP
from muster.data.kinds import CSR
from muster.data.locations import AUTHORITY, derived_path
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.features.edits.editing import Edited
from muster.fleet.approvals import (
    CERTIFICATE,
    DECIDED,
    DECISION_TYPES,
    SIGNED,
    is_approved,
    is_cluster_denied,
    issued_certificate,
    request_digest,
)
from muster.fleet.derived import derived_text, in_order
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.neighbourhoods import cluster_of
from muster.fleet.objects import Object, by_type
from muster.git.errors import IdentityError, RepositoryError
from muster.git.fastimport import build_commit
from muster.git.landing.landing import find_tips, land
from muster.git.landing.landing_derived import commit_to_evaluate, find_derived_tips, land_derived
from muster.git.repository import Repository
from muster.git.signatures.certificate import authorities
from muster.git.snapshot import CommitSnapshot
from muster.rules.policies.csr import agent_signers, decoded, is_of
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot

_NO_AUTHORITY = (
    "the Fleet names no authority, so certificates of any authority count: "
    "put the content of --ca-cert into fleet.yaml as spec.signing.authority"
)


@dataclass
class _Draft:
    files: dict[str, bytes] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)


def sign(
    repository: Repository,
    authority: Authority,
    now: Callable[[], datetime],
    *,
    branch: str,
    remote: str | None,
    attempts: Iterable[int],
    freshness: Freshness = WRITER,
) -> Edited:
    """Sign the requests that are approved on the branch's head and commit the certificates to the branch for derived
    files.

    With a remote, push them there. RepositoryError as for `reconcile`.
    """
    for _ in attempts:
        tips = find_tips(repository, branch, remote)
        apart = find_derived_tips(repository, tips)
        seen = commit_to_evaluate(repository, tips, apart)
        heard = agent_refs_at(repository, seen, freshness, first=remote)
        snapshot = CommitSnapshot(repository, seen, heard.refs, heard.agents)
        fleet = check_snapshot(snapshot)
        draft = _sign_requests(fleet, authority, now())
        if draft.files and not fleet.settings.get(*AUTHORITY):
            draft.waiting.append(_NO_AUTHORITY)
        if not draft.files:
            return Edited(None, (), tuple(draft.refused), waiting=tuple(draft.waiting))
        number = len(draft.changes)
        subject = "Sign 1 request for a certificate" if number == 1 else f"Sign {number} requests for certificates"
        skip = " [skip ci]" if fleet.settings.skip_ci else ""
        message = "\n".join((f"{subject}{skip}", "", *draft.changes, ""))
        commit = build_commit(repository, draft.files, message, apart.base if apart else tips.base)
        landed = land_derived(repository, tips, apart, commit) if apart else land(repository, tips, commit)
        if landed is not None:
            return Edited(
                commit,
                tuple(draft.changes),
                tuple(draft.refused),
                landed.pushed,
                landed.left_behind,
                landed.followed,
                tuple(draft.waiting),
            )
    raise RepositoryError(f"{branch} kept moving, so nothing was signed", "run it again")


def _sign_requests(fleet: FleetWithPolicies, authority: Authority, now: datetime) -> _Draft:
    draft, signers = _Draft(), agent_signers(fleet)
    named = fleet.settings.get(*AUTHORITY)
    if isinstance(named, str) and named and authority.certificate not in authorities(named):
        draft.refused.append("nothing is signed: --ca-cert is not an authority that Fleet.spec.signing.authority names")
        return draft
    for obj in fleet.of(CSR):
        before, cluster = fleet.previous.get(obj.id), str(obj.labels.get(CLUSTER_NAME, ""))
        if issued_certificate(obj, before):
            continue
        if not is_of(obj, cluster, signers):
            name = decoded(obj)["commonName"]
            if name.startswith(f"{GROUP}{cluster}:") and _is_approved(fleet, obj, cluster):
                draft.refused.append(f"{obj.id} is not signed: {name!r} is not the name of an agent of {cluster}")
            continue
        if not _is_approved(fleet, obj, cluster):
            if not any(type_ in _conditions(fleet, obj) for type_ in DECISION_TYPES):
                draft.waiting.append(f"{obj.id} waits for approval: muster accept {cluster}")
            continue
        try:
            made = authority.sign(_approved(obj), now)
        except IdentityError as error:
            draft.refused.append(f"{obj.id} is not signed: {error}")
            continue
        path = fleet.derived_paths.get(obj.id) or derived_path(obj.id, fleet.settings.shards)
        draft.files[path] = derived_text(_with_certificate(obj, before, made)).encode()
        draft.changes.append(f"{obj.id}: signed for the agent of {cluster} at {format_time(now)}")
    return draft


def _is_approved(fleet: FleetWithPolicies, obj: Object, cluster: str) -> bool:
    """Is exactly this request approved, by the last run or a person, and is its cluster not denied since?"""
    return is_approved(_conditions(fleet, obj)) and not is_cluster_denied(fleet.objects, fleet.previous, cluster)


def _conditions(fleet: FleetWithPolicies, obj: Object) -> dict[str, Tree]:
    """The conditions of a request, as the last run derived them or people set them."""
    derived = by_type(mappings_at(fleet.previous.get(obj.id), "status", "conditions"))
    return {**derived, **by_type(mappings_at(obj.body, "status", "conditions"))}


def _approved(obj: Object) -> Approved:
    content, seconds = decoded(obj), obj.spec.get("expirationSeconds")
    return Approved(
        base64.b64decode("".join(str(obj.spec["request"]).split())),
        content["commonName"],
        content["organizations"],
        [str(usage) for usage in obj.spec.get("usages") or ()],
        seconds if isinstance(seconds, int) and not isinstance(seconds, bool) else None,
    )


def _with_certificate(obj: Object, before: Tree, pem: bytes) -> Tree:
    """The derived part of a request, with its certificate."""
    body = before or CSR.body({"name": obj.id.name})
    bookkeeping = {**mapping_at(body, "status", "muster")}
    bookkeeping[DECIDED[-1]] = {**(dig(body, *DECIDED) or {}), SIGNED: request_digest(obj)}
    status = {**mapping_at(body, "status"), CERTIFICATE[-1]: base64.b64encode(pem).decode(), "muster": bookkeeping}
    metadata = {**body["metadata"], "labels": {CLUSTER_NAME: cluster_of(obj)}}
    return in_order({**body, "metadata": metadata, "status": status})
