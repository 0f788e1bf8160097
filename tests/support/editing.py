"""People who edit the files of a living fleet and stage some of them, commit that, think better of it, or check out
another commit. Much of what they write names something that may exist or not."""

from collections.abc import Callable

import yaml

from muster.data.tree import Tree
from tests.support.git import Content
from tests.support.living import CONDITION_POLICY, OCM, REMEDY, Living, cluster, observed

_SET = "cluster.open-cluster-management.io/clusterset"


def _document(api: str, kind: str, name: str, spec: Tree, namespace: str = "") -> str:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return yaml.safe_dump({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})


class Editing(Living):
    """The life of the work tree."""

    def _put(self, files: dict[str, Content], what: str) -> str:
        for path, text in files.items():
            if text is not None or (self.repo.path / path).exists():
                self.repo.write(path, text)
        return what

    def step(self) -> str:
        """What happens in every fleet, a policy with a mistake, or something that names something else."""
        chance = self.chance.random()
        if chance < 0.4:
            return super().step()
        if chance < 0.5:
            return self.a_mistake_in_a_policy()
        happenings: tuple[Callable[[], str], ...] = (
            self.a_set,
            self.a_member,
            self.a_member,
            self.a_selector,
            self.a_selector,
            self.a_named_cluster,
            self.a_binding,
            self.a_staged_rollout,
            self.a_claim,
            self.an_orphan,
            self.a_claim_of_a_pool,
            self.two_kinds_in_one_file,
            self.a_farewell,
            self.a_newcomer,
            self.a_label,
            self.another_label,
        )
        return self.chance.choice(happenings)()

    def a_mistake_in_a_policy(self) -> str:
        when = self.chance.choice(("self.metadata.nam == ''", "self.metadata.name == 1", "true", "size(self.spec) >"))
        policy = CONDITION_POLICY.format(kind="ManagedCluster", when=when, reason="Here", hold="")
        return self._put({f"policies/slip-{self.chance.randint(0, 1)}.yaml": policy}, f"a policy: {when}")

    def a_set(self) -> str:
        name = self.chance.choice(("prod", "test"))
        path, selector = f"sets/{name}.yaml", {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
        text = _document(f"{OCM.rpartition('/')[0]}/v1beta2", "ManagedClusterSet", name, selector)
        return self._put({path: None if (self.repo.path / path).exists() else text}, f"the set {name} comes or goes")

    def a_member(self) -> str:
        name, named = self._any(), self.chance.choice(("prod", "prdo", "test", "default", ""))
        text = cluster(name).replace("region: eu}", f'region: eu, {_SET}: "{named}"}}')
        return self._put({self._path(name): text}, f"{name} names the set {named}")

    def another_label(self) -> str:
        name, key = self._any(), self.chance.choice(("zone", "tier"))
        return self._put({self._path(name): cluster(name).replace("region:", f"{key}:")}, f"{name} has a label {key}")

    def a_selector(self) -> str:
        key = self.chance.choice(("region", "regoin", "zone", "tier"))
        selector: Tree = {"matchLabels": {key: self.chance.choice(("eu", "ap"))}}
        if self.chance.random() < 0.5:
            required = {"predicates": [{"requiredClusterSelector": {"labelSelector": selector}}]}
            named = (
                {"clusterSets": [self.chance.choice(("default", "prod", "prdo"))]} if self.chance.random() < 0.5 else {}
            )
            namespace = self.chance.choice(("apps", "apps", "shop"))
            text = _document(
                f"{OCM.rpartition('/')[0]}/v1beta1", "Placement", "selecting", {**required, **named}, namespace
            )
            return self._put({f"apps/selecting-{namespace}.yaml": text}, f"a Placement selects by {key}, of {named}")
        spec: Tree = {"maxDisrupted": 1, "selector": selector, "domainLabel": self.chance.choice(("region", "zone"))}
        text = _document("muster.dev/v1alpha1", "DisruptionBudget", "selecting", spec)
        return self._put({"policies/selecting.yaml": text}, f"a budget selects by {key}")

    def a_named_cluster(self) -> str:
        name = self.chance.choice((self._any(), "c0", f"c{self.born + 1:03}"))
        text = REMEDY.replace("spec:\n", f"spec:\n  clusterAffinity: {{clusterNames: [{name}]}}\n").replace(
            "{name: r}", "{name: named}"
        )
        gone = self.chance.random() < 0.3
        return self._put({"policies/named.yaml": None if gone else text}, f"a Remedy names {name}, or goes: {gone}")

    def a_binding(self) -> str:
        name = self.chance.choice(("prod", "default"))
        path, namespace = f"apps/binding-{name}.yaml", self.chance.choice(("apps", "shop"))
        text = _document(
            f"{OCM.rpartition('/')[0]}/v1beta2", "ManagedClusterSetBinding", name, {"clusterSet": name}, namespace
        )
        return self._put(
            {path: None if (self.repo.path / path).exists() else text}, f"a binding of {name} in {namespace}"
        )

    def a_staged_rollout(self) -> str:
        first: Tree = {"name": "first", "selector": {"matchLabels": {"region": self.chance.choice(("eu", "us", "ap"))}}}
        rest: list[Tree] = [{"name": "rest"}] if self.chance.random() < 0.5 else []
        spec: Tree = {
            "placementRef": {"name": self.chance.choice(("some", "eu", "other"))},
            "revision": "v1",
            "stages": [first, *rest],
        }
        text = _document("muster.dev/v1alpha1", "Rollout", "staged", spec, "apps")
        gone = self.chance.random() < 0.3
        return self._put({"apps/staged.yaml": None if gone else text}, f"a Rollout with {first}, or goes: {gone}")

    def a_claim(self) -> str:
        """A cluster reports a claim, or a Placement spreads over one."""
        key = self.chance.choice(("zone.example.com", "zone.exmple.com"))
        if self.chance.random() < 0.5:
            name = self._any()
            text = observed(name) + f"  clusterClaims: [{{name: {key}, value: a}}]\n"
            return self._put({f"claims/{name}.yaml": text}, f"{name} claims {key}")
        spread = {"spreadConstraints": [{"topologyKey": key, "topologyKeyType": "Claim", "maxSkew": 1}]}
        text = _document(f"{OCM.rpartition('/')[0]}/v1beta1", "Placement", "spread", {"spreadPolicy": spread}, "apps")
        return self._put({"apps/spread.yaml": text}, f"a Placement spreads over {key}")

    def an_orphan(self) -> str:
        name = self.chance.choice((f"c{self.born + 1:03}", "c0", self._any()))
        spec: Tree = {"clusterName": name, "replicas": 1}
        text = _document("muster.dev/v1alpha1", "NodePool", "orphan", spec, name)
        return self._put({f"orphans/{name}.yaml": text}, f"a NodePool of {name}")

    def a_claim_of_a_pool(self) -> str:
        text = _document("hive.openshift.io/v1", "ClusterClaim", "claim", {"clusterPoolName": "ci"}, "pools")
        return self._put({"pools/claim.yaml": text}, "a ClusterClaim")

    def two_kinds_in_one_file(self) -> str:
        """A policy and a cluster, or a Placement and a cluster."""
        name = self._any()
        policy = CONDITION_POLICY.format(kind="ManagedCluster", when="true", reason="Here", hold="").replace(
            "name: c}", "name: beside}"
        )
        text = cluster(f"{name}-beside", region=self.chance.choice(("eu", "ap"))) + "---\n" + policy
        return self._put(
            {"clusters/beside.yaml": self.chance.choice((text, text, None))}, f"{name}-beside with a policy"
        )

    def commit_or_not(self) -> None:
        """Commit what is there, some of the times; or throw it away; or go to another commit and back."""
        chance = self.chance.random()
        if chance < 0.5:
            self.repo.git("add", "--all")
            self.repo.git("commit", "--quiet", "--allow-empty", "--message", "x")
        elif chance < 0.7:
            self._forget()
        elif chance < 0.8:
            self._forget()
            commits = self.repo.git("rev-list", "--max-count=6", "HEAD").split()
            self.repo.git("reset", "--quiet", "--hard", self.chance.choice(commits))
        self.names = sorted({file.parent.name for file in self.repo.path.glob("clusters/**/cluster.yaml")})

    def _forget(self) -> None:
        self.repo.git("reset", "--quiet", "--hard")
        self.repo.git("clean", "--quiet", "-d", "--force")
