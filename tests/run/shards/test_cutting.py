"""Which files are thought to belong together, by where they lie and by what a glance at them shows."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from muster.run.shards.cutting import FileGroups, ListedFile, cut
from tests.support.example import NOON
from tests.support.living import BINDING, REMEDY, cluster, lease, placement

_POOL = "apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {name: gpu, namespace: a}\nspec: {clusterName: b}\n"
_REQUEST = (
    "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata:\n  name: r\n"
    "  labels: {open-cluster-management.io/cluster-name: b}\n"
)
FILES: Mapping[str, str] = {
    "clusters/7f/a/cluster.yaml": "not looked at: its folder says enough",
    "clusters/7f/a/reports/dns.yaml": "nor at this",
    "flat/whatever.yaml": cluster("b"),
    "flat/lease-of-b.yaml": lease("b", NOON),
    "flat/said-of-b.json": '{"apiVersion": "muster.dev/v1alpha1", "kind": "NodePool", "metadata": {"namespace": "b"}}',
    "flat/pool.yaml": _POOL,
    "flat/request.yaml": _REQUEST,
    "flat/two.yaml": f"{lease('a', NOON)}---\n{lease('b', NOON)}",
    "policies/remedy.yaml": REMEDY,
    "apps/some.yaml": placement("some", 3),
    "apps/binding.yaml": BINDING,
    "values.yaml": "replicas: 3\n",
    "derived/managedclusters/3e/b.yaml": "",
    "derived/adapterreports/a/dns.yaml": "",
    "derived/nodepools/a/gpu.yaml": "",
    "derived/certificatesigningrequests/r.yaml": "",
    "derived/fleets/scale.yaml": "",
    "derived/placements/apps/some.yaml": "",
    "derived/junk.yaml": "",
}


@pytest.fixture
def found() -> FileGroups:
    return cut_of(FILES)


def cut_of(files: Mapping[str, str], policies: Sequence[str] = ()) -> FileGroups:
    def read(paths: Sequence[str]) -> Iterator[bytes]:
        return (files[path].encode() for path in paths)

    return cut(
        [*(ListedFile(path, path) for path in sorted(files)), ListedFile("x.yaml", "x", "agents/c")], policies, read
    )


def paths(listed: Sequence[ListedFile]) -> set[str]:
    return {file.path for file in listed}


def test_neighbourhoods(found: FileGroups) -> None:
    assert {name: paths(files) for name, files in found.neighbourhoods.items()} == {
        "a": {"clusters/7f/a/cluster.yaml", "clusters/7f/a/reports/dns.yaml", "derived/adapterreports/a/dns.yaml"},
        "b": {
            "flat/whatever.yaml",
            "flat/lease-of-b.yaml",
            "flat/said-of-b.json",
            "flat/pool.yaml",
            "flat/request.yaml",
            "derived/managedclusters/3e/b.yaml",
            "derived/nodepools/a/gpu.yaml",
            "derived/certificatesigningrequests/r.yaml",
        },
        "c": {"x.yaml"},
    }


def test_what_all_share(found: FileGroups) -> None:
    assert paths(found.common) == {"policies/remedy.yaml", "derived/fleets/scale.yaml"}
    assert paths(found.rest) == {
        "flat/two.yaml",
        "apps/some.yaml",
        "apps/binding.yaml",
        "values.yaml",
        "derived/placements/apps/some.yaml",
        "derived/junk.yaml",
    }
    assert (found.derived, found.adapters) == (True, True)


def test_a_file_that_is_known_to_hold_a_policy_is_everybodys() -> None:
    found = cut_of(FILES, ["clusters/7f/a/cluster.yaml"])
    assert "clusters/7f/a/cluster.yaml" in paths(found.common)


def test_shards_have_about_so_many_files_and_whole_neighbourhoods(found: FileGroups) -> None:
    assert list(found.shards(1)) == [["a"], ["c"], ["b"]]
    assert list(found.shards(4)) == [["a", "c"], ["b"]]


def test_nothing_is_derived_of_a_new_fleet() -> None:
    found = cut_of({"clusters/a/cluster.yaml": ""})
    assert (found.derived, found.adapters) == (False, False)
