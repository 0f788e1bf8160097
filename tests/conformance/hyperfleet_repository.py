"""From a HyperFleet case to the fleet repository that shows the same situation.

The resource and the reports that come in are input files; what the API would have stored before (conditions,
accepted reports, the time of the last spec change) is the derived state of an earlier run.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import yaml

from muster.data.decision import Published, PulseKey
from muster.data.ids import ObjectId
from muster.data.kinds import KARMADA_CLUSTER, NODE_POOL, Kind, kind_of
from muster.data.times import parse_time
from muster.fleet.objects import SPEC_DIGEST
from muster.rules.generations import desired_digest
from muster.run.run import Run
from tests.conformance.evaluating import evaluated
from tests.conformance.reading import as_yaml

Json = Any
API = "muster.dev/v1alpha1"
POLICY = "adapters-pulses"
KINDS: Mapping[str, Kind] = {"Cluster": KARMADA_CLUSTER, "NodePool": NODE_POOL}

#: Stands for a resource that does not exist, where a case is about reports on none.
_NOBODY: Json = {"kind": "Cluster", "name": "cluster-1", "generation": 1}

#: What HyperFleet's expressions call things, and what they are called here.
_WORDS = (
    (r"\bself\.items\b", "reports"),
    (r"\bstatuses\b", "reports"),
    (r"\bgenerationN\b", "generation"),
    (r"\bresource\.generation\b", "generation"),
    (r"\bresource\.(id|name)\b", "self.metadata.name"),
    (r"\bresource\.kind\b", "self.kind"),
    (r"\bresource\.labels\b", "self.metadata.labels"),
    (r"\bresource\.href\b", "self.metadata.annotations.href"),
    (r"\bresource\.owner_references\.id\b", "self.metadata.annotations.ownerId"),
    (r"\bresource\.owner_references\.kind\b", "self.metadata.annotations.ownerKind"),
    (r"\bresource\.created_time\b", "string(updated)"),
    (r"\bresource\.", "self."),
)


def translated(expression: str, values: Mapping[str, str] | None = None) -> str:
    """An expression of HyperFleet's in this project's words; `values` are names that stand for other expressions."""
    for name, value in (values or {}).items():
        expression = re.sub(rf"\b{name}\b", f"({value})", expression)
    for pattern, word in _WORDS:
        expression = re.sub(pattern, word, expression)
    return expression


def mapped(rule: Json) -> Json:
    """The expressions of a rule that maps a condition. There, an adapter of which anything is Unknown is left out of
    `statuses`, `true` is a status, too, a reason of more than 256 characters takes the condition away, and a message
    ends after 2048."""
    known = "statuses.filter(known, known.conditions.all(said, said.status != 'Unknown'))"

    def ours(expression: str) -> str:
        return translated(re.sub(r"\bstatuses\b", known, expression))

    said = {name: f"string({ours(part['expression'])})" for name, part in rule["output"].items()}
    when = ours(rule["when"]["expression"])
    body = {"when": f"({when}) && size({said['reason']}) <= 256" if "reason" in said else when}
    if status := said.get("status"):
        spelt = f"{{'true': 'True', 'false': 'False'}}[?{status}.lowerAscii()].orValue({status})"
        body["statusExpression"] = spelt
    if reason := said.get("reason"):
        body["reasonExpression"] = reason
    if message := said.get("message"):
        body["messageExpression"] = f"size({message}) > 2048 ? {message}.substring(0, 2048) : {message}"
    return body


class CaseFleet:
    """The fleet repository of one case: its files by path."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.files: dict[str, str] = {}
        self.given = case["given"]
        self.exists = self.given.get("resource") is not None
        self.resource = self.given["resource"] if self.exists else {**_NOBODY, "created_time": self.given["now"]}
        self.now = parse_time(self.given["now"])
        self.kind = KINDS.get(self.resource["kind"], KARMADA_CLUSTER)
        owner = (self.resource.get("owner_references") or {}).get("id") or "cluster-1"
        self.cluster = self.resource["name"] if self.kind is KARMADA_CLUSTER else owner
        self.id = self.kind.id(self.resource["name"], self.cluster if self.kind.namespaced else "")
        self.direct = self.given.get("recompute") is False
        self._lay_out()

    # -- inputs

    def _lay_out(self) -> None:
        required = self.given.get("required_adapters") or []
        self.write(
            "fleet.yaml",
            {"kind": "Fleet", "metadata": {"name": "fleet"}, "spec": {"adapters": {self.kind.name: required}}},
        )
        self.write("resource.yaml", self._object(self.given.get("update") or {}))
        if not self.exists:
            del self.files["resource.yaml"]
            return
        if self.resource.get("has_active_children"):
            # Node pools are marked with their cluster; one with an error in it cannot be, and so is active still.
            self.write(
                "child.yaml",
                {"kind": "NodePool", "metadata": {"name": "child", "namespace": self.cluster}, "spec": "none"},
            )
        self.derive(self.id, self._earlier_state())
        for report in self._stored_reports():
            self._derive_report(report)

    def _object(self, update: Json) -> Json:
        metadata: Json = {"name": self.id.name, "labels": update.get("labels", self.resource.get("labels")) or {}}
        if self.id.namespace:
            metadata["namespace"] = self.id.namespace
        marked = self.given["now"] if update.get("delete") else update.get("deleted_time")
        if deleted := self.resource.get("deleted_time") or marked:
            metadata["deletionTimestamp"] = deleted
        references = self.resource.get("owner_references") or {}
        notes = {
            "href": self.resource.get("href"),
            "ownerId": references.get("id"),
            "ownerKind": references.get("kind"),
        }
        metadata["annotations"] = {name: value for name, value in notes.items() if value}
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.name,
            "metadata": metadata,
            "spec": self._spec(update.get("spec", self.resource.get("spec"))),
        }

    def _spec(self, spec: Json) -> Json:
        """The resource's spec. A Karmada Cluster's has a schema, so the opaque one travels in a field for any text."""
        if self.kind is NODE_POOL:
            return spec or {}
        opaque = yaml.safe_dump(spec or {}, sort_keys=True, default_flow_style=True).strip()
        return {"syncMode": "Push", "apiEndpoint": opaque}

    # -- derived state

    def _earlier_state(self) -> Json:
        old = self._object({})
        deleting = "deletionTimestamp" in old["metadata"]
        conditions = [
            {
                "type": c["type"],
                "status": c["status"],
                "reason": c.get("reason", "Earlier"),
                "message": c.get("message", ""),
                "lastTransitionTime": c.get("last_transition_time", self.changed),
                "observedGeneration": c.get("observed_generation", self.resource["generation"]),
            }
            for c in self.resource.get("status", {}).get("conditions") or []
        ]
        return {
            "metadata": {
                "generation": self.resource["generation"],
                "annotations": {SPEC_DIGEST: desired_digest(old["spec"], deleting=deleting)},
            },
            "status": {"conditions": conditions, "muster": {"specChanged": self.changed}},
        }

    @property
    def changed(self) -> str:
        """When the spec was last written."""
        value: str = self.resource.get("updated_time") or self.resource["created_time"]
        return value

    def previous(self, type_: str) -> Json:
        """The condition of that type at the start of the case; None where there was none."""
        conditions = self.resource.get("status", {}).get("conditions") or []
        return next((c for c in conditions if c["type"] == type_), None)

    def _stored_reports(self) -> Iterator[Json]:
        """The reports that were accepted. Where the case gives `Ready` itself as the input, those that make it so."""
        ready = self.previous("Ready")
        if not self.direct or ready is None or not ready.get("last_updated_time"):
            yield from self.given.get("stored_reports") or []
            return
        generation = min(ready.get("observed_generation", 1), self.resource["generation"])
        for adapter in self.given.get("required_adapters") or []:
            yield {
                "adapter": adapter,
                "observed_generation": generation,
                "last_report_time": ready["last_updated_time"],
                "created_time": ready["last_updated_time"],
                "conditions": [
                    {"type": name, "status": ready["status"] if name == "Available" else "True"}
                    for name in ("Available", "Applied", "Health")
                ],
            }

    def _derive_report(self, stored: Json) -> None:
        time = stored["last_report_time"]
        payload = self._payload({**stored, "observed_time": time})
        payload["conditions"] = [{"last_transition_time": time, **c} for c in payload["conditions"]]
        bookkeeping = {"accepted": payload, "createdTime": stored.get("created_time", time)}
        self.derive(self._report_id(stored["adapter"]), {"metadata": {}, "status": {"muster": bookkeeping}})

    def _payload(self, report: Json) -> Json:
        fields = ("adapter", "observed_generation", "observed_time", "conditions", "data", "metadata")
        payload = {name: report[name] for name in fields if report.get(name) is not None}
        return {"resource": {"kind": self.kind.name, "name": self.resource["name"]}, **payload}

    def _report_id(self, adapter: str) -> ObjectId:
        return ObjectId("muster.dev", "AdapterReport", self.cluster, adapter or "unnamed")

    # -- running

    def post(self, report: Json) -> ObjectId:
        """Write a report as an adapter commits it. HyperFleet's API puts in the present where a time is missing."""
        id_ = self._report_id(report.get("adapter") or "")
        payload = self._payload({"observed_time": self.given["now"], **report})
        metadata = {"name": id_.name, "namespace": id_.namespace}
        self.write(f"reports/{id_.name}.yaml", {"kind": "AdapterReport", "metadata": metadata, "spec": payload})
        return id_

    def run(self, now: datetime | None = None, *, announced: bool = False) -> Run:
        """Evaluate and keep what follows, as a reconcile would. `announced`: as if pulses had gone out long ago."""
        run = evaluated(self.files, now or self.now, self._memory(announced))
        for path, text in run.files.items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        return run

    def in_present_names(self) -> Run:
        """What follows from the same files where the fleet speaks upstream's present names; nothing is kept."""
        fleet = yaml.load(self.files["fleet.yaml"], Loader=yaml.CSafeLoader)
        fleet["spec"]["hyperfleet"] = {"vocabulary": "reconciled"}
        files = {**self.files, "fleet.yaml": as_yaml(fleet)}
        return evaluated(files, self.now, self._memory(announced=False))

    def _memory(self, announced: bool) -> Mapping[PulseKey, Published]:
        """The last pulse of the case. Where it gives none, upstream's Sentinel remembers none, and a case that is not
        about news takes the present generation for announced; one without `Ready` is about a resource that is new."""
        generation, time = self.resource["generation"], parse_time(self.changed)
        last, ready = self.given.get("last_pulse"), self.previous("Ready")
        if last and not announced:
            generation, time = last["generation"], parse_time(last["time"])
        elif announced:
            time -= timedelta(days=1)
        elif self.direct:
            if ready is None:
                return {}
            generation = min(generation, ready.get("observed_generation", generation))
        return {PulseKey(self.id, POLICY): Published(generation, time)}

    # -- files

    def write(self, path: str, body: Json) -> None:
        """Write an input file."""
        self.files[path] = as_yaml({"apiVersion": API, **body})

    def derive(self, id_: ObjectId, body: Json) -> None:
        """Write a derived file of an earlier run."""
        kind = kind_of(id_)
        metadata = {"name": id_.name, **({"namespace": id_.namespace} if id_.namespace else {}), **body["metadata"]}
        path = "/".join(filter(None, ("derived", kind.plural, id_.namespace, f"{id_.name}.yaml")))
        self.write(path, {"apiVersion": kind.api_version, "kind": kind.name, **body, "metadata": metadata})

    def stored(self) -> dict[str, Json]:
        """What is accepted now, by adapter."""
        found: dict[str, Json] = {}
        for path in sorted(path for path in self.files if path.startswith("derived/")):
            body = yaml.load(self.files[path], Loader=yaml.CSafeLoader)
            bookkeeping = body.get("status", {}).get("muster") or {}
            if body["kind"] == "AdapterReport" and "accepted" in bookkeeping:
                stored = {
                    name: value for name, value in bookkeeping.items() if name != "judged"
                }  # that counts for nothing
                found[bookkeeping["accepted"]["adapter"]] = stored
        return found
