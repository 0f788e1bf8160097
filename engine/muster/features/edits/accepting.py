"""Accept and deny clusters: the hub's half of the double opt-in, as an edit of `hubAcceptsClient`.

Source: seed 002. Accepting a cluster also approves its agent's certificate request, as `clusteradm accept` does. A
cluster that only its agent declares gets a file with what the agent proposed; from then on only its status is taken
from the agent. Labels that the agent requests are listed, and adopted if the person says so: they decide which set
the cluster belongs to and which work it gets. Denying a cluster that was never accepted is written down too, so that
`registration.autoAccept` does not accept it.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from muster.data.kinds import CSR, KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.approvals import DECISION_TYPES, DIGEST_ANNOTATION, request_digest, vouching_requests
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object, by_type
from muster.rules.policies.csr import agent_signers, is_of

_FIELD = ("spec", "hubAcceptsClient")


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of the labels that agents request are adopted: all, or those with these keys."""

    every: bool = False
    keys: tuple[str, ...] = ()


NO_LABELS = Labels()
_NONE: Mapping[str, str] = MappingProxyType({})
_CONDITIONS = ("status", "conditions")
_DENIED: Tree = {
    "type": "Denied",
    "status": "True",
    "reason": "MusterDeny",
    "message": "This request was denied by muster deny.",
}
_APPROVED: Tree = {
    "type": "Approved",
    "status": "True",
    "reason": "MusterAccept",
    "message": "This request was approved by muster accept.",
}


def accept(draft: Draft, clusters: Iterable[str], labels: Labels = NO_LABELS) -> None:
    """Accept clusters. EditRefusedError for a cluster that is unknown or being removed, and for a label that no agent
    requests."""
    names = list(clusters)
    requested = {key for name in names for key in draft.fleet.asked.get(MANAGED_CLUSTER.id(name), {})}
    present = {key for name in names for key in _labels(draft, name)}
    if unknown := [key for key in labels.keys if key not in requested | present]:
        hint = did_you_mean(unknown[0], requested) or "labels of your own go into the cluster's file"
        raise EditRefusedError(f"no agent of {', '.join(names)} requests the label {unknown[0]!r}", hint)
    for name in names:
        _refuse_removed(draft, name)
        _set_accepted(draft, name, accepted=True, labels=labels)
        _approve(draft, name)


def enrol(draft: Draft, clusters: Mapping[str, Mapping[str, str]]) -> None:
    """Accept clusters that a table names, also those that no agent has declared yet, with the table's labels. One that
    a person denied stays denied.

    EditRefusedError for a cluster that is being removed.
    """
    for name, labels in clusters.items():
        id_ = MANAGED_CLUSTER.id(name)
        obj = draft.fleet.objects.get(id_)
        if obj is not None and obj.spec.get(_FIELD[1]) is False and any(not part.source.ref for part in obj.parts):
            draft.changes.append(f"{id_}: denied, and stays so; to accept it: muster accept {name}")
            continue
        if id_ in draft.fleet.objects or name in draft.fleet.departed or id_ in draft.fleet.undeclared:
            _refuse_removed(draft, name)
            _set_accepted(draft, name, accepted=True, given=labels)
            _approve(draft, name)
            continue
        path = f"clusters/{name}/cluster.yaml"
        metadata = {"name": name, **({"labels": dict(labels)} if labels else {})}
        draft.create(path, MANAGED_CLUSTER.body(metadata, spec={_FIELD[1]: True}))
        draft.changes.append(f"{id_}: accepted, written to {path}")


def _refuse_removed(draft: Draft, name: str) -> None:
    obj = draft.fleet.objects.get(MANAGED_CLUSTER.id(name))
    if obj is not None and obj.deleting:
        raise EditRefusedError(f"{obj.id} is being removed", "let the removal end, then register it again")


def deny(draft: Draft, clusters: Iterable[str]) -> None:
    """Deny clusters, accepted or not. EditRefusedError for an unknown one."""
    for name in clusters:
        _set_accepted(draft, name, accepted=False)


def revoke(draft: Draft, names: Iterable[str]) -> None:
    """Deny certificate requests: a waiting one is not signed, a signed certificate is revoked, and with it those that
    it vouched for. EditRefusedError for an unknown request."""
    for name in names:
        obj = draft.fleet.objects.get(CSR.id(name))
        vouched = _vouched(draft, name)
        if obj is None and not vouched:
            requests = (other.id.name for other in draft.fleet.of(CSR))
            raise EditRefusedError(f"there is no {CSR.id(name)}", did_you_mean(name, requests))
        for each in (*([obj] if obj else []), *vouched):
            _deny(draft, each, "" if each is obj else f", because {name} vouched for it")


def _deny(draft: Draft, obj: Object, why: str) -> None:
    for part, position, condition in reversed(draft.items(obj.id, _CONDITIONS)):
        if condition.get("type") in DECISION_TYPES:
            draft.remove(part, (*_CONDITIONS, position))
    path = _write_condition(draft, obj, str(obj.labels.get(CLUSTER_NAME, "")), _DENIED)
    draft.changes.append(f"{obj.id}: denied in {path}{why}")


