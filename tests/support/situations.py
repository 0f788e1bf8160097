"""Situations in which something waits: a small fleet in a repository, reconciled for real at each instant.

A situation says what is asked for, and for each way that is expected the files with which people or agents go it. The
files are written here, not by what suggests the way.
"""

# ruff: noqa: E501 - documents

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as with_default
from datetime import datetime, timedelta
from pathlib import Path

from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_DEPLOYMENT,
    MANAGED_CLUSTER,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT,
)
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.assemble import assemble
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.rules.stages import ROLLOUTS
from muster.run.run import Settled
from muster.run.settle import settle
from tests.support.example import NOON
from tests.support.git import Content, Repo, new_repository
from tests.support.living import BINDING, CONDITION_POLICY, REMEDY, cluster, lease, observed, placement, report

NAMES = tuple(f"c{number}" for number in range(5))
Edits = Mapping[str, Content]
#: Returns the derived part of an object.
Look = Callable[[ObjectId], Tree]
AVAILABLE = MANAGED_CLUSTER.headline
ACTION = "remedy TrafficControl"
#: After five minutes of silence a cluster is Unknown.
LATER = timedelta(minutes=2)


def snapshot(repo: Repo) -> CommitSnapshot:
    repository = open_repository(repo.path, repo.environ)
    heard = local_agent_refs(repository)
    return CommitSnapshot(repository, repo.tip(), heard.refs, heard.agents)


def reconcile(repo: Repo, now: datetime) -> Settled:
    """Decide and commit at an instant."""
    settled = settle(snapshot(repo), now)
    if settled.files:
        repo.commit(dict(settled.files))
    return settled


def derived(repo: Repo, id_: ObjectId) -> Tree:
    """The derived part of an object in the last commit; None if there is none."""
    return assemble(snapshot(repo)).previous.get(id_)


def beats(now: datetime, silent: Sequence[str] = ()) -> dict[str, Content]:
    return {f"clusters/{name}/lease.yaml": lease(name, now) for name in NAMES if name not in silent}


@dataclass(frozen=True)
class Situation:
    """`before`: the fleet when all is well, beyond its clusters; `happens`: what changes two minutes later; `object` and
    `field`: what is asked for then. `holds`: is it so? `ways`: the files for each way; `alone`, `renewing`: how long waiting takes, without
    and with renewals. `silent` agents stop at the start; `after`: how much later it is asked."""

    object: ObjectId
    field: str
    ways: Mapping[str, Edits]
    holds: Callable[[Look], bool]
    before: Edits = with_default(default_factory=dict)
    happens: Edits = with_default(default_factory=dict)
    alone: timedelta | None = None
    renewing: timedelta | None = None
    silent: tuple[str, ...] = ()
    after: timedelta = LATER
    steps: tuple[tuple[timedelta, Edits], ...] = ()

    @property
    def now(self) -> datetime:
        return NOON + self.after

    def begin(self, folder: Path) -> Repo:
        """Live until the instant at which it is asked."""
        repo = new_repository(folder)
        files: dict[str, Content] = {"apps/binding.yaml": BINDING}
        for name in NAMES:
            files |= {
                f"clusters/{name}/cluster.yaml": cluster(name),
                f"clusters/{name}/observed.yaml": observed(name),
            }
        repo.commit({**files, **beats(NOON), **self.before})
        reconcile(repo, NOON)
        for offset, edits in (*self.steps, (self.after, self.happens)):
            repo.commit({**beats(NOON + offset, self.silent), **edits})
            reconcile(repo, NOON + offset)
        return repo


def bad(*names: str) -> dict[str, Content]:
    """Clusters that report that they are not available."""
    return {f"clusters/{name}/observed.yaml": observed(name, healthy=False) for name in names}


def fleet(spec: str) -> str:
    return f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec: {{{spec}}}\n"


def allowed(text: str, now: datetime) -> str:
    """An object whose disruption is allowed for ten minutes."""
    until = format_time(now + timedelta(minutes=10))
    name = text.partition("metadata:")[2]
    head = "metadata: {" if name.startswith(" {") else "metadata:\n  "
    note = f'annotations: {{muster.dev/allow-disruption: "until {until}: tested"}}'
    return text.replace(head, f"{head}{note}, " if head.endswith("{") else f"{head}{note}\n  ", 1)


