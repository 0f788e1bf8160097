"""From a case of Hive's controllers to the fleet repository that shows the same situation: what people write and what a
provisioner reports as inputs, what Hive's controllers wrote before as the derived state of the last run.
"""

from collections.abc import Callable, Mapping

from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME
from muster.data.locations import derived_path
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.derived import derived_text
from muster.rules.pools.manifest import version_of
from tests.conformance.reading import as_yaml

VERSION = "hive.openshift.io/cluster-pool-spec-hash"


def repository(case: Tree, *, compatibility: str) -> dict[str, str]:
    """Return the files that put muster into the situation of a case."""
    given = case["given"]
    dependencies = given.get("dependencies") or {}
    external = [f"ClusterImageSet/{name}" for name in dependencies.get("cluster_image_sets") or ()]
    external += [f"Secret/{secret['name']}" for secret in dependencies.get("secrets") or ()]
    fleet = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "fleet"},
        "spec": {"pools": {"compatibility": compatibility, "externalDependencies": external}},
    }
    versions = {
        (obj["metadata"]["namespace"], obj["metadata"]["name"]): version_of(obj["spec"])
        for obj in given["objects"]
        if obj["kind"] == "ClusterPool"
    }
    files = {"fleet.yaml": _text(fleet)}
    for index, obj in enumerate(given["objects"]):
        if obj["kind"] in _SPLIT:
            written, derived = _SPLIT[obj["kind"]](obj, versions)
            if written is not None:
                files[f"inputs/{index:03}.yaml"] = _text(written)
            if derived is not None:
                if compatibility == "seed" and obj["kind"] == "ClusterDeployment":
                    derived["status"] = {"muster": {"powerStateSince": _asked(obj)}}
                files[derived_path(object_id(obj), 1)] = derived_text(derived)
    return files


def _asked(obj: Tree) -> str:
    """When muster would have asked for the power state that the cluster is in, or on its way to."""
    conditions = {c["type"]: c for c in mappings_at(obj, "status", "conditions")}
    since = dig(conditions, "Hibernating", "lastTransitionTime")
    return str(since or dig(obj, "metadata", "creationTimestamp"))


Parts = tuple[Tree, Tree]
Versions = Mapping[tuple[str, str], str]


def _split_pool(obj: Tree, _versions: Versions) -> Parts:
    """A pool of which an earlier run remembers something does not move in from a hub on this day."""
    status = {**(obj.get("status") or {}), "muster": {"nextOrdinal": 1}}
    return _part(obj, metadata=obj["metadata"], spec=obj["spec"]), _part(obj, status=status)


def _split_claim(obj: Tree, _versions: Versions) -> Parts:
    spec = dict(obj["spec"])
    assigned = {"namespace": spec.pop("namespace")} if spec.get("namespace") else None
    return _part(obj, metadata=obj["metadata"], spec=spec), _part(obj, spec=assigned, status=obj.get("status"))


def _split_cluster(obj: Tree, versions: Versions) -> Parts:
    spec = dict(obj["spec"])
    seen = {name: spec.pop(name) for name in ("installed", "clusterMetadata") if name in spec}
    metadata = dict(obj["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    reference = spec.get("clusterPoolRef") or {}
    if annotations.get(VERSION) == "@current":
        key = (str(reference.get("namespace")), str(reference.get("poolName")))
        annotations[VERSION] = versions.get(key, "unknown-pool")
    if annotations:
        metadata["annotations"] = annotations
    status = obj.get("status")
    written = _part(obj, spec=seen, status=status) if seen or status else None
    return written, _part(obj, metadata=metadata, spec=spec)


def _split_customization(obj: Tree, _versions: Versions) -> Parts:
    return _part(obj, metadata=obj["metadata"], spec=obj.get("spec")), _part(obj, status=obj.get("status"))


_SPLIT: Mapping[str, Callable[[Tree, Versions], Parts]] = {
    "ClusterPool": _split_pool,
    "ClusterClaim": _split_claim,
    "ClusterDeployment": _split_cluster,
    "ClusterDeploymentCustomization": _split_customization,
}


def _part(obj: Tree, **sections: Tree) -> Tree:
    """A part of an object with these sections; None where all are empty. The identity is added to the metadata."""
    present = {name: section for name, section in sections.items() if section}
    if not present:
        return None
    identity = {name: obj["metadata"][name] for name in ("name", "namespace")}
    metadata = {**identity, **{k: v for k, v in present.pop("metadata", {}).items() if k not in identity}}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, **present}


def object_id(obj: Tree) -> ObjectId:
    """The id of an object of a case."""
    return BY_NAME[obj["kind"]].id(obj["metadata"]["name"], obj["metadata"]["namespace"])


def _text(tree: Tree) -> str:
    return as_yaml(tree)
