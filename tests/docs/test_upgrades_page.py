"""The page about upgrades: its policies are sound, its test passes, and its Rollout goes through two clusters."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from muster.data.times import format_time
from muster.data.tree import Tree, dig
from tests.rules.scores.test_stage import START, ScoredFleet
from tests.support.commandline import Run
from tests.support.git import new_repository

PAGE = Path(__file__).parents[2] / "docs" / "upgrades.md"
#: A Thursday, in the window of the page.
EVENING = datetime(2026, 1, 1, 19, 30, tzinfo=UTC)


class UpgradedFleet(ScoredFleet):
    """Two clusters, `a` the canary, with the files of the page."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        text = PAGE.read_text(encoding="utf-8")
        self.files = dict(re.findall(r"```yaml (policies/\S+)\n(.*?)```", text, re.DOTALL))
        for path, body in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(body, encoding="utf-8")
        self.write(
            "placement.yaml",
            {
                "apiVersion": "cluster.open-cluster-management.io/v1beta1",
                "kind": "Placement",
                "metadata": {"name": "everything", "namespace": "fleet"},
                "spec": {},
            },
        )
        self.write(
            "fleet-binding.yaml",
            {
                "apiVersion": "cluster.open-cluster-management.io/v1beta2",
                "kind": "ManagedClusterSetBinding",
                "metadata": {"name": "default", "namespace": "fleet"},
                "spec": {"clusterSet": "default"},
            },
        )
        for name in "ab":
            self.runs(name, "v1.31.9")

    def runs(self, name: str, version: str) -> None:
        """Its agent reports a version, and renews its Lease for longer than the test takes."""
        body = yaml.safe_load((self.root / f"clusters/{name}.yaml").read_text())
        body["metadata"]["labels"]["canary"] = str(name == "a").lower()
        body["status"]["version"] = {"kubernetes": version}
        self.write(f"clusters/{name}.yaml", body)
        lease = yaml.safe_load((self.root / f"leases/{name}.yaml").read_text())
        lease["spec"]["renewTime"] = format_time(START + timedelta(days=9))
        self.write(f"leases/{name}.yaml", lease)

    def wanted(self, folder: str, *path: str | int) -> dict[str, Tree]:
        """A field of what a Projection has written, by cluster."""
        files = sorted((self.root / f"derived/projections/{folder}").glob("*.yaml"))
        found: dict[str, Tree] = {}
        for file in files:
            value = yaml.safe_load(file.read_text())
            for step in path:
                value = value[step]
            found[file.stem] = value
        return found

    def rolled_out(self) -> str:
        body = yaml.safe_load((self.root / "derived/rollouts/fleet/kubernetes.yaml").read_text())
        return str(next(c["reason"] for c in dig(body, "status", "conditions") if c["type"] == "RolledOut"))


def test_the_page_upgrades_a_canary_and_then_the_rest(tmp_path: Path) -> None:
    fleet = UpgradedFleet(tmp_path)
    evening = int((EVENING - START).total_seconds())
    assert fleet.at(3600).findings == []
    assert fleet.rolled_out() == "Waiting", "no window is open"
    fleet.at(evening)
    assert fleet.wanted("curators", "spec", "upgrade", "desiredUpdate") == {"a": "1.32.4"}
    desired = ("spec", "resources", 0, "spec", "desiredUpdate", "version")
    assert fleet.wanted("hive-upgrades", *desired) == {"a": "1.32.4"}
    fleet.runs("a", "v1.32.4")
    fleet.at(evening + 3600)
    assert fleet.rolled_out() == "Soaking"
    monday = evening + 4 * 24 * 3600
    fleet.at(monday)
    assert fleet.wanted("curators", "spec", "upgrade", "desiredUpdate") == {"a": "1.32.4", "b": "1.32.4"}
    fleet.runs("b", "v1.32.4")
    fleet.at(monday + 600)
    assert fleet.rolled_out() == "Complete"


def test_a_cluster_that_is_too_far_behind_stops_it(tmp_path: Path) -> None:
    fleet = UpgradedFleet(tmp_path)
    fleet.runs("a", "v1.30.2")
    evening = int((EVENING - START).total_seconds())
    fleet.at(evening)
    fleet.at(evening + 1)
    assert fleet.rolled_out() == "Stopped"


def test_its_policies_pass_and_a_skipped_minor_version_is_refused(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    fleet = UpgradedFleet(repo.path)
    code, out, _ = muster("test", "--repo", str(fleet.root), "--coverage")
    assert code == 0, out
    assert "100.0 % of   6 branches  Rollout/fleet/kubernetes" in out
    files = sorted(fleet.root.rglob("*.yaml"))
    repo.commit({str(file.relative_to(fleet.root)): file.read_bytes() for file in files})
    path = fleet.root / "policies/upgrade.yaml"
    path.write_text(fleet.files["policies/upgrade.yaml"].replace("1.32.4", "1.34.0"), encoding="utf-8")
    code, out, errors = muster("validate", "--repo", str(fleet.root), "--base", "HEAD")
    assert code == 1
    assert "Kubernetes is upgraded by one minor version at a time." in out + errors
