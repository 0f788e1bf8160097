"""From a case of ManifestWorkReplicaSets to a fleet repository, and from its run to what the case expects.

Works are derived state of an earlier run, and their conditions what agents report; PlacementDecisions are those of
Placements that are not scheduled, so they stay as the case has them. Where a run differs from an expectation, the
expectation must be upstream's and the run what follows from muster's differences (`replicaset_upstream`).
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, PLACEMENT, of_kinds
from muster.data.times import format_time, parse_time
from muster.data.tree import dig
from muster.fleet.derived import derived_body
from muster.fleet.objects import SPEC_DIGEST
from muster.rules.generations import spec_digest
from muster.rules.placements.scheduling import SCHEDULING_DISABLED
from muster.run.run import Run
from tests.conformance import replicaset_upstream as upstream
from tests.conformance.evaluating import evaluated
from tests.conformance.reading import Unplaced, as_yaml, unknown_keys

Json = Any
Problems = Iterator[tuple[Json, Json]]

AREAS = tuple(f"replicaset-{part}" for part in ("deploy", "rollout", "finalize", "status"))
_KNOWN = frozenset(("ManifestWorkReplicaSet", "ManifestWork", "Placement", "PlacementDecision"))
#: What a part of a pass does not say: muster has one pass, and writes no finalizers into the files of people.
_OF_A_STEP = ("absent_conditions", "recheckAt")


def problems(case: Json) -> Problems:
    """What differs from the case's expectation."""
    given = _with_placements(case["given"])
    for body in given["objects"]:
        if not isinstance(body, dict) or body.get("kind") not in _KNOWN:
            kind = body.get("kind") if isinstance(body, dict) else body
            yield f"objects of the kinds {sorted(_KNOWN)}", Unplaced(f"nothing here understands an object {kind}")
            return
    actual = _answer(given, evaluated(_files(given), parse_time(given["now"])))
    theirs, ours = upstream.theirs(case["given"]), upstream.ours(given)
    for key, wanted in case["expect"].items():
        if key == "note" or (key in _OF_A_STEP and given.get("step") == "status"):
            continue
        check = _CHECKS.get(key)
        if check is None:
            yield from unknown_keys({key: wanted}, _CHECKS)
        elif not check(wanted, actual) and not (check(wanted, theirs) and actual[_PART[key]] == ours[_PART[key]]):
            part = _PART[key]
            yield {key: wanted}, {part: actual[part], "by muster's differences": ours[part]}


def _works(wanted: Json, found: Json) -> bool:
    if wanted.keys() != {"created", "updated", "deleted"}:
        return False
    return all(
        sorted(wanted[key], key=repr) == sorted((one for one in found["works"][key]), key=repr) for key in wanted
    )


def _conditions(wanted: Json, found: Json) -> bool:
    by_type = {one["type"]: one for one in wanted}
    return len(by_type) == len(wanted) and by_type == found["conditions"]


_CHECKS: Mapping[str, Any] = {
    "error": lambda wanted, found: wanted == found["error"],
    "error_contains": lambda wanted, found: wanted in found["error_contains"],
    "works": _works,
    "conditions": _conditions,
    "absent_conditions": lambda wanted, found: not set(wanted) & found["conditions"].keys(),
    "summary": lambda wanted, found: wanted == found["summary"],
    "placementSummary": lambda wanted, found: wanted == found["placementSummary"],
    "finalizers": lambda wanted, found: wanted == found["finalizers"],
    "recheckAt": lambda wanted, found: wanted == found["recheckAt"],
}
#: Which part of an answer a key is about.
_PART = {key: key for key in _CHECKS} | {"absent_conditions": "conditions"}


# -- the repository


def _with_placements(given: Json) -> Json:
    """A case of the status step has no placements: each chooses the clusters of its works."""
    if given.get("step") != "status":
        return given
    objects, meta = list(given["objects"]), upstream.the_set(given)["metadata"]
    for ref in upstream.the_set(given)["spec"]["placementRefs"]:
        name = ref["name"]
        works = (w for w in upstream.own_works(given) if w["metadata"]["labels"].get(upstream.PLACED) == name)
        decisions = [{"clusterName": work["metadata"]["namespace"]} for work in works]
        placement = {"kind": "Placement", "metadata": {"name": name, "namespace": meta["namespace"]}, "spec": {}}
        labels = {
            f"cluster.open-cluster-management.io/{key}": value
            for key, value in (("placement", name), ("decision-group-name", ""), ("decision-group-index", "0"))
        }
        objects += [
            placement,
            {
                "kind": "PlacementDecision",
                "metadata": {"name": f"{name}-decision-1", "namespace": meta["namespace"], "labels": labels},
                "status": {"decisions": decisions},
            },
        ]
    return {**given, "objects": objects}