def _vouched(draft: Draft, name: str) -> list[Object]:
    """The requests that the key of a request vouched for, directly or through others."""
    fleet = draft.fleet
    return [obj for obj in fleet.of(CSR) if name in vouching_requests(obj, fleet.previous, fleet.refs.identities)]


def _labels(draft: Draft, name: str) -> Mapping[str, str]:
    obj = draft.fleet.objects.get(MANAGED_CLUSTER.id(name))
    return obj.labels if obj is not None else {}


def _set_accepted(
    draft: Draft, name: str, *, accepted: bool, labels: Labels = NO_LABELS, given: Mapping[str, str] = _NONE
) -> None:
    """Set the field, and labels: those that the agent requests and `labels` adopts, and the `given` ones."""
    id_ = MANAGED_CLUSTER.id(name)
    if id_ not in draft.fleet.objects and KARMADA_CLUSTER.id(name) in draft.fleet.objects:
        raise EditRefusedError(f"{KARMADA_CLUSTER.id(name)} is a cluster of Karmada, which needs no acceptance")
    departed = draft.fleet.departed.get(name)
    reported = id_ in draft.fleet.undeclared  # in committed files that no agent's branch has
    part = None if departed or reported else draft.part_with(id_, *_FIELD)
    word = "accepted" if accepted else "denied"
    requested = draft.fleet.asked.get(id_, {}) if accepted else {}
    adopted = {key: value for key, value in requested.items() if labels.every or key in labels.keys}
    wanted = {**adopted, **given}
    if part is None:
        path = f"clusters/{name}/cluster.yaml"
        body = MANAGED_CLUSTER.body({}) if reported else (departed or draft.fleet.objects[id_]).body
        metadata = {"name": name, **({"labels": wanted} if wanted else {})}
        spec = {**mapping_at(body, "spec"), "hubAcceptsClient": accepted}
        draft.create(path, {"apiVersion": body["apiVersion"], "kind": id_.kind, "metadata": metadata, "spec": spec})
        draft.changes.append(f"{id_}: {word}, written to {path}")
    else:
        if dig(part.body, *_FIELD) is not accepted:
            draft.set(part, _FIELD, accepted)
            draft.changes.append(f"{id_}: {word} in {part.source.path}")
        for key, value in wanted.items():
            if mapping_at(part.body, "metadata", "labels").get(key) != value:
                draft.set(part, ("metadata", "labels", key), value)
                if key in given:
                    draft.changes.append(f"{id_}: label {key} set to {value}")
    if adopted:
        draft.changes.append(f"{id_}: its agent requested {_listed(adopted)}, adopted")
    if left := {key: value for key, value in requested.items() if key not in wanted}:
        draft.changes.append(
            f"{id_}: its agent requests {_listed(left)}, not adopted: labels decide what runs on a cluster; "
            "adopt them with --label KEY or --with-labels"
        )


def _approve(draft: Draft, cluster: str) -> None:
    """Approve the undecided requests of the cluster's agent.

    The approval carries the request's digest: a request that replaces it before the next run is not approved.
    """
    signers = agent_signers(draft.fleet)
    for obj in draft.fleet.of(CSR):
        if not is_of(obj, cluster, signers) or any(
            type_ in by_type(_conditions(draft, obj)) for type_ in DECISION_TYPES
        ):
            continue
        draft.changes.append(f"{obj.id}: approved in {_write_condition(draft, obj, cluster, _APPROVED)}")


def _write_condition(draft: Draft, obj: Object, cluster: str, condition: Tree) -> str:
    """Write a person's decision about a request, with the request's digest, and return the file."""
    home = next((part for part in obj.parts if not part.source.ref), None)
    path = home.source.path if home else f"clusters/{cluster}/{obj.id.name}.csr.yaml"
    if home is None:
        metadata = {"name": obj.id.name, "annotations": {DIGEST_ANNOTATION: request_digest(obj)}}
        draft.create(path, CSR.body(metadata, status={"conditions": [condition]}))
    else:
        draft.set(home, ("metadata", "annotations", DIGEST_ANNOTATION), request_digest(obj))
        if not any(present.get("type") == condition["type"] for _, _, present in draft.items(obj.id, _CONDITIONS)):
            draft.append(home, _CONDITIONS, condition)
    return path


def _conditions(draft: Draft, obj: Object) -> Iterator[Tree]:
    yield from mappings_at(draft.fleet.previous.get(obj.id), "status", "conditions")
    yield from mappings_at(obj.body, "status", "conditions")


def _listed(labels: Mapping[str, str]) -> str:
    return f"the label{'s' if len(labels) > 1 else ''} " + ", ".join(f"{k}={v}" for k, v in sorted(labels.items()))
