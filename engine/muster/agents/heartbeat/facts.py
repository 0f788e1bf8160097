"""Facts about a cluster, read from its API server: version, capacity, allocatable resources, claims, and objects whose
state the fleet has as well: Leases of add-ons and the status of ManifestWorks.

Source: upstream's resource and claim reconcilers. Capacity counts all nodes, allocatable only schedulable ones.
Reserved claims come first and are always reported; of the others, the first 20 by name. An add-on renews a Lease of its
name in its namespace (upstream's `pkg/registration/spoke/addon/lease_controller.go`). ManifestWorks are found where the
cluster is its own hub, in the namespace of its name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import quote

from muster.agents.kube.apiserver import PAGE, ApiError
from muster.data.agentref import is_cluster_name
from muster.data.kinds import LEASE, MANIFEST_WORK
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.leases import LEASE_NAME
from muster.regex import Regex

#: Gets a path of the API server as JSON; ApiError if there is no such answer.
GetJson = Callable[[str], dict[str, Tree]]

MOST_CUSTOM_CLAIMS: Final = 20
#: Where add-ons run if they do not say otherwise.
ADD_ON_NAMESPACE: Final = "open-cluster-management-agent-addon"
#: The folders on the ref for Leases of add-ons and for works.
ADD_ONS: Final = "addons/"
WORKS: Final = "works/"
_SPOKE_ONLY: Final = "open-cluster-management.io/spoke-only"
_RESERVED: Final = (
    "id.k8s.io",
    "kubeversion.open-cluster-management.io",
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
)
_WORK_STATUS: Final = ("conditions", "resourceStatus")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST_QUANTITY: Final = 64
_QUANTITY: Final = Regex(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]{1,3})?)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?)")


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What was read: fields of the cluster's status, and files for folders of the ref. What could not be read is
    missing."""

    status: Mapping[str, Tree] = field(default_factory=dict)
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)


def read_facts(get_json: GetJson) -> dict[str, Tree]:
    """Return `version`, `capacity`, `allocatable` and `clusterClaims` of a status, as far as they could be read.

    A fact without any entries is returned empty, so that earlier values are removed.
    """
    facts: dict[str, Tree] = {}
    version = _get(get_json, "/version").get("gitVersion")
    if isinstance(version, str):
        facts["version"] = {"kubernetes": version}
    nodes = _items(get_json, "/api/v1/nodes")
    if nodes is not None:
        facts["capacity"] = sum_quantities(mapping_at(node, "status", "capacity") for node in nodes)
        schedulable = (node for node in nodes if dig(node, "spec", "unschedulable") is not True)
        facts["allocatable"] = sum_quantities(mapping_at(node, "status", "allocatable") for node in schedulable)
    claims = _items(get_json, "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims")
    if claims is not None:
        facts["clusterClaims"] = reported_claims(claims)
    return facts


