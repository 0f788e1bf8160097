"""Accepting and denying clusters: the hub's half of the double opt-in, as an edit of `hubAcceptsClient`.

Source: seed 002. Whoever lets a cluster in approves its agent's request for a certificate too, as `clusteradm accept`
does. A cluster that only its agent has spoken of so far gets a file, with what the agent proposed; from
then on only its status is taken from the agent. Labels that the agent asks for are named, and taken over when the
person says so: they decide in which set the cluster is and which work comes to it. Denying a cluster that was never
accepted writes that down too, so that `registration.autoAccept` does not take it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.data.kinds import CSR, MANAGED_CLUSTER
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.approvals import DECISION_TYPES, DIGEST_ANNOTATION, request_digest, vouching_requests
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object, by_type
from muster.rules.policies.csr import agent_signers, is_of

_FIELD = ("spec", "hubAcceptsClient")


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of the labels that agents ask for are taken over: all, or those of these keys."""

    every: bool = False
    keys: tuple[str, ...] = ()

    def takes(self, key: str) -> bool:
        """Whether a label is taken over."""
        return self.every or key in self.keys


NO_LABELS = Labels()
_CONDITIONS = ("status", "conditions")
_DENIED: Tree = {
    "type": "Denied", "status": "True", "reason": "MusterDeny", "message": "This request was denied by muster deny.",
}  # fmt: skip
_APPROVED: Tree = {
    "type": "Approved", "status": "True", "reason": "MusterAccept",
    "message": "This request was approved by muster accept.",
}  # fmt: skip


def accept(draft: Draft, clusters: Iterable[str], labels: Labels = NO_LABELS) -> None:
    """Let clusters in. EditRefusedError for one that nobody has heard of, or that is being removed, and for a label
    for which none of them asks."""
    names = list(clusters)
    asked = {key for name in names for key in draft.fleet.asked.get(MANAGED_CLUSTER.id(name), {})}
    given = {key for name in names for key in _given(draft, name)}
    if unknown := [key for key in labels.keys if key not in asked | given]:
        hint = did_you_mean(unknown[0], asked) or "labels of your own go into the cluster's file"
        raise EditRefusedError(f"no agent of {', '.join(names)} asks for the label {unknown[0]!r}", hint)
    for name in names:
        obj = draft.fleet.objects.get(MANAGED_CLUSTER.id(name))
        if obj is not None and obj.deleting:
            raise EditRefusedError(f"{obj.id} is being removed", "let the removal end, then register it again")
        _answer(draft, name, accepted=True, labels=labels)
        _approve(draft, name)


def deny(draft: Draft, clusters: Iterable[str]) -> None:
    """Keep clusters out, or put them out. EditRefusedError for one that nobody has heard of."""
    for name in clusters:
        _answer(draft, name, accepted=False)


def revoke(draft: Draft, names: Iterable[str]) -> None:
    """Deny requests for certificates: one that waits is not signed, and the certificate of one that is signed ends.
    Those for which it vouched end with it. EditRefusedError for a request that there is not."""
    for name in names:
        obj = draft.fleet.objects.get(CSR.id(name))
        vouched = _vouched(draft, name)
        if obj is None and not vouched:
            known = (other.id.name for other in draft.fleet.of(CSR))
            raise EditRefusedError(f"there is no {CSR.id(name)}", did_you_mean(name, known))
        for each in (*([obj] if obj else []), *vouched):
            _deny(draft, each, "" if each is obj else f", because {name} vouched for it")


def _deny(draft: Draft, obj: Object, why: str) -> None:
    for part, position, condition in reversed(draft.items(obj.id, _CONDITIONS)):
        if condition.get("type") in DECISION_TYPES:
            draft.remove(part, (*_CONDITIONS, position))
    path = _say(draft, obj, str(obj.labels.get(CLUSTER_NAME, "")), _DENIED)
    draft.told.append(f"{obj.id}: denied in {path}{why}")


