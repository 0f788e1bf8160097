"""Every part of every kind has a place, and no two objects the same."""

from itertools import product

from muster.data.kinds import ALL
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree
from muster.fleet.layout import DECLARED, REPORTED, file_places

NAMES = ("a", "b", "con", "x" * 253, "decisions", "claims")


def test_no_two_objects_share_their_last_place() -> None:
    """Whatever they are called, and whatever lies where they would rather be."""
    seen: dict[str, object] = {}
    for kind, name, namespace, role in product(ALL, NAMES, NAMES, (DECLARED, REPORTED)):
        metadata: Tree = {"name": name, "labels": {"open-cluster-management.io/cluster-name": "c"}}
        metadata["annotations"] = {"endpointslice.karmada.io/provision-cluster": "c"}
        id_ = kind.id(name, namespace if kind.namespaced else "")
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        part = Part(id_, kind.versions[0], body, Layer.INPUT, SourceFile("dump.yaml", "", lambda: b""))
        *_, last = file_places(part, role)
        assert seen.setdefault(last, (id_, role)) == (id_, role)
        for path in file_places(part, role):
            assert not path.startswith(("/", "derived/"))
            assert all(step not in ("", ".", "..") and len(step) <= 255 for step in path.split("/"))
