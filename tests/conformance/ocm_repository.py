"""From a case of Open Cluster Management to the fleet repository that shows the same situation.

Files say what people and agents say; what hub controllers have written before is derived state of an earlier run: their
conditions, the times of taints, the built-in taints, PlacementDecisions. Where upstream runs one controller alone, the
others are kept quiet: a Placement that is not in the case but owns decisions is paused, and the policy of built-in
taints says nothing while placements or requests are looked at.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import muster
from muster.agents.heartbeat.availability import FailureThreshold, check_api_server
from muster.agents.heartbeat.facts import ClusterFacts
from muster.agents.heartbeat.heartbeat import AgentStatement, reported_status
from muster.data.ids import ObjectId
from muster.data.kinds import (
    BY_GROUP_KIND,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET_BINDING,
    PLACEMENT,
    PLACEMENT_DECISION,
    kind_of,
)
from muster.data.times import format_time, parse_time
from muster.fleet.acceptance import ACCEPTED_ON
from muster.fleet.clusters import BUILT_IN
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME
from muster.rules.placements.scheduling import SCHEDULING_DISABLED
from muster.rules.placements.shards import PLACEMENT_LABEL
from tests.conformance.evaluating import evaluated
from tests.conformance.reading import as_yaml

Json = Any

#: Conditions that hub controllers write, on any kind. An agent's word on availability is both: reported, and derived.
HUB_CONDITIONS = frozenset(
    {"HubAcceptedManagedCluster", "ManagedClusterConditionClockSynced", "Deleting", "ClusterSetEmpty", "Bound"}
    | {"PlacementSatisfied", "PlacementMisconfigured", "Approved"}
)
AVAILABLE = "ManagedClusterConditionAvailable"
RENEW = "renew managedclusters/clientcertificates"
_BUILT_IN_TAINTS = frozenset(
    (f"cluster.open-cluster-management.io/{name}", "NoSelect") for name in ("unavailable", "unreachable")
)
_QUIET_TAINTS = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "TaintPolicy",
    "metadata": {"name": "managed-cluster-builtin-taints"},
    "spec": {
        "target": {"kind": "ManagedCluster"},
        "taints": [{"key": "quiet", "effect": "NoSelect", "when": "self.metadata.name == ''"}],
    },
}


class CaseFleet:
    """The repository of one case; `known` are the case's objects of kinds that muster has."""

    def __init__(self, case: Json) -> None:
        self.case, self.given, self.area = case, case["given"], case["area"]
        self.files: dict[str, str] = {}
        self.now = parse_time(self.given["now"])
        self.known = [body for body in self.given["objects"] if _kind_known(body)]
        self._lay_out()

    def run(self) -> muster.Run:
        """Evaluate the repository at the case's instant."""
        return evaluated(self.files, self.now)

    def with_permission(self, allowed: bool) -> "CaseFleet":
        """The same case where the requester may, or may not, renew its certificate."""
        permissions = {**(self.given.get("permissions") or {}), RENEW: allowed}
        return CaseFleet({**self.case, "given": {**self.given, "permissions": permissions}})

    def _lay_out(self) -> None:
        bodies = list(self.known)
        if self.area.startswith(("placement", "webhook")):
            self._write("quiet.yaml", _QUIET_TAINTS)
        if self.area.startswith("placement"):
            bodies += list(_absent_owners(self.known))
        if self.area == "csr-approve":
            bodies += list(_requesters(self.given, bodies))
        if spec := _settings(self.given, self.area):
            metadata = {"name": "fleet"}
            self._write(
                "fleet.yaml", {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": metadata, "spec": spec}
            )
        if self.area == "default-clusterset":
            bodies += list(_bindings())
        if self.area == "agent-status":
            bodies = list(_reported(self.given, bodies, self.now))
        for body in bodies:
            self._object(body)
        if old := self.given.get("old_object"):
            self._derived(old)

    def _object(self, body: Json) -> None:
        if (id_ := object_id(body)).kind == PLACEMENT_DECISION.name:
            self._write(f"derived/{_file(id_)}", _owned(body))
            return
        # Upstream's controller of clocks does not ask whether a cluster is accepted, but only such a one has a Lease.
        timed = self.area == "clock-sync" and body["kind"] == MANAGED_CLUSTER.name
        if timed or (self.area == "taint" and _condition(body, AVAILABLE)):
            body = {**body, "spec": {**body.get("spec", {}), "hubAcceptsClient": True}}
        if self.area == "acceptance" and body["kind"] == MANAGED_CLUSTER.name:
            body = _answered(body)
        self._write(_file(id_), _input(body, fresh=self.area.startswith("webhook")))
        if not self.area.startswith("webhook"):
            self._derived(body)

    def _derived(self, body: Json) -> None:
        """What hub controllers wrote of an object."""
        conditions = [
            c for c in body.get("status", {}).get("conditions", []) if c["type"] in HUB_CONDITIONS | {AVAILABLE}
        ]
        taints = [taint for taint in body.get("spec", {}).get("taints", []) if taint.get("timeAdded")]
        part = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": _identity(body)}
        if taints:
            part["spec"] = {"taints": taints}
        if conditions:
            part["status"] = {"conditions": conditions}
        if len(part) > 3:
            self._write(f"derived/{_file(object_id(body))}", part)

    def _write(self, name: str, body: Json) -> None:
        self.files[name] = as_yaml(body)


def _input(body: Json, *, fresh: bool) -> Json:
    """What people and agents say of an object. A taint's time is the hub's, unless the case is about a request."""
    said = {**body}
    if "status" in body:
        status = dict(body["status"])
        if "conditions" in status:
            status["conditions"] = [c for c in status["conditions"] if c["type"] not in HUB_CONDITIONS]
        said["status"] = status
    if not fresh and body.get("spec", {}).get("taints"):
        own = [t for t in body["spec"]["taints"] if (t["key"], t["effect"]) not in _BUILT_IN_TAINTS or t.get("value")]
        taints = [{key: value for key, value in taint.items() if key != "timeAdded"} for taint in own]
        said["spec"] = {**body["spec"], "taints": taints}
    return said


def _answered(body: Json) -> Json:
    """On a live hub, not accepted is both "no" and "not yet": it is a person's no once the hub had accepted it."""
    spec = {key: value for key, value in body.get("spec", {}).items() if key != "hubAcceptsClient"}
    said = body.get("spec", {}).get("hubAcceptsClient")
    if said or ACCEPTED_ON in body["metadata"].get("annotations", {}) or _condition(body, "HubAcceptedManagedCluster"):
        spec["hubAcceptsClient"] = bool(said)
    return {**body, "spec": spec}


def _reported(given: Json, bodies: Iterable[Json], now: datetime) -> Iterator[Json]:
    """What muster's own agent makes of what it sees: a renewed Lease and a status, of clusters that are accepted."""
    probed = given.get("probe", {})
    verdict = FailureThreshold(_failing_since({**given, **probed})).confirmed(
        check_api_server(lambda path: (probed.get(path.strip("/"), 404), str(probed.get("body", "")))), now.timestamp()
    )
    for body in bodies:
        accepted = _condition(body, "HubAcceptedManagedCluster") or {}
        if body["kind"] != MANAGED_CLUSTER.name or accepted.get("status") != "True":
            yield body
            continue
        name = body["metadata"]["name"]
        yield {**body, "status": reported_status(body["status"], AgentStatement(now, verdict, ClusterFacts()))}
        spec = {"holderIdentity": "agent", "renewTime": format_time(now)}
        yield {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": LEASE_NAME, "namespace": name, "labels": {CLUSTER_NAME: name}},
            "spec": spec,
        }


def _failing_since(said: Json) -> float | None:
    """When the failure began, as the agent remembers it; None where this is the first one that it sees."""
    began = said.get("first_failure_at")
    return None if began is None else parse_time(began).timestamp()


def _settings(given: Json, area: str) -> Json:
    """What feature gates and flags of the hub say: the settings of the fleet."""
    spec: Json = {}
    alone = str(given.get("reconciler") or "").lower().startswith("bootstrap")  # without its gate
    if not alone and (given.get("features") or {}).get("ManagedClusterAutoApproval") is not True:
        return spec
    if area == "acceptance":
        spec["registration"] = {"autoAccept": True}
    if users := given.get("auto_approve_users"):
        spec["policyParams"] = {"csr-approval": {"autoApprovedUsers": users}}
    return spec


def _bindings() -> Iterator[Json]:
    """The built-in sets are there always, and written where a binding names them."""
    for name in sorted(BUILT_IN):
        yield {
            "apiVersion": MANAGED_CLUSTER_SET_BINDING.api_version,
            "kind": MANAGED_CLUSTER_SET_BINDING.name,
            "metadata": {"name": name, "namespace": "bound"},
            "spec": {"clusterSet": name},
        }


def _absent_owners(bodies: Iterable[Json]) -> Iterator[Json]:
    """Placements that own decisions of the case without being in it."""
    there = {object_id(body) for body in bodies}
    owners = {_owner(body) for body in bodies if body["kind"] == PLACEMENT_DECISION.name} - there
    for id_ in sorted(owners):
        metadata = {"name": id_.name, "namespace": id_.namespace, "annotations": {SCHEDULING_DISABLED: "true"}}
        yield {"apiVersion": PLACEMENT.api_version, "kind": PLACEMENT.name, "metadata": metadata, "spec": {}}


def _owner(body: Json) -> ObjectId:
    metadata = body["metadata"]
    name = metadata.get("labels", {}).get(PLACEMENT_LABEL) or f"owner-of-{metadata['name']}"
    return PLACEMENT.id(name, metadata["namespace"])


def _owned(body: Json) -> Json:
    labels = {**body["metadata"].get("labels", {}), PLACEMENT_LABEL: _owner(body).name}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


def _requesters(given: Json, bodies: Iterable[Json]) -> Iterator[Json]:
    """The clusters that requests for certificates name: an accepted one has the permission to renew its own."""
    may_renew = given.get("permissions", {}).get(RENEW) is True
    there = {object_id(body) for body in bodies}
    labels = (b["metadata"].get("labels", {}).get("open-cluster-management.io/cluster-name") for b in bodies)
    for name in sorted({label for label in labels if label}):
        if MANAGED_CLUSTER.id(name) not in there:
            yield {
                "apiVersion": MANAGED_CLUSTER.api_version,
                "kind": MANAGED_CLUSTER.name,
                "metadata": {"name": name},
                "spec": {"hubAcceptsClient": may_renew},
            }


def object_id(body: Json) -> ObjectId:
    """The id of an object of a known kind."""
    group = body["apiVersion"].rpartition("/")[0]
    return ObjectId(group, body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])


def by_label(run: muster.Run) -> Mapping[tuple[str, str, str], Json]:
    """The run's objects by kind, namespace and name."""
    found = {}
    for body in run.objects:
        metadata = body["metadata"]
        found[body["kind"], metadata.get("namespace", ""), metadata["name"]] = body
    return found


def _kind_known(body: Json) -> bool:
    return (body["apiVersion"].rpartition("/")[0], body["kind"]) in BY_GROUP_KIND


def _identity(body: Json) -> Json:
    metadata = {key: body["metadata"][key] for key in ("name", "namespace") if key in body["metadata"]}
    return {**metadata, "labels": body["metadata"]["labels"]} if "labels" in body["metadata"] else metadata


def _condition(body: Json, type_: str) -> Json:
    return next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == type_), None)


def _file(id_: ObjectId) -> str:
    return "/".join(part for part in (kind_of(id_).plural, id_.namespace, f"{id_.name}.yaml") if part)
