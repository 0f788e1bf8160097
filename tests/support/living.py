"""A fleet that lives: a real repository whose people, agents and clock do something at random, step after step.

What a run makes of it is compared whole: files, transitions, findings, what is held, pulses, horizon and message.
"""

# ruff: noqa: E501 - documents

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Self

import yaml

from muster.cli.reconcile_result import ReconcileResult
from muster.data.snapshot import Withheld
from muster.data.times import format_time
from muster.data.tree import Tree, mappings_at
from muster.features.reconcile.reconcile import reconcile
from muster.git.agents.listing import local_agent_refs
from muster.git.fastimport import build_commit
from muster.git.landing.commit import advance
from muster.git.memory.pulses import Remembered
from muster.git.repository import Repository, open_repository
from muster.run.question import Question
from muster.run.run import Settled
from muster.run.settle import settle
from muster.run.transitions.transitions import commit_message
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Content, Repo, copy, new_repository
from tests.support.happenings import MORE, adapter_report, payload

OCM = "cluster.open-cluster-management.io/v1"


def cluster(name: str, *, region: str = "eu", accepted: bool = True, **spec: str) -> str:
    more = "".join(f"\n  {key}: {value}" for key, value in spec.items())
    return (
        f"apiVersion: {OCM}\nkind: ManagedCluster\nmetadata:\n  name: {name}\n  labels: {{region: {region}}}\n"
        f"spec:\n  hubAcceptsClient: {str(accepted).lower()}{more}\n"
    )


def lease(name: str, renewed: datetime) -> str:
    return (
        f"apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: managed-cluster-lease, namespace: {name}}}\n"
        f'spec: {{renewTime: "{format_time(renewed)}", leaseDurationSeconds: 60}}\n'
    )


def observed(name: str, *, healthy: bool = True, cpu: int = 8) -> str:
    return (
        f"apiVersion: {OCM}\nkind: ManagedCluster\nmetadata: {{name: {name}}}\nstatus:\n"
        f'  allocatable: {{cpu: "{cpu}"}}\n  capacity: {{cpu: "16"}}\n'
        f'  conditions:\n  - type: ManagedClusterConditionAvailable\n    status: "{healthy}"\n    reason: Said\n'
        f'    message: said\n    lastTransitionTime: "2026-01-01T11:00:00Z"\n'
    )


def report(name: str, generation: int, *, adapter: str = "validation", good: bool = True, at: datetime = NOON) -> str:
    said = str(good)
    return adapter_report(adapter, payload(name, at, adapter=adapter, generation=generation, statuses=(said,) * 3))


def placement(name: str, number: int, *, region: str = "") -> str:
    wanted = (
        f"\n  predicates:\n  - requiredClusterSelector: {{labelSelector: {{matchLabels: {{region: {region}}}}}}}"
        if region
        else ""
    )
    return (
        f"apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: apps}}\n"
        f"spec:\n  clusterSets: [default]\n  numberOfClusters: {number}{wanted}\n"
    )


BINDING = (
    "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\n"
    "metadata: {name: default, namespace: apps}\nspec: {clusterSet: default}\n"
)
TAINT_POLICY = (
    "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {{name: t}}\nspec:\n  target: {{kind: {kind}}}\n"
    "  variables:\n  - {{name: far, expression: \"self.metadata.labels.region == 'ap'\"}}\n"
    '  taints:\n  - {{key: example.com/t, effect: {effect}, when: "{when}"}}\n'
)
ADMISSION = (
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: a}}\nspec:\n"
    "  matchConstraints:\n    resourceRules:\n    - {{apiGroups: [cluster.open-cluster-management.io], apiVersions: ['*'],"
    " operations: [CREATE, UPDATE], resources: [{resource}]}}\n"
    "  validations:\n  - {{expression: \"object.metadata.labels.region != '{refused}'{user}\"}}\n---\n"
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: a}}\n"
    "spec: {{policyName: a, validationActions: [{action}]}}\n"
)
CONDITION_POLICY = (
    "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {{name: c}}\nspec:\n  target: {{kind: {kind}}}\n"
    '  type: Placed\n  rules:\n  - {{name: one, when: "{when}", status: "True", reason: {reason}, message: placed}}\n'
    '  - {{name: two, when: "self.metadata.name.size() > 100", status: "False", reason: Long}}{hold}\n'
)
OUTPUTS = "outputs: [placementdecisions.multicluster.x-k8s.io, clusterprofiles.multicluster.x-k8s.io]"
REMEDY = (
    "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: r}\nspec:\n  decisionMatches:\n"
    '  - clusterConditionMatch: {conditionType: ManagedClusterConditionAvailable, operator: Equal, conditionStatus: "False"}\n'
    "  actions: [TrafficControl]\n"
)


