"""docs/act/terraform.md: Terraform provisions a pool that a real `muster watch` decides, through ten claims."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree, dig
from tests.support.forking import search_path
from tests.support.git import clone, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

RECIPE = Path(__file__).parents[3] / "docs/act/terraform"
TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
POOL = """\
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: images}
spec: {releaseImage: x}
---
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: ci, namespace: pools}
spec:
  size: 2
  runningCount: 2
  maxConcurrent: 4
  baseDomain: ci.example.com
  imageSetRef: {name: images}
  platform: {aws: {region: x, credentialsSecretRef: {name: x}}}
"""
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {pools: {externalDependencies: [Secret/pools/x]}}
"""
CLAIM = (
    "apiVersion: hive.openshift.io/v1\nkind: ClusterClaim\nmetadata: {{name: {name}, namespace: pools}}\n"
    "spec: {{clusterPoolName: ci}}\n"
)


class Pool:
    """A bare repository, clones of a person and of the provisioner, and the module."""

    provisioned = ""

    def __init__(self, folder: Path) -> None:
        self.server = new_repository(folder / "server.git", bare=True)
        seed = new_repository(folder / "seed")
        seed.commit({"fleet.yaml": FLEET, "pool.yaml": POOL})
        seed.git("push", "--quiet", str(self.server.path), "HEAD:main")
        self.person = clone(self.server, folder / "person")
        self.fleet = clone(self.server, folder / "fleet")
        self.module = folder / "module"
        self.module.mkdir()
        shutil.copy(RECIPE / "main.tf", self.module)
        self.environ = {
            **self.fleet.environ,
            "PATH": search_path(),
            "TERRAFORM": str(TERRAFORM),
            "CHECKPOINT_DISABLE": "1",
        }
        subprocess.run(
            [str(TERRAFORM), "init", "-input=false"],
            cwd=self.module,
            env=self.environ,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def change(self, files: dict[str, str | None]) -> None:
        """A person's commit, pushed although others push, too."""
        for _ in range(10):
            self.person.git("fetch", "--quiet", "origin")
            self.person.git("reset", "--quiet", "--hard", "origin/main")
            self.person.commit(files)
            try:
                self.person.git("push", "--quiet", "origin", "HEAD:main")
            except AssertionError:  # muster has pushed meanwhile
                continue
            return
        pytest.fail("cannot push")

    def provision(self) -> None:
        """One pass, if muster wants other clusters than in the last one. Its push may lose a race: the next pass
        reports, then."""
        wanted = self.server.git("rev-parse", "--quiet", "--verify", "main:derived/clusterdeployments", check=False)
        if wanted == self.provisioned:
            return
        command = [sys.executable, str(RECIPE / "provision.py"), str(self.fleet.path), str(self.module)]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "'push'" in done.stderr, done.stderr
        self.provisioned = "" if done.returncode else wanted

    def derived(self, plural: str) -> dict[str, Tree]:
        """What muster derived, by name."""
        tip = self.server.tip("main")
        paths = [path for path in self.server.paths(tip) if path.startswith(f"derived/{plural}/")]
        return {Path(path).stem: yaml.safe_load(self.server.git("show", f"{tip}:{path}")) for path in paths}

    def reported(self) -> set[str]:
        return {Path(path).stem for path in self.server.paths("main") if path.startswith("pools/reports/")}

    def assigned(self, claim: str) -> str:
        found = self.derived("clusterclaims").get(claim)
        conditions = dig(found, "status", "conditions") or ()
        ready = any(one["type"] == "ClusterRunning" and one["status"] == "True" for one in conditions)
        return str(dig(found, "spec", "namespace") or "") if ready else ""


@pytest.mark.skipif(TERRAFORM is None, reason="terraform or tofu is not installed")
def test_ten_claims_are_served_and_released(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    served = list[str]()
    job = clone(pool.server, tmp_path / "job")

    def holds(condition: Callable[[], bool]) -> bool:
        pool.provision()
        return condition()

    def serve(claims: list[str]) -> bool:
        return all(map(pool.assigned, claims))

    watch = ("watch", "--repo", str(job.path), "--push", "--interval", "0.5")
    with running(*watch, environ=pool.environ) as process:
        for first in range(0, 10, 2):  # the pool has two clusters ready
            names = [f"claim-{first}", f"claim-{first + 1}"]
            pool.change({f"claims/{name}.yaml": CLAIM.format(name=name) for name in names})
            wait_until(partial(holds, partial(serve, names)), lambda: str(process.lines[-20:]))
            served += map(pool.assigned, names)
            pool.change({f"claims/{name}.yaml": None for name in names})
        wait_until(
            lambda: holds(lambda: len(pool.derived("clusterdeployments")) == 2 and len(pool.reported()) == 2),
            lambda: str(process.lines[-20:]),
        )
    assert len(set(served)) == 10, "no cluster is given out twice"
    state = json.loads((pool.module / "terraform.tfstate").read_text())
    there = {one["index_key"] for one in state["resources"][0]["instances"]}
    assert there == set(pool.derived("clusterdeployments")) == pool.reported()
    assert not there & set(served)
