"""Kubernetes objects in the files of Projections, and `muster export objects --projections`."""

import json
from typing import Any

import pytest
import yaml

from muster.features.export.projected import ProjectedObjects
from tests.support.commandline import Run
from tests.support.example import EXAMPLE

WORK: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}


def found(files: dict[str, str]) -> ProjectedObjects:
    """The objects in files that are named PROJECTION/FILE."""
    objects = ProjectedObjects(frozenset(("all",)))
    for path, text in files.items():
        objects.add(path.partition("/")[0], path, text.encode())
    return objects.checked()


def test_a_file_has_objects_if_each_of_its_documents_is_one() -> None:
    two = yaml.safe_dump_all([WORK, {**WORK, "metadata": {"name": "c"}}])
    mixed = f"a: 1\n---\n{two}"
    objects = found(
        {
            "a/one.json": json.dumps(WORK),
            "b/two.yaml": two.replace("name: a", "name: d"),
            "c/mixed.yaml": mixed,
            "c/list.json": json.dumps([WORK]),
            "c/x.tfvars": json.dumps(WORK),
            "c/empty.yaml": "",
            "c/nameless.yaml": "apiVersion: v1\nkind: ConfigMap\n",
            "d/number.yaml": two.replace("name: a", "name: 1"),
        }
    )
    assert [(one.projection, one.id.name, one.fault) for one in objects.objects] == [
        ("a", "a", ""),
        ("b", "d", ""),
        ("b", "c", ""),
    ]
    assert objects.others == {"c": 5, "d": 1}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork"}, ""),
        ({"apiVersion": "argoproj.io/v1alpha1", "kind": "Cluster"}, ""),
        ({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"}, "may not"),
        ({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision"}, "may not"),
        ({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}, "may not"),
        ({"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment"}, "may not"),
        ({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}, "may not"),
        ({"apiVersion": "../v1"}, "apiVersion"),
        ({"metadata": {"name": "c1/status"}}, "not one that Kubernetes takes"),
        ({"metadata": {"name": "a", "namespace": ".."}}, "not one that Kubernetes takes"),
    ],
)
def test_what_others_write_is_refused(change: dict[str, Any], fault: str) -> None:
    (one,) = found({"a/a.json": json.dumps({**WORK, **change})}).objects
    assert fault in one.fault
    assert bool(fault) == bool(one.fault)


def test_one_object_in_two_files_is_refused() -> None:
    (one,) = found({"a/a.json": json.dumps(WORK), "b/a.yaml": yaml.safe_dump(WORK)}).objects
    assert one.fault == "2 files have it, of Projection a and b"


def test_export_prints_the_objects_of_chosen_projections(muster: Run) -> None:
    source = ("--repo", EXAMPLE, "--worktree", "--now", "2026-01-01T12:00:00Z")
    plain = muster("export", "objects", *source)[1]
    assert "Kustomization" not in plain
    code, out, _ = muster("export", "objects", *source, "--projections", "kustomizations")
    assert (code, out.startswith(plain)) == (0, True)
    bodies = [body for body in yaml.safe_load_all(out) if body["kind"] == "Kustomization"]
    assert "web-prod-eu-1" in {body["metadata"]["name"] for body in bodies}
    code, _, errors = muster("export", "objects", *source, "--projections", "kustomisations")
    assert code == 2
    assert "no Projection is called 'kustomisations'; did you mean 'kustomizations'?" in errors
