"""Days of a fleet, written down before anything decides about them: when agents are silent or report a failure, when
people edit what, when a further repository does not answer. It shares no code with muster.

    days = Days.of(seed=1, clusters=8, days=1)
    days.agents[0].renewed(instant), days.edits, days.outages
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Self

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
#: How often agents renew if nothing else is said, and the lease duration of their clusters.
LEASE: Final = 15 * MINUTE
REGIONS: Final = ("eu", "us", "ap")
#: Where agents write: a branch of the hub, one of a further repository, or a relay.
BRANCH, FURTHER, RELAY = "branch", "further", "relay"
PLACES: Final = (BRANCH, BRANCH, FURTHER, RELAY)
OCM: Final = "cluster.open-cluster-management.io"


class _Chance(random.Random):
    """Chance, and how much more often things happen than in a usual fleet."""

    def __init__(self, seed: int, pace: float) -> None:
        super().__init__(seed)
        self.pace = pace


class Span(NamedTuple):
    """A time: from its first instant until before the last."""

    since: datetime
    until: datetime


class Edit(NamedTuple):
    """What a person commits: content by path, None to remove."""

    at: datetime
    files: dict[str, str | None]


@dataclass(frozen=True)
class Agent:
    """The agent of a cluster: it renews once in a `lease` from `begin` on, except while it is `silent`."""

    name: str
    place: str
    begin: datetime
    silent: tuple[Span, ...] = ()
    failing: tuple[Span, ...] = ()
    versions: tuple[tuple[datetime, str], ...] = ()
    lease: timedelta = LEASE

    def renewed(self, at: datetime) -> datetime:
        """The last renewal up to an instant. After a silence the agent renews at once."""
        since = self.begin
        for span in self.silent:
            if span.since <= at < span.until:
                at = span.since
            elif span.until <= at:
                since = span.until
        return since + (at - since) // self.lease * self.lease

    def files(self, at: datetime) -> dict[str, str]:
        """The agent's files as of its last renewal."""
        renewed = self.renewed(at)
        changes = [edge for span in self.failing for edge in span if edge <= renewed]
        failing = any(span.since <= renewed < span.until for span in self.failing)
        version = next((text for since, text in reversed(self.versions) if since <= renewed), "v1")
        return {
            "lease.yaml": _lease(self.name, renewed, self.lease),
            "observed.yaml": _observed(self.name, not failing, max(changes, default=self.begin), version),
        }

    def news(self) -> Iterator[datetime]:
        """When the agent says something new: it is back, or reports another state."""
        yield from (span.until for span in self.silent)
        edges = [*(edge for span in self.failing for edge in span), *(since for since, _ in self.versions)]
        for edge in edges:
            heard = self.renewed(edge)
            yield heard if heard == edge else self.renewed(edge) + self.lease


