"""Select objects by what a person types: `managedclusters`, `cluster/prod-eu-1`,
`lease/prod-eu-1/managed-cluster-lease`."""

from collections.abc import Callable, Sequence

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, Kind, UnknownKind, kinds_named
from muster.data.tree import Tree, dig
from muster.fleet.shared import OF_CLUSTERS
from muster.run.incremental import Wanted
from muster.run.question import default_neighbourhood
from muster.run.run import Run


def _read(target: str) -> tuple[Sequence[Kind], str, str]:
    """The kinds, namespace and name of `KIND[/[NAMESPACE/]NAME]`; empty if missing."""
    kind, _, rest = target.partition("/")
    namespace, _, name = rest.rpartition("/")
    if rest and kind.casefold() == "all":
        raise UnknownKind(f"'all' means objects of every kind; name the kind of {rest}")
    return kinds_named(kind), namespace, name


def id_matcher(target: str) -> Callable[[ObjectId], bool]:
    """Return a test for the ids that `KIND[/[NAMESPACE/]NAME]` names. UnknownKind for an unknown kind."""
    named, namespace, name = _read(target)
    kinds = {(kind.group, kind.name) for kind in named}

    def is_named(id_: ObjectId) -> bool:
        if (id_.group, id_.kind) not in kinds or (name and id_.name != name):
            return False
        return not namespace or id_.namespace == namespace

    return is_named


def wanted(target: str) -> Wanted | None:
    """Return what a run must evaluate for the objects that `KIND[/[NAMESPACE/]NAME]` names; None for everything.

    UnknownKind for an unknown kind.
    """
    kinds, namespace, name = _read(target)
    if name:
        if any(kind.namespaced for kind in kinds) and not namespace:
            return None  # it may be in any
        ids = [kind.id(name, namespace) for kind in kinds]
        return Wanted(frozenset({str(id_) for id_ in ids} | {default_neighbourhood(id_) for id_ in ids}))
    summed_up = all(kind in CLUSTERS or kind not in OF_CLUSTERS for kind in kinds)
    return Wanted(wide=True) if summed_up else None


def object_ids(target: str) -> list[ObjectId]:
    """Return the ids that `KIND/[NAMESPACE/]NAME` can mean, whether or not such objects exist.

    A word may mean two kinds, and an object in a cluster's namespace may be named by the cluster alone. UnknownKind for
    an unknown kind or a missing name.
    """
    kinds, namespace, name = _read(target)
    if not name:
        raise UnknownKind(f"name one object, as in {target.partition('/')[0]}/NAME")
    ids = [kind.id(name, namespace) for kind in kinds if kind.namespaced == bool(namespace)]
    if not ids:
        raise UnknownKind(f"a {kinds[0].name} is {'in a' if kinds[0].namespaced else 'in no'} namespace")
    return ids


def select(run: Run, target: str | None) -> list[Tree]:
    """Return the run's objects that `KIND[/[NAMESPACE/]NAME]` names; all of them for None."""
    if not target:
        return run.objects
    kinds, namespace, name = _read(target)
    named = {(kind.group, kind.name) for kind in kinds}
    return [
        body
        for body in run.objects
        if (body["apiVersion"].rpartition("/")[0], body["kind"]) in named
        and (not name or dig(body, "metadata", "name") == name)
        and (not namespace or dig(body, "metadata", "namespace") == namespace)
    ]
