"""What agents and provisioners wrote into an object of a live hub, without what the hub itself decided.

A hub keeps both in one document. An import writes the agents' part to a file of its own, and a relay copies it for as
long as the agents report to the hub.

Sources: upstream's registration agent, work agent and add-on manager, and Hive's controllers, which provision clusters.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from muster.data import kinds
from muster.data.agentref import GROUP
from muster.data.kinds import Kind
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.fleet.adoption import PROVISIONED, SILENCE_BY_HUB
from muster.fleet.agents import DECIDED_CONDITIONS
from muster.fleet.leases import CLUSTER_NAME

#: Conditions of a ManagedCluster that the hub alone writes; the agent's own are the others. That it joined its agent
#: says once, and need not say again: it stays known when the agent's report goes.
_HUB_CONDITIONS: Final = DECIDED_CONDITIONS | {"ManagedClusterJoined"}
#: Conditions of an add-on that the hub's add-on manager writes.
_ADD_ON_MANAGER_CONDITIONS: Final = frozenset(
    (
        "Configured",
        "HostingClusterValidity",
        "HostingManifestApplied",
        "ManifestApplied",
        "Progressing",
        "RegistrationApplied",
    )
)
_WORK_STATUS: Final = ("conditions", "resourceStatus")
#: The fields of a request that say what is asked for. The server fills in the others; of them, only the user name of
#: the cluster's own agent counts.
_REQUEST: Final = ("expirationSeconds", "request", "signerName", "usages")


def agent_part(kind: Kind, body: Tree) -> Tree:
    """Return the part of an object that agents wrote: identity and report; None if they wrote nothing of it."""
    sections = dict(_READERS[kind](body)) if kind in _READERS else {}
    sections = {name: section for name, section in sections.items() if section}
    if not sections:
        return None
    metadata = {name: body["metadata"][name] for name in ("name", "namespace") if name in body["metadata"]}
    if CLUSTER_NAME in (labels := mapping_at(body, "metadata", "labels")) and kind in (kinds.LEASE, kinds.CSR):
        metadata["labels"] = {CLUSTER_NAME: labels[CLUSTER_NAME]}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata, **sections}


def _cluster(body: Tree) -> Iterator[tuple[str, Tree]]:
    yield "status", _status(body, lambda c: c.get("type") not in _HUB_CONDITIONS and c.get("reason") != SILENCE_BY_HUB)


def _karmada_cluster(body: Tree) -> Iterator[tuple[str, Tree]]:
    yield "status", _status(body, lambda _: True)


def _add_on(body: Tree) -> Iterator[tuple[str, Tree]]:
    status = _status(
        body, lambda c: c.get("type") not in _ADD_ON_MANAGER_CONDITIONS and c.get("reason") != SILENCE_BY_HUB
    )
    yield "status", {"conditions": status["conditions"]} if "conditions" in status else {}


def _work(body: Tree) -> Iterator[tuple[str, Tree]]:
    yield "status", {name: value for name, value in mapping_at(body, "status").items() if name in _WORK_STATUS}


def _score(body: Tree) -> Iterator[tuple[str, Tree]]:
    yield "status", mapping_at(body, "status")


def _lease(body: Tree) -> Iterator[tuple[str, Tree]]:
    yield "spec", mapping_at(body, "spec")


def _request(body: Tree) -> Iterator[tuple[str, Tree]]:
    spec, cluster = mapping_at(body, "spec"), mapping_at(body, "metadata", "labels").get(CLUSTER_NAME)
    of_agent = isinstance(user := spec.get("username"), str) and user.startswith(f"{GROUP}{cluster}:")
    yield "spec", {name: spec[name] for name in (*_REQUEST, *(("username",) if of_agent else ())) if name in spec}


def _deployment(body: Tree) -> Iterator[tuple[str, Tree]]:
    spec = mapping_at(body, "spec")
    yield "spec", {name: spec[name] for name in sorted(PROVISIONED) if name in spec}
    yield "status", mapping_at(body, "status")


def _status(body: Tree, is_reported: Callable[[Mapping[str, Tree]], bool]) -> dict[str, Tree]:
    """The status without remedy actions, and without conditions that are not reported."""
    status = {name: value for name, value in mapping_at(body, "status").items() if name != "remedyActions"}
    conditions = [condition for condition in mappings_at(status, "conditions") if is_reported(condition)]
    status.pop("conditions", None)
    return {**status, **({"conditions": conditions} if conditions else {})}


_READERS: Final[Mapping[Kind, Callable[[Tree], Iterator[tuple[str, Tree]]]]] = MappingProxyType(
    {
        kinds.MANAGED_CLUSTER: _cluster,
        kinds.KARMADA_CLUSTER: _karmada_cluster,
        kinds.MANAGED_CLUSTER_ADD_ON: _add_on,
        kinds.MANIFEST_WORK: _work,
        kinds.ADD_ON_PLACEMENT_SCORE: _score,
        kinds.LEASE: _lease,
        kinds.CSR: _request,
        kinds.CLUSTER_DEPLOYMENT: _deployment,
    }
)