@dataclass
class Days:
    """A script: agents, edits of people, and when the further repository does not answer."""

    clusters: int
    end: datetime
    lease: timedelta = LEASE
    agents: list[Agent] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    unreachable: tuple[Span, ...] = ()

    @classmethod
    def of(cls, seed: int, clusters: int, days: int, *, pace: float = 1, lease: timedelta = LEASE) -> Self:
        """Write the days down. The same seed gives the same days; `pace`: how much more often things happen."""
        chance, made = _Chance(seed, pace), cls(clusters, START + days * DAY, lease)
        dark = [_dark_region(chance, day) for day in range(4, days, 9)]
        revisions = [(START + (day * 24 + 9) * HOUR, f"v{day + 2}") for day in range(0, days, 4)]
        for number in range(clusters):
            name, begin = f"{REGIONS[number % 3]}-{number:02}", START - timedelta(seconds=7 * number) % lease
            regional = [span for region, span in dark if name.startswith(region)]
            silent = [*regional, *_outages(chance, days, flapping=number % 7 == 3)]
            versions = tuple((at + chance.randint(5, 90) * MINUTE, version) for at, version in revisions)
            failing = [*_spans(chance, days, mean=8 * DAY, lengths=(20, 90, 400))]
            made.agents.append(
                Agent(
                    name,
                    PLACES[number % len(PLACES)],
                    begin,
                    _apart(silent),
                    _apart(failing),
                    versions,
                    lease,
                )
            )
        made.edits = sorted(_edits(chance, made, revisions, days), key=lambda edit: edit.at)
        made.unreachable = _apart(_spans(chance, days, mean=3 * DAY, lengths=(15, 100)))
        return made

    @property
    def beginning(self) -> dict[str, str]:
        """The files of people at the start."""
        return {
            **_FILES,
            **{f"clusters/{one.name}/cluster.yaml": _cluster(one.name, self.lease) for one in self.agents},
        }

    def instants(self) -> list[datetime]:
        """When something new can be seen, and whenever agents have renewed."""
        news = {at for agent in self.agents for at in agent.news()}
        edges = {edge for span in self.unreachable for edge in span}
        renewals = {START + number * self.lease for number in range((self.end - START) // self.lease)}
        every = news | edges | renewals | {edit.at for edit in self.edits}
        return sorted(at for at in every if START < at < self.end)

    def is_unreachable(self, at: datetime) -> bool:
        """Does the further repository not answer?"""
        return any(span.since <= at < span.until for span in self.unreachable)


def _spans(chance: _Chance, days: int, mean: timedelta, lengths: tuple[int, ...]) -> Iterator[Span]:
    at = START + HOUR
    while (at := at + chance.expovariate(chance.pace) * mean) < START + days * DAY:
        since = at.replace(microsecond=0)
        yield Span(since, since + timedelta(seconds=chance.choice(lengths) * chance.randint(50, 100)))


def _outages(chance: _Chance, days: int, *, flapping: bool) -> Iterator[Span]:
    """Silences of very different lengths; of a flapping cluster many short ones after each other."""
    yield from _spans(chance, days, mean=4 * DAY, lengths=(30, 50, 75, 90, 110, 140, 360, 1500))
    for burst in _spans(chance, days, mean=5 * DAY, lengths=(1,)) if flapping else ():
        at = burst.since
        for _ in range(chance.randint(3, 8)):
            until = at + timedelta(seconds=chance.randint(1500, 6000))
            yield Span(at, until)
            at = until + timedelta(seconds=chance.randint(100, 900))


def _dark_region(chance: _Chance, day: int) -> tuple[str, Span]:
    since = START + day * DAY + chance.randint(0, 20 * 60) * MINUTE
    return chance.choice(REGIONS), Span(since, since + chance.randint(90, 400) * MINUTE)


def _apart(spans: list[Span] | Iterator[Span]) -> tuple[Span, ...]:
    """The spans that begin after the one before has ended, and a renewal."""
    kept: list[Span] = []
    for span in sorted(spans):
        if not kept or span.since > kept[-1].until:
            kept.append(span)
    return tuple(kept)


def _edits(chance: _Chance, days: Days, revisions: list[tuple[datetime, str]], count: int) -> Iterator[Edit]:
    for at, revision in revisions:
        yield Edit(at, {"apps/rollout.yaml": _rollout(revision)})
    names, lively = [agent.name for agent in days.agents], days.agents[-1].name
    for at in (span.since for span in _spans(chance, count, mean=DAY / 4, lengths=(1,))):
        name = chance.choice(names[:-1])
        file = f"clusters/{name}/cluster.yaml"
        yield chance.choice(
            (
                Edit(at, {"apps/web.yaml": _placement("web", chance.randint(2, 4))}),
                Edit(at, {"apps/eu.yaml": _placement("eu", chance.randint(1, 5), region="eu")}),
                Edit(at, {file: _cluster(name, days.lease, tier=chance.choice(("gold", "silver")))}),
                Edit(at, {"policies/budget.yaml": _budget(chance.choice((1, 2, 3)))}),
                Edit(at, {"policies/taint.yaml": _taint(chance.choice(("gold", "silver")))}),
                Edit(at, {"notes.md": f"{at}\n"}),
            )
        )
    for day in range(2, count, 5):  # a cluster leaves and comes back
        at = START + day * DAY + 5 * HOUR
        yield Edit(at, {f"clusters/{lively}/cluster.yaml": None})
        yield Edit(at + 7 * HOUR, {f"clusters/{lively}/cluster.yaml": _cluster(lively, days.lease)})


def _instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _lease(name: str, renewed: datetime, lease: timedelta) -> str:
    return (
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
        f"metadata: {{name: managed-cluster-lease, namespace: {name}}}\n"
        f'spec: {{leaseDurationSeconds: {lease // timedelta(seconds=1)}, renewTime: "{_instant(renewed)}"}}\n'
    )


def _observed(name: str, available: bool, since: datetime, version: str) -> str:
    return (
        f"apiVersion: {OCM}/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\nstatus:\n"
        f"  clusterClaims: [{{name: app, value: {version}}}]\n  conditions:\n"
        f'  - {{type: ManagedClusterConditionAvailable, status: "{available}", reason: Probed, message: "",'
        f' lastTransitionTime: "{_instant(since)}"}}\n'
    )


def _cluster(name: str, lease: timedelta, tier: str = "gold") -> str:
    return (
        f"apiVersion: {OCM}/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}, labels: {{region: {name[:2]}, tier: {tier}}}}}\n"
        f"spec: {{hubAcceptsClient: true, leaseDurationSeconds: {lease // timedelta(seconds=1)}}}\n"
    )


def _placement(name: str, number: int, *, region: str = "") -> str:
    labels = f"{{matchLabels: {{region: {region}}}}}" if region else "{}"
    return (
        f"apiVersion: {OCM}/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: apps}}\nspec:\n"
        f"  clusterSets: [default]\n  numberOfClusters: {number}\n"
        f"  predicates: [{{requiredClusterSelector: {{labelSelector: {labels}}}}}]\n"
        f"  tolerations: [{{key: {OCM}/unreachable, operator: Exists, tolerationSeconds: 600}}]\n"
    )


def _budget(ignored: int) -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
        f"spec: {{maxDisrupted: 20%, ignoreUpTo: {ignored}, cooldown: 10m}}\n"
    )


def _taint(tier: str) -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {name: nightly}\nspec:\n"
        "  target: {kind: ManagedCluster}\n  taints:\n  - {key: example.com/night, effect: PreferNoSelect,"
        f" when: \"self.metadata.labels.tier == '{tier}' && (now.getHours() >= 22 || now.getHours() < 4)\"}}\n"
    )