def approval(object_: str, effect: str, since: datetime, name: str = "yes") -> str:
    entry = f'{{object: {object_}, effect: "{effect}", since: "{format_time(since)}"}}'
    return (
        f"apiVersion: muster.dev/v1alpha1\nkind: Approval\nmetadata: {{name: {name}}}\nspec:\n  effects:\n  - {entry}\n"
    )


def budget(spec: str) -> str:
    return f"apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {{name: default}}\nspec: {{{spec}}}\n"


def rollout(spec: str, revision: str = "v2") -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: Rollout\nmetadata: {name: web, namespace: apps}\n"
        f"spec: {{placementRef: {{name: web}}, revision: {revision}, {spec}}}\n"
    )


def _calendar(windows: str) -> str:
    return (
        f"apiVersion: muster.dev/v1alpha1\nkind: Calendar\nmetadata: {{name: hours}}\nspec: {{windows: [{windows}]}}\n"
    )


def _pool(spec: str) -> str:
    platform = "{aws: {region: eu-1, credentialsSecretRef: {name: creds}}}"
    return (
        "apiVersion: hive.openshift.io/v1\nkind: ClusterPool\nmetadata: {name: ci, namespace: apps}\nspec: "
        f"{{baseDomain: example.com, imageSetRef: {{name: v1}}, platform: {platform}, {spec}}}\n"
    )


TOPIC = "approval: {topics: [{name: care, effects: [remedy]}]}"
FREEZE = 'freezes: [{name: year-end, period: "2026-01-01T11:00:00Z/2026-01-01T13:00:00Z", holds: [remedies]}]'
C0, WEB = MANAGED_CLUSTER.id("c0"), ROLLOUT.id("web", "apps")
WHEN = NOON + LATER
TIGHT = "maxDisrupted: 1, ignoreUpTo: 0"
EMPTY = fleet("")
PLACED = {"apps/web.yaml": placement("web", 3)}
ONE = "strategy: {type: Progressive, progressive: {maxConcurrency: 1%s}}"
GATE = "gate: [{name: g, expression: \"'app' in self.metadata.?annotations.orValue({}) && self.metadata.annotations['app'] == rollout.revision\"%s}], "


def _old(spec: str) -> dict[str, Content]:
    """A Rollout whose first revision all clusters have."""
    return {**PLACED, "apps/rollout.yaml": rollout(spec, "v1")}


def _has_action(look: Look) -> bool:
    return "TrafficControl" in (dig(look(C0), "status", "remedyActions") or ())


def _chooses(name: str) -> Callable[[Look], bool]:
    return lambda look: name in str(look(PLACEMENT_DECISION.id("some-decision-1", "apps")))


def _is(type_: str, status: str, id_: ObjectId = C0) -> Callable[[Look], bool]:
    def holds(look: Look) -> bool:
        conditions = mappings_at(look(id_), "status", "conditions")
        return any(one["type"] == type_ and one["status"] == status for one in conditions)

    return holds


def _with_revision(*names: str, revision: str = "v2") -> Callable[[Look], bool]:
    """Do these clusters have the revision, or any if none is named?"""

    def holds(look: Look) -> bool:
        entries = {name: dig(look(MANAGED_CLUSTER.id(name)), *ROLLOUTS, "apps/web", "revision") for name in NAMES}
        return any(entries[name] == revision for name in names or NAMES)

    return holds


_BUDGET = budget(TIGHT)
_REMEDY_FREE = fleet("approval: {topics: []}")
_LABELLED = (
    "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {name: size}\nspec:\n  target: {kind: ManagedCluster}\n"
    "  type: Large\n  params: {least: 20}\n  rules:\n"
    "  - {name: far, when: \"self.metadata.labels.region == 'ap'\", status: 'True', reason: Far, message: far}\n"
    "  - {name: large, when: \"int(self.status.allocatable.cpu) >= params.least\", status: 'True', reason: Large, message: large}\n"
    "  - {name: small, status: 'False', reason: Small, message: small}\n"
)
_INGRESS = (
    "apiVersion: networking.karmada.io/v1alpha1\nkind: MultiClusterIngress\nmetadata: {name: shop, namespace: apps}\n"
    "spec: {defaultBackend: {service: {name: cart, port: {number: 80}}}}\n"
    "status: {serviceLocations: [{name: cart, clusters: [c0, c1]}]}\n"
)
_SHOP = MULTI_CLUSTER_INGRESS.id("shop", "apps")
_SOME = PLACEMENT.id("some", "apps")
_TAINTED = cluster("c4", taints="[{key: k, effect: NoSelect}]")
_CI1 = CLUSTER_DEPLOYMENT.id("ci-1", "ci-1")
_CARE = "approval: {topics: [{name: care, effects: [deletion]}]}"
_EXTERNAL = "pools: {externalDependencies: [Secret/apps/creds, ClusterImageSet/v1]}"
_SEARCH = PLACEMENT.id("search", "apps")
_MOVES = 'freezes: [{name: year-end, period: "2026-01-01T11:00:00Z/2026-01-01T12:30:00Z", holds: [placements]}]'
_TOLERANT = "  tolerations:\n  - {key: k, operator: Exists}\n"