def _files(given: Json) -> dict[str, str]:
    bodies: dict[str, Json] = {}
    early = format_time(parse_time(given["now"]) - timedelta(days=1))
    clusters = set[str]()
    for body in given["objects"]:
        kind, meta = body["kind"], body["metadata"]
        path = f"{meta['namespace']}/{meta['name']}.yaml"
        if kind == "ManifestWork":
            if not meta.get("deletionTimestamp"):
                clusters.add(meta["namespace"])
                bodies |= _work(body, path)
        elif kind == "ManifestWorkReplicaSet":
            bodies[f"sets/{path}"] = {key: body[key] for key in body if key != "status"}
            if status := body.get("status"):
                bodies[f"derived/manifestworkreplicasets/{path}"] = _identity(body) | {"status": status}
        elif kind == "Placement":
            annotations = {SCHEDULING_DISABLED: "true"}
            metadata = {"name": meta["name"], "namespace": meta["namespace"], "annotations": annotations}
            bodies[f"placements/{path}"] = PLACEMENT.body(metadata, spec=body.get("spec") or {})
        else:
            clusters |= {one["clusterName"] for one in body.get("status", {}).get("decisions") or ()}
            api = {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": kind}
            bodies[f"derived/placementdecisions/{path}"] = {**body, **api}
    for name in sorted(clusters):
        said = {"type": MANAGED_CLUSTER.headline, "status": "True", "lastTransitionTime": early}
        said |= {"reason": "Ok", "message": ""}
        bodies[f"clusters/{name}.yaml"] = MANAGED_CLUSTER.body(
            {"name": name}, spec={"hubAcceptsClient": True}, status={"conditions": [said]}
        )
        bodies[f"leases/{name}.yaml"] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "managed-cluster-lease", "namespace": name},
            "spec": {"renewTime": given["now"]},
        }
    return {path: as_yaml(body) for path, body in bodies.items()}


def _identity(body: Json) -> Json:
    meta = {key: body["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": meta}


def _work(body: Json, path: str) -> dict[str, Json]:
    """The work as it is taken over from a hub, without a record of its progress, and what its agent reports."""
    meta = body["metadata"]
    known = {key: meta[key] for key in ("name", "namespace", "generation", "labels") if key in meta}
    known["annotations"] = {SPEC_DIGEST: spec_digest(body["spec"])}
    derived = {**_identity(body), "metadata": known, "spec": body["spec"]}
    files = {f"derived/manifestworks/{path}": derived}
    if status := body.get("status"):
        files[f"works/{path}"] = {**_identity(body), "status": status}
    return files


# -- the answer


def _answer(given: Json, run: Run) -> Json:
    body, fleet = upstream.the_set(given), run.fleet
    id_ = MANIFEST_WORK_REPLICA_SET.id(body["metadata"]["name"], body["metadata"]["namespace"])
    status = derived_body(id_, fleet.decisions(id_)).get("status", {}) if fleet.decisions(id_) else {}
    names = ("total", *(type_.lower() for type_ in upstream.COUNTED))
    never = {"desiredTotal": 0, "updated": 0}
    horizons = [one.horizon for one in fleet.decisions(id_).values() if one.horizon is not None]
    conditions = {
        one["type"]: {key: one.get(key, "") for key in ("type", "status", "reason", "message", "lastTransitionTime")}
        for one in status.get("conditions") or ()
    }
    return {
        "error": False,
        "error_contains": "",
        "works": _changes(given, run),
        "conditions": conditions,
        "summary": {name: dig(status, "summary", name) or 0 for name in names} | never,
        "placementSummary": [
            {n: one[n] for n in ("name", "availableDecisionGroups")} | {n: one["summary"].get(n, 0) for n in names}
            for one in status.get("placementSummary") or ()
        ],
        "finalizers": upstream.ours(given)["finalizers"],
        "recheckAt": format_time(min(horizons)) if horizons else None,
    }


def _changes(given: Json, run: Run) -> Json:
    fleet = run.fleet
    body = upstream.the_set(given)["metadata"]
    owner = f"{body['namespace']}.{body['name']}"
    before = {id_: fleet.previous[id_] for id_ in of_kinds(fleet.previous, MANIFEST_WORK)}
    after: dict[ObjectId, Json] = {}
    for id_ in of_kinds(fleet.decided, MANIFEST_WORK):
        found = derived_body(id_, fleet.decisions(id_))
        if found is not None and found.get("spec") is not None:
            after[id_] = found
    created, updated, deleted = [], [], []
    own = {upstream.OWNER, upstream.PLACED}
    for id_, work in after.items():
        labels = work["metadata"]["labels"]
        if labels.get(upstream.OWNER) != owner:
            continue
        if id_ not in before:
            more = {key: value for key, value in labels.items() if key not in own}
            entry = {"cluster": id_.namespace, "placement": labels[upstream.PLACED]}
            created.append(entry | ({"labels": more} if more else {}))
            continue
        old = before[id_]
        changed = ["template"] * (old["spec"] != work["spec"]) + ["labels"] * (old["metadata"]["labels"] != labels)
        if changed:
            updated.append({"cluster": id_.namespace, "name": id_.name, "changed": changed})
    for id_ in before.keys() - after.keys():
        if dig(before[id_], "metadata", "labels", upstream.OWNER) != owner:
            continue  # its own set is not in the case
        deleted.append({"cluster": id_.namespace, "name": id_.name})
    ordered = {"created": created, "updated": updated, "deleted": deleted}
    return {key: upstream.ordered(found) for key, found in ordered.items()}