def read_objects(get_json: GetJson, cluster: str, add_on_namespaces: Iterable[str]) -> dict[str, Mapping[str, bytes]]:
    """Return the files for objects of the cluster, by the folder that has exactly these files."""
    folders = dict[str, Mapping[str, bytes]]()
    lists = [
        _items(get_json, f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
        for namespace in add_on_namespaces
    ]
    if lists and None not in lists:
        folders[ADD_ONS] = dict(_lease_files([lease for leases in lists for lease in leases or ()], cluster))
    works = _items(get_json, f"/apis/{MANIFEST_WORK.api_version}/namespaces/{cluster}/{MANIFEST_WORK.plural}")
    if works is not None:
        folders[WORKS] = {name: content for work in works for name, content in (work_file(work, cluster),)}
    return folders


def work_file(work: Tree, cluster: str) -> tuple[str, bytes]:
    """Return the path and the content of the file that reports the status of a ManifestWork."""
    status = {name: value for name, value in mapping_at(work, "status").items() if name in _WORK_STATUS}
    name = str(dig(work, "metadata", "name"))
    body = MANIFEST_WORK.body({"name": name, "namespace": cluster}, **({"status": status} if status else {}))
    return f"{WORKS}{name}.yaml", file_text(body).encode()


def reported_works(files: Mapping[str, bytes]) -> dict[str, Tree]:
    """Return the status of each work that such files report, by name."""
    documents = [load_documents(text, path).documents for path, text in files.items() if path.startswith(WORKS)]
    bodies = [found[0].body for found in documents if found]
    return {str(dig(body, "metadata", "name")): dig(body, "status") for body in bodies}


def _lease_files(leases: Iterable[Tree], cluster: str) -> Iterator[tuple[str, bytes]]:
    for lease in leases:
        name = str(dig(lease, "metadata", "name"))
        if is_cluster_name(name) and name != LEASE_NAME:
            body = LEASE.body({"name": name, "namespace": cluster}, spec=mapping_at(lease, "spec"))
            yield f"{ADD_ONS}{name}.yaml", file_text(body).encode()


def _items(get_json: GetJson, path: str) -> list[dict[str, Tree]] | None:
    """The objects of a collection; None if it cannot be read. They are asked for in pages."""
    items, after = list[dict[str, Tree]](), ""
    while True:
        page = _get(get_json, f"{path}?limit={PAGE}{after and f'&continue={quote(after)}'}")
        if "items" not in page:
            return None
        items += mappings_at(page, "items")
        after = str(dig(page, "metadata", "continue") or "")
        if not after:
            return items


def _get(get_json: GetJson, path: str) -> dict[str, Tree]:
    try:
        return get_json(path)
    except ApiError:
        return {}


def reported_claims(claims: Iterable[Tree]) -> list[Tree]:
    """Return the claims to report, from ClusterClaim objects."""
    by_name = {
        str(dig(claim, "metadata", "name")): str(dig(claim, "spec", "value") or "")
        for claim in claims
        if _SPOKE_ONLY not in mapping_at(claim, "metadata", "labels")
    }
    custom = sorted(set(by_name) - set(_RESERVED))[:MOST_CUSTOM_CLAIMS]
    names = [*(name for name in _RESERVED if name in by_name), *custom]
    return [{"name": name, "value": by_name[name]} for name in names]


def sum_quantities(resources: Iterable[Mapping[str, Tree]]) -> dict[str, str]:
    """Add quantities by resource, each sum in the unit system of its first quantity. Invalid quantities are ignored."""
    sums: dict[str, tuple[Decimal, bool]] = {}
    for resource in resources:
        for name, text in resource.items():
            if (parsed := _parse_quantity(str(text))) is not None:
                value, binary = sums.get(name, (Decimal(0), parsed[1]))
                sums[name] = value + parsed[0], binary
    return {name: _format_quantity(*sums[name]) for name in sorted(sums)}


def _parse_quantity(text: str) -> tuple[Decimal, bool] | None:
    """A quantity's value, and whether its unit is binary."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_QUANTITY else None
    try:
        number = Decimal(match[1]) if match else None
    except InvalidOperation:
        return None
    if match is None or number is None:
        return None
    binary = match[2] in _BINARY
    return number * (2 ** _BINARY[match[2]] if binary else Decimal(10) ** _DECIMAL[match[2]]), binary


def _format_quantity(value: Decimal, binary: bool) -> str:  # noqa: FBT001 - the two ways to write a quantity
    """The canonical form: the largest unit in which the value is a whole number."""
    units = {name: Decimal(2**power) for name, power in _BINARY.items()} if binary else {}
    units = {"": Decimal(1), **units} if binary else {name: Decimal(10) ** power for name, power in _DECIMAL.items()}
    whole = [(unit, name) for name, unit in units.items() if value % unit == 0]
    unit, name = max(whole) if value and whole else (Decimal(1), "")
    return f"{(value / unit).to_integral_value():f}{name}"
