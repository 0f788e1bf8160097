"""Facts about a cluster, read from its API server: version, capacity, allocatable resources and claims.

Source: upstream's resource and claim reconcilers. Capacity counts all nodes, allocatable only schedulable ones.
Reserved claims come first and are always reported; of the others, the first 20 by name.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from muster.agents.kube.apiserver import ApiError
from muster.data.tree import Tree, dig, mapping_at, mappings_at

#: Gets a path of the API server as JSON; ApiError if there is no such answer.
GetJson = Callable[[str], dict[str, Tree]]

MOST_CUSTOM_CLAIMS: Final = 20
_SPOKE_ONLY: Final = "open-cluster-management.io/spoke-only"
_RESERVED: Final = ("id.k8s.io", "kubeversion.open-cluster-management.io", "platform.open-cluster-management.io",
                    "product.open-cluster-management.io")  # fmt: skip
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]{1,3})?)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?)", re.ASCII)


def read_facts(get_json: GetJson) -> dict[str, Tree]:
    """Return `version`, `capacity`, `allocatable` and `clusterClaims` of a status, as far as they could be read.

    A fact without any entries is returned empty, so that earlier values are removed.
    """
    found: dict[str, Tree] = {}
    version = _get(get_json, "/version").get("gitVersion")
    if isinstance(version, str):
        found["version"] = {"kubernetes": version}
    answer = _get(get_json, "/api/v1/nodes")
    if "items" in answer:
        nodes = mappings_at(answer, "items")
        found["capacity"] = sum_quantities(mapping_at(node, "status", "capacity") for node in nodes)
        schedulable = (node for node in nodes if dig(node, "spec", "unschedulable") is not True)
        found["allocatable"] = sum_quantities(mapping_at(node, "status", "allocatable") for node in schedulable)
    answer = _get(get_json, "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims")
    if "items" in answer:
        found["clusterClaims"] = reported_claims(mappings_at(answer, "items"))
    return found


def _get(get_json: GetJson, path: str) -> dict[str, Tree]:
    try:
        return get_json(path)
    except ApiError:
        return {}


def reported_claims(claims: Iterable[Tree]) -> list[Tree]:
    """Return the claims to report, from ClusterClaim objects."""
    known = {
        str(dig(claim, "metadata", "name")): str(dig(claim, "spec", "value") or "")
        for claim in claims
        if _SPOKE_ONLY not in mapping_at(claim, "metadata", "labels")
    }
    custom = sorted(set(known) - set(_RESERVED))[:MOST_CUSTOM_CLAIMS]
    names = [*(name for name in _RESERVED if name in known), *custom]
    return [{"name": name, "value": known[name]} for name in names]


def sum_quantities(resources: Iterable[Mapping[str, Tree]]) -> dict[str, str]:
    """Add quantities by resource, each sum in the unit system of its first quantity. Invalid quantities are ignored."""
    sums: dict[str, tuple[Decimal, bool]] = {}
    for one in resources:
        for name, text in one.items():
            if (parsed := _parse_quantity(str(text))) is not None:
                value, binary = sums.get(name, (Decimal(0), parsed[1]))
                sums[name] = value + parsed[0], binary
    return {name: _format_quantity(*sums[name]) for name in sorted(sums)}


def _parse_quantity(text: str) -> tuple[Decimal, bool] | None:
    """A quantity's value, and whether its unit is binary."""
    match = _QUANTITY.fullmatch(text)
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
