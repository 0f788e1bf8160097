"""Messages tell what happened to an object, not to its derived part: what muster has nothing more to say of is not gone."""

# ruff: noqa: E501 - documents

from datetime import timedelta
from pathlib import Path
from random import Random

from muster.run.transitions.transitions import commit_message
from tests.support.example import NOON
from tests.support.git import Content, new_repository
from tests.support.living import REMEDY, Living, cluster, lease, observed

ADD_ON = """apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: w, namespace: c001}
status:
  conditions: [{type: Available, status: "True", reason: Fine, message: m, lastTransitionTime: "2026-01-01T11:00:00Z"}]
"""
DEPLOYMENT = """apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: x, namespace: x}
spec: {clusterName: x, baseDomain: example.com, platform: {none: {}}, installed: true}
status: {conditions: [{type: Ready, status: "True", reason: R, message: m, lastTransitionTime: "2026-01-01T11:00:00Z"}]}
"""
INGRESS = """apiVersion: networking.karmada.io/v1alpha1
kind: MultiClusterIngress
metadata: {name: shop, namespace: apps}
spec:
  defaultBackend: {service: {name: shop, port: {number: 80}}}
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: shop-service, namespace: apps}
spec: {resource: {apiVersion: v1, kind: Service, name: shop, namespace: apps}, clusters: [{name: c001}]}
"""


def test_an_outage_and_its_end(tmp_path: Path) -> None:
    living = Living(new_repository(tmp_path / "fleet"), Random(1), now=NOON)
    steps: tuple[tuple[int, dict[str, Content], str], ...] = (
        (
            0,
            {"c.yaml": cluster("c001"), "w.yaml": ADD_ON, "cd.yaml": DEPLOYMENT, "i.yaml": INGRESS, "r.yaml": REMEDY},
            "shop: field status.serviceLocations[0].clusters c001",
        ),
        (5, {"lease.yaml": lease("c001", NOON), "o.yaml": observed("c001")}, "its agent renews it"),
        (600, {}, "ManagedClusterAddOn/c001/w: condition Available True -> Unknown"),
        (95, {"lease.yaml": lease("c001", NOON + timedelta(seconds=700))}, "w: condition Available Unknown -> True"),
        (5, {"o.yaml": observed("c001", healthy=False)}, "c001 unavailable"),
        (5, {"o.yaml": observed("c001")}, "c001 available"),
    )
    for seconds, files, expected in steps:
        living.now += timedelta(seconds=seconds)
        if files:
            living.repo.commit(files)
        settled = living.cold()
        message = commit_message(settled.last, settled.changes)
        living.land(settled)
        assert expected in message
        words = message.replace(":", " ").replace(";", " ").split()
        assert not {"gone", "removed", "created"}.intersection(words) - ({"removed"} if "taint" in words else set()), (
            message
        )


def test_what_muster_notes_for_itself_is_named(tmp_path: Path) -> None:
    """A commit always says something."""
    living = Living(new_repository(tmp_path / "fleet"), Random(1), now=NOON)
    living.repo.commit({"c.yaml": cluster("c001"), "lease.yaml": lease("c001", NOON), "o.yaml": observed("c001")})
    living.land(living.cold())
    living.repo.commit({"c.yaml": cluster("c001", leaseDurationSeconds="120")})
    settled = living.cold()
    subject = commit_message(settled.last, settled.changes).splitlines()[0]
    assert subject not in ("", "no transitions", "nothing changed")
