"""`muster export`: endpoints for a load balancer, objects for a live hub."""

import json
from pathlib import Path

import pytest
import yaml

from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support import ingress as files
from tests.support.commandline import Run

NOW = ("--now", "2026-01-01T00:10:00Z", "--worktree")
POLICY = """
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: default}
spec: {maxDisrupted: 100%}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A dark cluster with a remedy, an ingress of two clusters, and a policy."""
    root = tmp_path / "fleet"
    root.mkdir()
    spec = {"rules": [files.rule("shop.example.com", ("/", "Prefix", files.backend("web")))]}
    texts = [
        cluster("dark"),
        observed("dark"),
        lease("dark", "2026-01-01T00:00:00Z"),
        POLICY,
        files.cluster("a"),
        files.cluster("b"),
        files.remedy("upgrade", "b"),
        files.ingress(spec, {"serviceLocations": [files.located("web", "a", "b")]}),
        files.endpoint_slice("a", "web", [("http", 8080)], ["10.0.0.1"]),
        files.endpoint_slice("b", "web", [("http", 8080)], ["10.0.0.2"]),
    ]
    for number, text in enumerate(texts):
        (root / f"{number}.yaml").write_text(text)
    return root


@pytest.mark.parametrize("target", [(), ("web",), ("shop/web",)])
def test_endpoints(muster: Run, fleet: Path, target: tuple[str, ...]) -> None:
    code, out, errors = muster("export", "endpoints", *target, "--repo", fleet, *NOW, "--listen", "8443")
    assert code == 0, errors
    assert "server 10.0.0.1:8080; # a\n" in out
    assert "server 10.0.0.2:8080 down; # b: no traffic\n" in out
    assert "listen 8443;" in out


def test_what_is_missing_is_said(muster: Run, fleet: Path) -> None:
    (fleet / "8.yaml").unlink()
    code, out, errors = muster("export", "endpoints", "--repo", fleet, *NOW)
    assert code == 0
    assert "return 503" in out
    assert "warning: MultiClusterIngress/shop/web: Service 'web' has no ready address in cluster 'a'" in errors


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [(7, '"spec": {', '"spec": {"unknown": 1, '), (8, "IPv4", "IPv9"), (9, '"addressType":', '"addressType"')],
)
def test_a_configuration_that_would_lose_requests_is_not_printed(
    muster: Run, fleet: Path, number: int, old: str, new: str
) -> None:
    file = fleet / f"{number}.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    code, out, errors = muster("export", "endpoints", "--repo", fleet, *NOW)
    assert (code, out) == (1, "")
    assert "nothing is printed" in errors


def test_an_ingress_that_is_being_deleted_has_no_routes(muster: Run, fleet: Path) -> None:
    body = json.loads((fleet / "7.yaml").read_text())
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (fleet / "7.yaml").write_text(json.dumps(body))
    code, out, _ = muster("export", "endpoints", "--repo", fleet, *NOW)
    assert code == 0
    assert "shop.example.com" not in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("endpoints", "wob"), "there is no MultiClusterIngress 'wob'; did you mean 'web'?"),
        (("endpoints", "other/web"), "there is no MultiClusterIngress 'other/web'"),
        (("endpoints", "--format", "nginks"), "no load balancer is called 'nginks'; did you mean 'nginx'?"),
        (("endpoints", "--listen", "0"), "0 is not in the range"),
        (("objects", "--deletes", "--status"), "give one"),
        (("objects", "remedie"), "no kind is called 'remedie'"),
        (("objects", "remedies/none"), "there is no remedies/none"),
    ],
)
def test_usage(muster: Run, fleet: Path, arguments: tuple[str, ...], complaint: str) -> None:
    code, out, errors = muster("export", *arguments, "--repo", fleet, *NOW)
    assert (code, out) == (2, "")
    assert complaint in errors


def test_objects_are_whole_and_without_what_is_musters_own(muster: Run, fleet: Path) -> None:
    _, rendered, _ = muster("get", "all", "-o", "yaml", "--repo", fleet, *NOW)
    own = [body for body in yaml.safe_load_all(rendered) if "muster.dev/" in json.dumps(body)]
    assert own, "nothing to leave out"
    code, out, errors = muster("export", "objects", "--repo", fleet, *NOW)
    assert code == 0
    assert "not exported: 2 endpointslices, 1 leases: others write them on a hub; name the kind" in errors
    bodies = list(yaml.safe_load_all(out))
    assert "muster" not in out
    by_name = {(body["kind"], body["metadata"]["name"]): body for body in bodies}
    assert ("DisruptionBudget", "default") not in by_name
    assert by_name["ManagedCluster", "dark"]["spec"]["hubAcceptsClient"] is True
    code, out, _ = muster("export", "objects", "--status", "--repo", fleet, *NOW)
    by_name = {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(out)}
    conditions = {one["type"]: one["status"] for one in by_name["ManagedCluster", "dark"]["status"]["conditions"]}
    assert conditions["ManagedClusterConditionAvailable"] == "Unknown"
    assert by_name["Cluster", "b"]["status"]["remedyActions"] == ["TrafficControl"]
    assert by_name["MultiClusterIngress", "web"]["status"]["trafficBlockClusters"] == ["b"]


def test_one_kind_as_a_list_in_json(muster: Run, fleet: Path) -> None:
    code, out, _ = muster("export", "objects", "clusters", "-o", "json", "--repo", fleet, *NOW)
    assert code == 0
    found = json.loads(out)
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert [body["metadata"]["name"] for body in found["items"]] == ["a", "b", "dark"]


def test_objects_of_a_kind_of_ones_own_if_it_is_named(muster: Run, fleet: Path) -> None:
    _, out, _ = muster("export", "objects", "disruptionbudgets", "--repo", fleet, *NOW)
    assert yaml.safe_load(out)["kind"] == "DisruptionBudget"


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_what_is_being_deleted_is_a_list(muster: Run, fleet: Path, output: str) -> None:
    arguments = ("export", "objects", "--deletes", "-o", output, "--repo", fleet, *NOW)
    assert yaml.safe_load(muster(*arguments)[1]) == {"apiVersion": "v1", "kind": "List", "items": []}
    body = json.loads((fleet / "7.yaml").read_text())
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (fleet / "7.yaml").write_text(json.dumps(body))
    assert [one["metadata"]["name"] for one in yaml.safe_load(muster(*arguments)[1])["items"]] == ["web"]
