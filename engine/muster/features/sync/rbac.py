"""The rights that `muster sync` needs on a hub, and no more."""

from collections.abc import Iterable, Iterator
from typing import Final

from muster.data.kinds import PLACEMENT, Kind
from muster.data.tree import Tree
from muster.features.sync.hub import HubKind
from muster.features.sync.ownership import SyncParent
from muster.features.sync.wanted import OWNED

_RBAC: Final = "rbac.authorization.k8s.io"


def rbac(parent: SyncParent, systems: Iterable[str], projected: Iterable[HubKind] = ()) -> list[Tree]:
    """Return the service account of the set in the parent's namespace, its roles and their bindings. `projected`: the
    kinds of objects of Projections."""
    asked = frozenset(("", *systems))
    rules = [*_rules_of(PLACEMENT, made=False)]
    for owned in OWNED:
        if owned.system in asked:
            rules.extend(_rules_of(owned.kind, made=not owned.fields or owned.system == "hive"))
        else:  # what an earlier run wrote is looked for and stays
            rules.append(_rule(owned.kind.group, owned.kind.plural, "list"))
    rules += [_rule(kind.group, kind.plural, "get", "list", "patch", "create", "delete") for kind in projected]
    name, across = parent.account, f"muster-sync:{parent.namespace}:{parent.name}"
    account = {"kind": "ServiceAccount", "name": name, "namespace": parent.namespace}
    namespaced = [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [parent.name], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
    ]
    return [
        {"apiVersion": "v1", "kind": account["kind"], "metadata": _metadata(name, parent.namespace)},
        _role("ClusterRole", across, rules, ""),
        _binding("ClusterRole", across, account, ""),
        _role("Role", name, namespaced, parent.namespace),
        _binding("Role", name, account, parent.namespace),
    ]


def _rules_of(kind: Kind, *, made: bool) -> Iterator[Tree]:
    yield _rule(kind.group, kind.plural, *(("list", "patch", "create", "delete") if made else ("list", "patch")))
    if kind is not PLACEMENT:
        yield _rule(kind.group, f"{kind.plural}/status", "patch")


def _rule(group: str, resource: str, *verbs: str) -> Tree:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _role(kind: str, name: str, rules: list[Tree], namespace: str) -> Tree:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": _metadata(name, namespace), "rules": rules}


def _binding(kind: str, name: str, account: Tree, namespace: str) -> Tree:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": _metadata(name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [account],
    }


def _metadata(name: str, namespace: str) -> Tree:
    return {"name": name, **({"namespace": namespace} if namespace else {})}