def _rollout(revision: str) -> str:
    return (
        "apiVersion: muster.dev/v1alpha1\nkind: Rollout\nmetadata: {name: app, namespace: apps}\nspec:\n"
        f"  placementRef: {{name: eu}}\n  revision: {revision}\n"
        '  gate: [{name: runs, expression: "self.status.clusterClaims.exists(c, c.value == rollout.revision)"}]\n'
        "  stages:\n  - {name: gold, selector: {matchLabels: {tier: gold}}, minSuccessTime: 20m, maxConcurrency: 1}\n"
        "  - {name: rest, progressDeadline: 2h}\n"
    )


_FILES: Final = {
    "apps/binding.yaml": f"apiVersion: {OCM}/v1beta2\nkind: ManagedClusterSetBinding\n"
    "metadata: {name: default, namespace: apps}\nspec: {clusterSet: default}\n",
    "apps/web.yaml": _placement("web", 3),
    "apps/eu.yaml": _placement("eu", 3, region="eu"),
    "apps/rollout.yaml": _rollout("v1"),
    "policies/budget.yaml": _budget(2),
    "policies/taint.yaml": _taint("silver"),
    "policies/remedy.yaml": "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: failed}\nspec:\n"
    "  decisionMatches:\n  - clusterConditionMatch: {conditionType: ManagedClusterConditionAvailable, operator: Equal,"
    ' conditionStatus: "False"}\n  actions: [TrafficControl]\n',
    "policies/pulse.yaml": "apiVersion: muster.dev/v1alpha1\nkind: PulsePolicy\nmetadata: {name: tell}\nspec:\n"
    "  target: {kind: ManagedCluster}\n  interval: 6h\n"
    "  rules: [{name: silent, when: \"status(conditions, 'ManagedClusterConditionAvailable') == 'Unknown'\","
    " reason: Silent}]\n  event: {type: com.example.silent, source: muster, topic: silent}\n",
}