@dataclass
class Living:
    """The fleet, its clock and what chance does next. `more`: what happens besides."""

    repo: Repo
    chance: random.Random
    now: datetime = NOON
    names: list[str] = field(default_factory=list)
    born: int = 0
    undone: list[tuple[str, str]] = field(default_factory=list)
    silent: dict[str, Collection[str]] = field(default_factory=dict)
    ahead: list[Callable[[], str]] = field(default_factory=list)
    works: dict[str, dict[str, str]] = field(default_factory=dict)
    landed: dict[str, str | None] = field(default_factory=dict)
    more: Sequence[Callable[["Living"], str]] = ()

    @classmethod
    def small(cls, folder: Path, seed: int, count: int = 16) -> Self:
        """A fleet of ManagedClusters, half of them with agents on refs of their own, placements and a Remedy."""
        made = cls(new_repository(folder), random.Random(seed))
        files: dict[str, Content] = {
            "fleet.yaml": "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\nspec: {"
            + OUTPUTS
            + "}\n",
            "apps/binding.yaml": BINDING,
            "apps/some.yaml": placement("some", 3),
            "apps/eu.yaml": placement("eu", 5, region="eu"),
            "policies/remedy.yaml": REMEDY,
        }
        for _ in range(count):
            files |= made._newcomer()
        made.repo.commit(files)
        for name in made.names:
            made._speak(name)
        return made

    @classmethod
    def example(cls, folder: Path, seed: int) -> Self:
        """The example fleet."""
        made = cls(new_repository(folder), random.Random(seed))
        made.repo.commit(
            {str(file.relative_to(EXAMPLE)): file.read_bytes() for file in sorted(EXAMPLE.rglob("*")) if file.is_file()}
        )
        made.names = sorted({file.parent.name for file in EXAMPLE.glob("clusters/*/*/cluster.yaml")})
        return made

    def copy(self, folder: Path) -> Self:
        """The same fleet at the same instant, with the same chance, in a repository of its own."""
        made = deepcopy(replace(self))
        made.repo = copy(self.repo.path, folder)
        return made

    @cached_property
    def repository(self) -> Repository:
        """The opened repository."""
        return open_repository(self.repo.path, self.repo.environ)

    # -- asking and committing

    def tip(self) -> str:
        """The head of the branch."""
        return self.repo.tip("main")

    def question(self) -> Question:
        repository, tip = self.repository, self.tip()
        heard = local_agent_refs(repository)
        if self.silent:
            withheld = tuple(Withheld(remote, "it hangs", frozenset(names)) for remote, names in self.silent.items())
            heard = replace(heard, agents=replace(heard.agents, withheld=withheld))
        return Question(repository, tip, heard, self.now, Remembered(repository, listed=heard.own), most=2)

    def whole(self) -> dict[str, object]:
        """What a run says that looks at the whole fleet."""
        return told(self.cold())

    def cold(self) -> Settled:
        """What a run comes to that looks at the whole fleet."""
        asked = self.question()
        snapshot = asked.snapshot()
        return settle(snapshot, asked.now, asked.remembered.memory)

    def land(self, settled: Settled) -> None:
        """Commit what follows."""
        repository, tip = self.repository, self.tip()
        if settled.files:
            self._changes_content(settled.files)
            files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
            commit = build_commit(repository, files, commit_message(settled.last, settled.changes), tip)
            advance(repository, branch="main", expected=tip, commit=commit)

    def reconcile(self) -> ReconcileResult:
        """Let a run decide the fleet and commit what follows, with its record."""
        return reconcile(self.repository, lambda: self.now, branch="main", attempts=(1,), back_in_time=True)

    def _changes_content(self, files: Mapping[str, str | None]) -> None:
        """No file that a run wrote changes in nothing but an order or a form."""
        for path, text in files.items():
            before = self.landed.get(path)
            if before and text and path.endswith(".yaml") and (self.repo.path / path).exists():
                same_as_landed = (self.repo.path / path).read_text(encoding="utf-8") == before
                assert not same_as_landed or [*yaml.safe_load_all(before)] != [*yaml.safe_load_all(text)], path
        self.landed.update(files)

    # -- what happens

    def step(self) -> str:
        """Let something happen; return what it was."""
        happenings: list[Callable[[], str]] = [
            self.heartbeats,
            self.heartbeats,
            self.heartbeats,
            self.time_passes,
            self.a_label,
            self.a_status,
            self.a_newcomer,
            self.a_farewell,
            self.a_move,
            self.an_acceptance,
            self.a_report,
            self.a_placement,
            self.a_policy,
            self.a_setting,
            self.nothing,
            self.a_label,
            self.a_status,
            self.a_report,
            self.meddling,
            self.two_in_one_file,
            self.a_return,
            self.a_typo_in_a_spec,
            self.an_agent_leaves,
            self.a_score,
            self.a_node_pool,
            self.a_certificate,
            self.a_taint_policy,
            self.a_taint_policy,
            self.a_condition_policy,
            self.a_condition_policy,
            self.a_policy,
            self.a_budget,
            self.an_admission_policy,
            self.many_leave,
            self.many_are_let_go,
            self.many_are_let_go,
            self.approvals_are_asked_for,
            self.an_approval,
            self.an_approval,
            self.a_calendar,
            *(partial(happening, self) for happening in (*MORE, *self.more)),
        ]
        if self.ahead and self.chance.random() < 0.8:
            return self.ahead.pop(0)()
        if self.chance.random() < 0.02:
            return self.a_slip()
        if self.undone and self.chance.random() < 0.3:
            return self.a_return()
        return self.chance.choice(happenings)()

    def calm(self) -> Sequence[Callable[[], str]]:
        """What happens every minute."""
        return (self.a_renewal, self.a_label, self.a_status, self.a_report, self.a_report, self.a_document)

    def a_renewal(self) -> str:
        self.now += timedelta(seconds=self.chance.choice((0, 1, 10)))
        name = self._any()
        return self._put({f"clusters/{name}/lease.yaml": lease(name, self.now)}, f"{name} renews its lease")

    def heartbeats(self) -> str:
        self.now += timedelta(seconds=self.chance.choice((1, 10, 60)))
        some = self.chance.sample(self.names, self.chance.randint(1, max(1, len(self.names) // 2)))
        for name in some:
            self._speak(name)
        return f"heartbeats of {some}"

    def time_passes(self) -> str:
        self.now += timedelta(seconds=self.chance.choice((1, 61, 301, 400, 3600, 90_000)))
        return f"it is {self.now}"

    def a_label(self) -> str:
        name = self._any()
        region = self.chance.choice(("eu", "us", "ap"))
        return self._put({self._path(name): cluster(name, region=region)}, f"{name} is in {region}")

    def an_acceptance(self) -> str:
        name = self._any()
        accepted = self.chance.random() < 0.6
        return self._put({self._path(name): cluster(name, accepted=accepted)}, f"{name} accepted: {accepted}")

    def a_status(self) -> str:
        name = self._any()
        healthy, cpu = self.chance.random() < 0.5, self.chance.choice((4, 8))
        self._speak(name, observed(name, healthy=healthy, cpu=cpu))
        return f"{name} healthy: {healthy}"

    def a_newcomer(self) -> str:
        files = self._newcomer()
        self._speak(self.names[-1])
        return self._put(files, f"{self.names[-1]} joins")

    def a_farewell(self) -> str:
        if len(self.names) < 6:
            return self.nothing()
        name = self._any()
        path = self._path(name)
        self.undone.append((path, (self.repo.path / path).read_text()))
        self.names.remove(name)
        return self._put({path: None}, f"{name} is removed")

    def many_are_let_go(self) -> str:
        """More than may go at once, named by the commit that removes them."""
        return self.many_leave(named=True)

    def many_leave(self, *, named: bool = False) -> str:
        """More than may go at once."""
        if len(self.names) < 8:
            return self.nothing()
        some = self.chance.sample(self.names, 4)
        gone: dict[str, Content] = {self._path(name): None for name in some}
        for path in gone:
            self.undone.append((path, (self.repo.path / path).read_text()))
        self.names = [name for name in self.names if name not in some]
        if not named:
            return self._put(gone, f"{sorted(gone)} are removed")
        self.repo.commit(gone, f"Let them go\n\nMuster-Allow-Removal: {', '.join(sorted(some))}")
        return f"{sorted(gone)} are let go"

    def a_return(self) -> str:
        if not self.undone:
            return self.nothing()
        path, text = self.undone.pop()
        name = Path(path).parent.name
        if name not in self.names:
            self.names.append(name)
        return self._put({path: text}, f"{path} is back")

    def a_move(self) -> str:
        name = self._any()
        old = self._path(name)
        new = f"clusters/moved-{self.chance.randint(0, 3)}/{name}/cluster.yaml"
        text = (self.repo.path / old).read_text()
        return self._put({old: None, new: text} if old != new else {}, f"{old} moves to {new}")

    def a_report(self) -> str:
        name = self._any()
        adapter, good = self.chance.choice(("validation", "dns")), self.chance.random() < 0.7
        text = report(name, self.chance.randint(1, 3), adapter=adapter, good=good, at=self.now)
        return self._put({f"reports/{name}-{adapter}.yaml": text}, f"{adapter} reports of {name}: {good}")

    def a_placement(self) -> str:
        name = self.chance.choice(("some", "eu", "other"))
        text = None if self.chance.random() < 0.2 and name == "other" else placement(name, self.chance.randint(1, 9))
        if text is None and not (self.repo.path / "apps/other.yaml").exists():
            return self.nothing()
        return self._put({f"apps/{name}.yaml": text}, f"placement {name}")

    def a_policy(self) -> str:
        status = self.chance.choice(("False", "Unknown", "True"))
        return self._put({"policies/remedy.yaml": REMEDY.replace('"False"', f'"{status}"')}, f"remedy on {status}")

    def a_taint_policy(self) -> str:
        if self.chance.random() < 0.2 and (self.repo.path / "policies/taint.yaml").exists():
            return self._put({"policies/taint.yaml": None}, "no more taint policy")
        when = self.chance.choice(
            (
                "self.metadata.labels.region == 'us'",
                "self.metadata.labels.region == 'eu'",
                "false",
                "self.metadata.labels.zone == 'a'",
                "status(conditions, 'ManagedClusterConditionAvailable') == 'False'",
                "status(reported, 'Ready') == 'False'",
                "now > timestamp('2026-01-01T12:30:00Z')",
                "'zone' in self.metadata.labels",
                "variables.far",
                "calendar('hours')",
                "!window('12:05-13:00; 14:00-20:00 in Europe/Berlin')",
            )
        )
        kind = self.chance.choice(("ManagedCluster", "ManagedCluster", "Cluster"))
        effect = self.chance.choice(("NoSelect", "PreferNoSelect")) if kind == "ManagedCluster" else "NoSchedule"
        return self._put(
            {"policies/taint.yaml": TAINT_POLICY.format(kind=kind, when=when, effect=effect)}, f"taint when {when}"
        )

    def a_calendar(self) -> str:
        """Windows that a taint policy may ask for; now and then with a mistake."""
        if self.chance.random() < 0.2 and (self.repo.path / "calendar.yaml").exists():
            return self._put({"calendar.yaml": None}, "no more calendar")
        window = self.chance.choice(('from: "12:01"', 'days: Fri, to: "12:30"', "days: Sat-Mon", "days: Fry", ""))
        zone = self.chance.choice(("UTC", "Europe/Berlin", "-03:30"))
        spec = f'{{timeZone: "{zone}", windows: [{{{window}}}], except: ["2026-01-02"]}}'
        text = f"apiVersion: muster.dev/v1alpha1\nkind: Calendar\nmetadata: {{name: hours}}\nspec: {spec}\n"
        return self._put({"calendar.yaml": text}, f"Calendar {spec}")

    def a_condition_policy(self) -> str:
        when = self.chance.choice(
            (
                "self.metadata.labels.region == 'us'",
                "self.metadata.labels.region == 'eu'",
                "accepted",
                "generation > 1",
                "reports.size() > 0",
                "has(lease.spec)",
                "'ManagedClusterConditionAvailable' in conditions",
            )
        )
        kind = self.chance.choice(("ManagedCluster", "ManagedCluster", "ManagedCluster", "NodePool"))
        hold = self.chance.choice(("", "", '\n  holdFor: {"True": 60s}'))
        text = CONDITION_POLICY.format(kind=kind, when=when, reason=self.chance.choice("AB"), hold=hold)
        return self._put({"policies/condition.yaml": text}, f"condition when {when}, of {kind}{hold}")

    def an_admission_policy(self) -> str:
        if self.chance.random() < 0.4 and (self.repo.path / "policies/admission.yaml").exists():
            return self._put({"policies/admission.yaml": None}, "no more admission policy")
        refused = self.chance.choice(("ap", "us"))
        resource = self.chance.choice(("managedclusters", "managedclusters", "managedclusters", "others"))
        user = self.chance.choice(("", "", " || request.userInfo.username == 'ada@example.com'"))
        text = ADMISSION.format(
            refused=refused, resource=resource, action=self.chance.choice(("Deny", "Warn")), user=user
        )
        if resource == "others":  # such a policy makes every run whole, so it must not stay
            gone = partial(self._put, {"policies/admission.yaml": None}, "no more admission policy")
            self.ahead += [self.a_label, self.a_label, gone]
        return self._put({"policies/admission.yaml": text}, f"{resource} must not be in {refused}")

    def a_budget(self) -> str:
        most = self.chance.choice(("0", "1", "20%", "90%"))
        text = (
            "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
            f"spec: {{maxDisrupted: {most}, ignoreUpTo: 0, cooldown: 1m}}\n"
        )
        return self._put({"policies/budget.yaml": text}, f"budget of {most}")

    def approvals_are_asked_for(self) -> str:
        """From now on effects wait for a person."""
        effects = self.chance.choice(("[taint]", "[remedy, removal]", "[taint, remedy, removal, deletion]"))
        spec = f"{{approval: {{topics: [{{name: careful, effects: {effects}}}]}}}}"
        text = f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: small}}\nspec: {spec}\n"
        return self._put({"fleet.yaml": text}, f"Fleet {spec}")

    def an_approval(self) -> str:
        """A person approves one half of what waits."""
        entries = [
            {
                "object": "/".join(
                    (body["kind"], *filter(None, (body["metadata"].get("namespace"),)), body["metadata"]["name"])
                ),
                "effect": entry["effect"],
                "since": entry["since"],
            }
            for file in sorted((self.repo.path / "derived").rglob("*.yaml"))
            if "projections" not in file.parts
            if (body := yaml.load(file.read_text(), Loader=yaml.BaseLoader))
            for entry in mappings_at(body, "status", "muster", "held")
            if "since" in entry
        ]
        topic = self.chance.choice(("careful", "freeze-one", "freeze-two"))
        said: Tree = {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Approval",
            "metadata": {"name": topic},
            "spec": {"effects": [entry for entry in entries if self.chance.random() < 0.5]},
        }
        return self._put({f"approvals/{topic}.yaml": yaml.safe_dump(said)}, f"{len(said['spec']['effects'])} approved")

    def a_setting(self) -> str:
        spec = self.chance.choice(
            (
                "{}",
                "{registration: {autoAccept: true}}",
                "{heartbeats: {maxPerSecond: 0.1}}",
                "{policyParams: {x: {y: 1}}}",
                "{adapters: {ManagedCluster: [validation]}}",
                "{" + OUTPUTS + "}",
            )
        )
        text = f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: small}}\nspec: {spec}\n"
        return self._put({"fleet.yaml": text}, f"Fleet {spec}")

    def a_slip(self) -> str:
        path = self._path(self._any())
        text = (self.repo.path / path).read_text()
        self.undone.append((path, text))
        broken = self.chance.choice(("", text.replace("ManagedCluster", "ManagedClustr"), text + "  x: [", "a: b\n"))
        return self._put({path: broken}, f"{path} is not whole")

    def a_typo_in_a_spec(self) -> str:
        name = self._any()
        path = self._path(name)
        self.undone.append((path, (self.repo.path / path).read_text()))
        return self._put({path: cluster(name, leaseDurationSeconds="soon")}, f"{name} has an error")

    def meddling(self) -> str:
        derived = sorted(self.repo.path.glob("derived/*/**/*.yaml"))
        if not derived:
            return self.nothing()
        path = str(self.chance.choice(derived).relative_to(self.repo.path))
        return self._put({path: self.chance.choice((None, "x: [", "kind: Other\n"))}, f"{path} is meddled with")

    def two_in_one_file(self) -> str:
        one, two = self._any(), self._any()
        if one == two:
            return self.nothing()
        text = f"{lease(one, self.now)}---\n{lease(two, self.now)}"
        return self._put({f"leases/{one}-{two}.yaml": text}, f"one file speaks of {one} and {two}")

    def an_agent_leaves(self) -> str:
        name = self._any()
        if not self.repo.git("for-each-ref", f"refs/heads/agents/{name}"):
            return self.nothing()
        self.repo.git("update-ref", "-d", f"refs/heads/agents/{name}")
        return f"the ref of {name} is gone"

    def a_score(self) -> str:
        name = self._any()
        text = (
            "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\n"
            f"metadata: {{name: load, namespace: {name}}}\nstatus: {{scores: [{{name: load, value: {self.chance.randint(-9, 9)}}}]}}\n"
        )
        return self._put({f"scores/{name}.yaml": text}, f"a score of {name}")

    def a_node_pool(self) -> str:
        name, other = self._any(), self._any()
        text = (
            f"apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: workers, namespace: {name}}}\n"
            f"spec: {{clusterName: {other}, replicas: {self.chance.randint(1, 3)}}}\n"
        )
        return self._put({f"pools/{name}.yaml": text}, f"a node pool of {other} in {name}")

    def a_certificate(self) -> str:
        name = self._any()
        text = (
            f"apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata:\n  name: {self.chance.choice((name, 'request'))}\n"
            f"  labels: {{open-cluster-management.io/cluster-name: {name}}}\n"
            "spec: {request: aGVsbG8=, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}\n"
        )
        return self._put({f"requests/{name}.yaml": text}, f"a request of {name}")

    def a_document(self) -> str:
        return self._put({"docs/notes.md": f"# {self.chance.random()}\n"}, "a document")

    def a_remote_falls_silent_or_answers(self, *remotes: str) -> str:
        """A further repository does not answer, which speaks for some of the clusters; or it answers again."""
        remote = self.chance.choice(remotes or ("eu", "us"))
        if self.silent.pop(remote, None) is not None:
            return f"{remote} answers"
        speaking = sorted(self.repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/agents").split())
        self.silent[remote] = self.chance.sample(speaking, max(1, len(speaking) // 3))
        return f"{remote} is silent, of which {self.silent[remote]}"

    def nothing(self) -> str:
        return "nothing"

    # -- what happens by name

    def put(self, path: str, text: str) -> str:
        """A person commits a file."""
        return self._put({path: text}, path)

    def puts(self, files: dict[str, Content], what: str) -> str:
        """A person commits files; None removes one."""
        return self._put(files, what)

    def speaks(self, name: str) -> None:
        """The agent of a cluster renews its lease."""
        self._speak(name)

    def reports_work(self, name: str, work: str, text: str) -> None:
        """The agent of a cluster reports a work."""
        if name.startswith("c") and int(name[1:4]) % 2:
            self.works.setdefault(name, {})[f"works/{work}.yaml"] = text
            self._speak(name)
        else:
            self.repo.commit({f"reports/works/{name}-{work}.yaml": text})

    def says_ill(self, name: str) -> None:
        """The agent of a cluster says that it is not available."""
        self._speak(name, observed(name, healthy=False))

    # -- how

    def _any(self) -> str:
        return self.chance.choice(self.names)

    def _newcomer(self) -> dict[str, Content]:
        self.born += 1
        name = f"c{self.born:03}"
        self.names.append(name)
        files: dict[str, Content] = {
            f"clusters/{name}/cluster.yaml": cluster(name, region=self.chance.choice(("eu", "us")))
        }
        return files

    def _path(self, name: str) -> str:
        found = sorted(self.repo.path.glob(f"clusters/*/{name}/cluster.yaml")) + sorted(
            self.repo.path.glob(f"clusters/{name}/cluster.yaml")
        )
        if not found:
            return f"clusters/{name}/cluster.yaml"
        return str(found[0].relative_to(self.repo.path))

    def _put(self, files: dict[str, Content], what: str) -> str:
        self.repo.commit(
            {path: text for path, text in files.items() if text is not None or (self.repo.path / path).exists()}
        )
        return what

    def _speak(self, name: str, status: str = "") -> None:
        """An agent renews its lease: every other one on its own ref."""
        text = status or observed(name)
        if name.startswith("c") and int(name[1:4]) % 2:
            self._push(name, {"lease.yaml": lease(name, self.now), "observed.yaml": text})
        else:
            folder = str(Path(self._path(name)).parent)
            self.repo.commit({f"{folder}/lease.yaml": lease(name, self.now), f"{folder}/observed.yaml": text})

    def _push(self, name: str, files: dict[str, str]) -> None:
        self.repo.commit_to(f"refs/heads/agents/{name}", {**files, **self.works.get(name, {})})


def told(settled: Settled) -> dict[str, object]:
    """All that a run says, in words that can be compared."""
    run = settled.last
    return {
        "files": dict(settled.files),
        "changes": [str(change) for change in settled.changes],
        "message": commit_message(run, settled.changes) if settled.files else "",
        "findings": settled.findings,
        "held": run.held,
        "horizon": run.horizon,
        "pulses": run.pulses,
        "rested": settled.rested,
    }