def _vouched(draft: Draft, name: str) -> list[Object]:
    """The requests for which the key of a request vouched, directly or through others."""
    fleet = draft.fleet
    return [obj for obj in fleet.of(CSR) if name in vouching_requests(obj, fleet.previous, fleet.identities)]


def _given(draft: Draft, name: str) -> Mapping[str, str]:
    obj = draft.fleet.objects.get(MANAGED_CLUSTER.id(name))
    return obj.labels if obj is not None else {}


def _answer(draft: Draft, name: str, *, accepted: bool, labels: Labels = NO_LABELS) -> None:
    id_ = MANAGED_CLUSTER.id(name)
    departed = draft.fleet.departed.get(name)
    part = None if departed else draft.part_with(id_, *_FIELD)
    word = "accepted" if accepted else "denied"
    asked = draft.fleet.asked.get(id_, {}) if accepted else {}
    taken = {key: value for key, value in asked.items() if labels.takes(key)}
    if part is None:
        path = f"clusters/{name}/cluster.yaml"
        body = (departed or draft.fleet.objects[id_]).body
        metadata = {"name": name, **({"labels": taken} if taken else {})}
        spec = {**mapping_at(body, "spec"), "hubAcceptsClient": accepted}
        draft.create(path, {"apiVersion": body["apiVersion"], "kind": id_.kind, "metadata": metadata, "spec": spec})
        draft.told.append(f"{id_}: {word}, written to {path}")
    else:
        if dig(part.body, *_FIELD) is not accepted:
            draft.set(part, _FIELD, accepted)
            draft.told.append(f"{id_}: {word} in {part.source.path}")
        for key, value in taken.items():
            draft.set(part, ("metadata", "labels", key), value)
    if taken:
        draft.told.append(f"{id_}: its agent asked for {_listed(taken)}, taken over")
    if left := {key: value for key, value in asked.items() if key not in taken}:
        draft.told.append(
            f"{id_}: its agent asks for {_listed(left)}, not taken over: labels decide what runs on a cluster; "
            "--label KEY or --with-labels takes them"
        )


def _approve(draft: Draft, cluster: str) -> None:
    """Approve the requests of the cluster's agent that nobody has decided yet.

    The word names the request that is meant: one that takes its place before the next run is not approved.
    """
    signers = agent_signers(draft.fleet)
    for obj in draft.fleet.of(CSR):
        if not is_of(obj, cluster, signers) or any(
            type_ in by_type(_conditions(draft, obj)) for type_ in DECISION_TYPES
        ):
            continue
        draft.told.append(f"{obj.id}: approved in {_say(draft, obj, cluster, _APPROVED)}")


def _say(draft: Draft, obj: Object, cluster: str, word: Tree) -> str:
    """Write a person's word about a request, beside the digest of the one that is meant, and return where."""
    home = next((part for part in obj.parts if not part.source.ref), None)
    path = home.source.path if home else f"clusters/{cluster}/{obj.id.name}.csr.yaml"
    if home is None:
        metadata = {"name": obj.id.name, "annotations": {DIGEST_ANNOTATION: request_digest(obj)}}
        draft.create(path, CSR.body(metadata, status={"conditions": [word]}))
    else:
        draft.set(home, ("metadata", "annotations", DIGEST_ANNOTATION), request_digest(obj))
        if not any(said.get("type") == word["type"] for _, _, said in draft.items(obj.id, _CONDITIONS)):
            draft.append(home, _CONDITIONS, word)
    return path


def _conditions(draft: Draft, obj: Object) -> Iterator[Tree]:
    yield from mappings_at(draft.fleet.previous.get(obj.id), "status", "conditions")
    yield from mappings_at(obj.body, "status", "conditions")


def _listed(labels: Mapping[str, str]) -> str:
    return f"the label{'s' if len(labels) > 1 else ''} " + ", ".join(f"{k}={v}" for k, v in sorted(labels.items()))