SITUATIONS: Mapping[str, Situation] = {
    # -- clusters that are not chosen
    "more clusters": Situation(
        _SOME,
        "c4",
        {"numberOfClusters 5": {"apps/some.yaml": placement("some", 5)}},
        _chooses("c4"),
        before={"apps/some.yaml": placement("some", 2)},
    ),
    "tainted": Situation(
        _SOME,
        "c4",
        {
            "remove its taint k:NoSelect": {"clusters/c4/cluster.yaml": cluster("c4")},
            "tolerate k": {"apps/some.yaml": placement("some", 9) + _TOLERANT},
        },
        _chooses("c4"),
        before={"apps/some.yaml": placement("some", 9), "clusters/c4/cluster.yaml": _TAINTED},
    ),
    "not selected": Situation(
        _SOME,
        "c4",
        {"remove predicates": {"apps/some.yaml": placement("some", 9)}},
        _chooses("c4"),
        before={"apps/some.yaml": placement("some", 9, region="ap")},
    ),
    "not accepted": Situation(
        _SOME,
        "c4",
        {"accept the cluster": {"clusters/c4/cluster.yaml": cluster("c4")}},
        _chooses("c4"),
        before={"apps/some.yaml": placement("some", 9), "clusters/c4/cluster.yaml": cluster("c4", accepted=False)},
    ),
    "two changes": Situation(
        _SOME,
        "c4",
        {
            "remove its taint k:NoSelect and numberOfClusters 5": {
                "clusters/c4/cluster.yaml": cluster("c4"),
                "apps/some.yaml": placement("some", 5),
            },
            "numberOfClusters 5 and tolerate k": {"apps/some.yaml": placement("some", 5) + _TOLERANT},
        },
        _chooses("c4"),
        before={"apps/some.yaml": placement("some", 1), "clusters/c4/cluster.yaml": _TAINTED},
    ),
    "in place of silent ones": Situation(
        _SOME,
        "c3",
        {"numberOfClusters 4": {"apps/some.yaml": placement("some", 4)}},
        _chooses("c3"),
        before={"apps/some.yaml": placement("some", 3)},
        silent=("c0", "c1"),
        alone=timedelta(minutes=3),
    ),
    # -- effects that are held
    "approval": Situation(
        C0,
        ACTION,
        {
            "approve it: merge muster/proposals/care": {"a.yaml": approval("ManagedCluster/c0", ACTION, WHEN)},
            "remove the topic care from Fleet/f": {"f.yaml": _REMEDY_FREE},
        },
        _has_action,
        before={"r.yaml": REMEDY, "f.yaml": fleet(TOPIC)},
        happens=bad("c0"),
    ),
    "freeze": Situation(
        C0,
        ACTION,
        {
            "approve it: merge muster/proposals/freeze-year-end": {
                "a.yaml": approval("ManagedCluster/c0", ACTION, WHEN, "freeze-year-end")
            },
            "remove the freeze year-end from Fleet/f": {"f.yaml": EMPTY},
        },
        _has_action,
        before={"r.yaml": REMEDY, "f.yaml": fleet(FREEZE)},
        happens=bad("c0"),
        renewing=timedelta(minutes=58),
    ),
    "freeze by a calendar": Situation(
        C0,
        ACTION,
        {
            "approve it: merge muster/proposals/freeze-year-end": {
                "a.yaml": approval("ManagedCluster/c0", ACTION, WHEN, "freeze-year-end")
            },
            "remove the freeze year-end from Fleet/f": {"f.yaml": EMPTY},
        },
        _has_action,
        before={
            "r.yaml": REMEDY,
            "f.yaml": fleet("freezes: [{name: year-end, calendar: hours}]"),
            "c.yaml": _calendar('{from: "12:20", to: "13:00"}'),
        },
        happens=bad("c0"),
        renewing=timedelta(minutes=18),
    ),
    "budget": Situation(
        C0,
        ACTION,
        {
            "annotate ManagedCluster/c0 with muster.dev/allow-disruption": {
                "clusters/c0/cluster.yaml": allowed(cluster("c0"), WHEN)
            },
            "annotate DisruptionBudget/default with muster.dev/allow-disruption": {"b.yaml": allowed(_BUDGET, WHEN)},
            "annotate Fleet/f with muster.dev/allow-disruption": {"f.yaml": allowed(EMPTY, WHEN)},
        },
        _has_action,
        before={"r.yaml": REMEDY, "f.yaml": EMPTY, "b.yaml": _BUDGET},
        happens=bad("c0", "c1", "c2"),
    ),
    "cooldown": Situation(
        C0,
        ACTION,
        {
            "annotate ManagedCluster/c0 with muster.dev/allow-disruption": {
                "clusters/c0/cluster.yaml": allowed(cluster("c0"), WHEN)
            },
            "annotate DisruptionBudget/default with muster.dev/allow-disruption": {"b.yaml": allowed(_BUDGET, WHEN)},
            "annotate Fleet/f with muster.dev/allow-disruption": {"f.yaml": allowed(EMPTY, WHEN)},
            "cooldown 0s of DisruptionBudget/default": {"b.yaml": budget(f"{TIGHT}, cooldown: 0s")},
        },
        _has_action,
        before={"r.yaml": REMEDY, "f.yaml": EMPTY, "b.yaml": _BUDGET},
        steps=((LATER, bad("c0", "c1", "c2")),),
        happens={f"clusters/{name}/observed.yaml": observed(name) for name in ("c1", "c2")},
        after=2 * LATER,
        renewing=timedelta(minutes=10),
    ),
    "removal": Situation(
        C0,
        "removal",
        {
            "annotate DisruptionBudget/default with muster.dev/allow-disruption": {
                "b.yaml": allowed(budget("maxRemoved: 1"), WHEN)
            },
            "annotate Fleet/f with muster.dev/allow-disruption": {"f.yaml": allowed(EMPTY, WHEN)},
            "maxRemoved 2 of DisruptionBudget/default": {"b.yaml": budget("maxRemoved: 2")},
        },
        lambda look: look(C0) is None,
        before={"f.yaml": EMPTY, "b.yaml": budget("maxRemoved: 1")},
        happens={f"clusters/{name}/{file}.yaml": None for name in ("c0", "c1") for file in ("cluster", "observed")},
        silent=("c0", "c1"),
    ),
    "traffic": Situation(
        _SHOP,
        "traffic block c1",
        {"minAvailableBackends 0 of DisruptionBudget/default": {"b.yaml": budget("minAvailableBackends: 0")}},
        lambda look: "c1" in (dig(look(_SHOP), "status", "trafficBlockClusters") or ()),
        before={"r.yaml": REMEDY, "i.yaml": _INGRESS, "b.yaml": budget("minAvailableBackends: 1")},
        happens=bad("c0", "c1"),
    ),
    "move": Situation(
        _SEARCH,
        "move c3",
        {
            "approve it: merge muster/proposals/freeze-year-end": {
                "a.yaml": approval("Placement/apps/search", "move c3", WHEN, "freeze-year-end")
            },
            "remove the freeze year-end from Fleet/f": {"f.yaml": EMPTY},
        },
        lambda look: "c3" in str(look(PLACEMENT_DECISION.id("search-decision-1", "apps"))),
        before={"f.yaml": fleet(_MOVES), "apps/search.yaml": placement("search", 3)},
        happens={"apps/search.yaml": placement("search", 4)},
        alone=timedelta(minutes=28),
        renewing=timedelta(minutes=28),
    ),
    "a pool that shrinks": Situation(
        _CI1,
        "deletion",
        {
            "approve it: merge muster/proposals/care": {"a.yaml": approval(str(_CI1), "deletion", WHEN)},
            "remove the topic care from Fleet/f": {"f.yaml": fleet(_EXTERNAL)},
        },
        lambda look: dig(look(_CI1), "metadata", "deletionTimestamp") is not None,
        before={"f.yaml": fleet(f"{_EXTERNAL}, {_CARE}"), "pool.yaml": _pool("size: 3")},
        happens={"pool.yaml": _pool("size: 2")},
    ),
    "a pool's turn": Situation(
        _CI1,
        "deletion",
        {"maxConcurrent 4 of ClusterPool/apps/ci": {"pool.yaml": _pool("size: 2, maxConcurrent: 4")}},
        lambda look: dig(look(_CI1), "metadata", "deletionTimestamp") is not None,
        before={"f.yaml": fleet(f"{_EXTERNAL}, {_CARE}"), "pool.yaml": _pool("size: 3")},
        steps=((LATER / 2, {"pool.yaml": _pool("size: 2")}),),
        happens={
            "pool.yaml": _pool("size: 2, maxConcurrent: 1"),
            "a.yaml": approval(str(_CI1), "deletion", NOON + LATER / 2),
        },
    ),
    # -- conditions
    "silence": Situation(
        C0,
        AVAILABLE,
        {"the agent of c0 renews its Lease": beats(NOON + timedelta(minutes=6))},
        _is(AVAILABLE, "True"),
        silent=("c0",),
        after=timedelta(minutes=6),
        steps=((timedelta(minutes=3), {}),),
    ),
    "to be silent": Situation(
        C0,
        f"{AVAILABLE}=Unknown",
        {
            f"an agent reports {AVAILABLE}=Unknown": {
                "clusters/c0/observed.yaml": observed("c0").replace('"True"', "Unknown")
            }
        },
        _is(AVAILABLE, "Unknown"),
        alone=timedelta(minutes=5),
    ),
    "report": Situation(
        C0,
        AVAILABLE,
        {f"an agent reports {AVAILABLE}=True": {"clusters/c0/observed.yaml": observed("c0")}},
        _is(AVAILABLE, "True"),
        happens=bad("c0"),
    ),
    "policy": Situation(
        C0,
        "Large",
        {
            "metadata.labels.region ap": {"clusters/c0/cluster.yaml": cluster("c0", region="ap")},
            "spec.policyParams.size.least 8 of Fleet/f": {"f.yaml": fleet("policyParams: {size: {least: 8}}")},
        },
        _is("Large", "True"),
        before={"p.yaml": _LABELLED, "f.yaml": EMPTY},
    ),
    "policy, damped": Situation(
        C0,
        "Placed",
        {
            "metadata.labels.region ap, and wait until 2026-01-01T12:02:30Z": {
                "clusters/c0/cluster.yaml": cluster("c0", region="ap")
            }
        },
        _is("Placed", "True"),
        before={
            "p.yaml": CONDITION_POLICY.format(
                kind="ManagedCluster",
                when="self.metadata.labels.region == 'ap'",
                reason="Far",
                hold="\n  - {name: three, status: 'False', reason: Near}\n  holdFor: {'True': 30s}",
            )
        },
    ),
    "adapters": Situation(
        C0,
        "Available",
        {
            "the adapter validation reports Applied, Available, Health True for generation 1": {
                "reports/c0.yaml": report("c0", 1, at=WHEN)
            }
        },
        _is("Available", "True"),
        before={"f.yaml": fleet("adapters: {ManagedCluster: [validation]}"), "reports/c0.yaml": report("c0", 1)},
        happens={"reports/c0.yaml": report("c0", 1, good=False, at=NOON + timedelta(minutes=1))},
    ),
    "satisfied": Situation(
        _SEARCH,
        "PlacementSatisfied",
        {
            "numberOfClusters 3": {"apps/search.yaml": placement("search", 3)},
            "tolerate k": {"apps/search.yaml": placement("search", 5) + _TOLERANT},
        },
        _is("PlacementSatisfied", "True", _SEARCH),
        before={"apps/search.yaml": placement("search", 5)},
        happens={
            f"clusters/{name}/cluster.yaml": cluster(name, taints="[{key: k, effect: NoSelect}]")
            for name in ("c3", "c4")
        },
    ),
    # -- Rollouts that wait
    "paused": Situation(
        WEB,
        "",
        {"remove paused": {"apps/rollout.yaml": rollout("")}},
        _with_revision(),
        before=_old("paused: false"),
        happens={"apps/rollout.yaml": rollout("paused: true")},
    ),
    "window": Situation(
        WEB,
        "",
        {"remove windows": {"apps/rollout.yaml": rollout("")}},
        _with_revision(),
        before={
            **_old("windows: [hours]"),
            "c.yaml": _calendar('{from: "11:00", to: "12:01"}, {from: "12:30", to: "13:00"}'),
        },
        happens={"apps/rollout.yaml": rollout("windows: [hours]")},
        renewing=timedelta(minutes=28),
    ),
    "stage approval": Situation(
        WEB,
        "",
        {
            "approve it: merge muster/proposals/rollouts": {
                "a.yaml": approval("Rollout/apps/web", "rollout a v2", WHEN, "rollouts")
            },
            "remove approval of the stage a": {"apps/rollout.yaml": rollout("stages: [{name: a}]")},
        },
        _with_revision(),
        before=_old("stages: [{name: a}]"),
        happens={"apps/rollout.yaml": rollout("stages: [{name: a, approval: true}]")},
    ),
    "rollout freeze": Situation(
        WEB,
        "c0",
        {
            "approve it: merge muster/proposals/freeze-year-end": {
                "a.yaml": approval("Rollout/apps/web", "rollout All v2", WHEN, "freeze-year-end")
            },
            "remove the freeze year-end from Fleet/f": {"f.yaml": EMPTY},
        },
        _with_revision("c0"),
        before={**_old(""), "f.yaml": fleet(FREEZE.replace("remedies", "rollouts").replace("13:00:00", "12:10:00"))},
        happens={"apps/rollout.yaml": rollout("")},
        renewing=timedelta(minutes=8),
    ),
    "soak": Situation(
        WEB,
        "",
        {
            "maxConcurrency 2": {
                "apps/rollout.yaml": rollout(ONE % ", minSuccessTime: 10m").replace(
                    "maxConcurrency: 1", "maxConcurrency: 2"
                )
            },
            "remove minSuccessTime, and wait until 2026-01-01T12:02:01Z": {"apps/rollout.yaml": rollout(ONE % "")},
        },
        _with_revision("c1", "c2"),
        before=_old(ONE % ""),
        happens={"apps/rollout.yaml": rollout(ONE % ", minSuccessTime: 10m")},
        renewing=timedelta(minutes=10, seconds=1),
    ),
    "health": Situation(
        WEB,
        "",
        {
            "c0 succeeds, and wait until 2026-01-01T12:02:01Z": {
                "clusters/c0/cluster.yaml": cluster("c0").replace(
                    "metadata:\n", "metadata:\n  annotations: {app: v2}\n"
                )
            },
            "maxConcurrency 2": {
                "apps/rollout.yaml": rollout(GATE % "" + ONE % "").replace("maxConcurrency: 1", "maxConcurrency: 2")
            },
        },
        _with_revision("c1", "c2"),
        before=_old(ONE % ""),
        happens={"apps/rollout.yaml": rollout(GATE % "" + ONE % "")},
    ),
    "failed": Situation(
        WEB,
        "",
        {
            "c0 succeeds, and wait until 2026-01-01T12:04:01Z": {
                "clusters/c0/cluster.yaml": cluster("c0").replace(
                    "metadata:\n", "metadata:\n  annotations: {app: v2}\n"
                )
            },
            "maxFailures 1": {"apps/rollout.yaml": rollout(GATE % ", onFalse: Fail" + ONE % ", maxFailures: 1")},
        },
        _with_revision("c1", "c2"),
        before=_old(ONE % ""),
        steps=((LATER, {"apps/rollout.yaml": rollout(GATE % ", onFalse: Fail" + ONE % "")}),),
        after=2 * LATER,
    ),
    "rollout budget": Situation(
        WEB,
        "c0",
        {
            "annotate ManagedCluster/c0 with muster.dev/allow-disruption": {
                "clusters/c0/cluster.yaml": allowed(cluster("c0"), WHEN)
            },
            "annotate DisruptionBudget/default with muster.dev/allow-disruption": {"b.yaml": allowed(_BUDGET, WHEN)},
            "annotate Fleet/f with muster.dev/allow-disruption": {"f.yaml": allowed(EMPTY, WHEN)},
        },
        _with_revision("c0"),
        before={**_old(ONE % ""), "f.yaml": EMPTY, "b.yaml": _BUDGET},
        happens={"apps/rollout.yaml": rollout(ONE % ""), **bad("c2", "c3", "c4")},
    ),
    "finish": Situation(
        WEB,
        "RolledOut",
        {"remove paused, and wait until 2026-01-01T12:02:01Z": {"apps/rollout.yaml": rollout("")}},
        _is("RolledOut", "True", WEB),
        before=_old(""),
        happens={"apps/rollout.yaml": rollout("paused: true")},
    ),
}
