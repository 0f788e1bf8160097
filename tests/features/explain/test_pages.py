"""The fields of kinds and the meanings of codes, as `explain` prints them."""

import pytest

from muster.data.kinds import ALL, UnknownKind, kinds_named
from muster.features.explain.pages import page_of


@pytest.mark.parametrize(
    "word", [kind.schema for kind in ALL if "." not in kind.schema and kinds_named(kind.schema) == (kind,)]
)
def test_each_field_of_a_kind_has_a_description(word: str) -> None:
    paths = [""]
    while paths:
        path = paths.pop()
        page = page_of(f"{word}{path}") or ""
        assert "Not described." not in page, path
        fields = page.partition("\nFields:\n")[2].splitlines()
        assert fields or path
        paths += [f"{path}.{line.split(':')[0].strip()}" for line in fields if path.count(".") < 3]


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("fleet", "Fleet (muster.dev/v1alpha1)"),
        ("managedcluster.spec.taints.timeAdded", "ManagedCluster.spec.taints.timeAdded: string (date-time)"),
        ("managedcluster.status.conditions.status", "ManagedCluster.status.conditions.status: True | False | Unknown"),
        ("managedcluster.metadata.namespace", "ManagedCluster.metadata.namespace: not used"),
        ("MUS101", "MUS101 (error): field set twice"),
    ],
)
def test_a_page(target: str, first: str) -> None:
    assert (page_of(target) or "").splitlines()[0] == first


@pytest.mark.parametrize("target", ["prod-eu-1", "cluster/a", "clusters", "clusters.cluster.karmada.io"])
def test_what_names_objects_has_no_page(target: str) -> None:
    assert page_of(target) is None


@pytest.mark.parametrize(("target", "said"), [("MUS1", "three digits"), ("fleet.spec.adapterz", "'adapters'")])
def test_a_slip(target: str, said: str) -> None:
    with pytest.raises(UnknownKind, match=said):
        page_of(target)
