"""A cluster's requested and reported power state, and which unclaimed clusters of a pool run.

The provisioner starts and stops machines and reports. Between muster's request and that report the cluster would look
unrequested; so muster states the request itself, with the reasons of upstream's hibernation controller, until the
provisioner reports. Fake clusters have no provisioner: their power state follows at once (with `hibernateAfter` in two
passes, as upstream's), and muster's statements hold. Whatever needs a look at machines and nodes is not decided here.
Source: upstream's hibernation controller, without its probes.

As many unclaimed clusters run as the pool requests and claims wait. By upstream's rules the oldest do, including those
being installed (reconcileRunningClusters, reference section 2, step 10): one that never comes up, or that no claim may
get, then blocks all claims. By the seed's rules the pool's own running clusters are the oldest; for waiting claims,
clusters are resumed that can serve them: those resuming already, else those standing by, oldest first, and stopping or
installing ones only if needed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime

from muster.data.times import later, second_after
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.rules.pools.buckets import Buckets
from muster.rules.pools.model import HIBERNATING, HIVE, OLDEST, RUNNING, Cluster, Pool, annotated, instant, span
from muster.rules.pools.rules import Rules
from muster.rules.transitions import condition


def power_states(
    pool: Pool, buckets: Buckets, deleted: Iterable[str], born: Iterable[str], waiting: int, rules: Rules
) -> Mapping[str, str]:
    """Return spec.powerState by cluster name. `deleted` are left out; `born` are the youngest, in that order."""
    deleted_names = frozenset(deleted)
    members: Iterable[Cluster] = (*buckets.assignable, *buckets.installing, *buckets.standby)
    aged = sorted((c for c in members if c.name not in deleted_names and not c.frozen), key=lambda c: c.age_key)
    running = max(0, pool.running_count)
    if rules.resumes_what_can_serve:
        unfit = frozenset(cluster.name for cluster in buckets.stale)
        aged[running:] = sorted(aged[running:], key=lambda c: (c.name in unfit, _distance(c), c.age_key))
    names = [*(cluster.name for cluster in aged), *born]
    return {name: RUNNING if index < running + waiting else HIBERNATING for index, name in enumerate(names)}


def _distance(cluster: Cluster) -> int:
    """How far a cluster is from serving a claim."""
    if not cluster.installed:
        return 3
    if cluster.wanted == RUNNING:
        return 0  # running or resuming; another one would start later
    return 1 if cluster.power == HIBERNATING else 2


RESUMING, STOPPING = "ResumingOrRunning", "Stopping"
#: Reasons of a resume in progress: upstream's, and the seed's, which may have the status True.
RESUME_REASONS = frozenset((RESUMING, "Resuming"))
#: Reasons of the Hibernating condition for a stop in progress.
STOP_REASONS = frozenset((STOPPING, "WaitingForMachinesToStop"))
FAILED_TO_START, FAILED_TO_STOP = "FailedToStart", "FailedToStop"
FAILURES = frozenset((FAILED_TO_START, FAILED_TO_STOP))
_FAILED_STARTS = frozenset((FAILED_TO_START, "FailedToStartMachines"))
_UNSUPPORTED = "Unsupported"
_DELETED = ("ClusterDeploymentDeleted", "ClusterDeployment has been marked for deletion")
_PAUSED = ("PowerStatePaused", "the powerstate-pause annotation is set")

Conditions = Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class PowerView:
    """A cluster's power: conditions and power state as reported, overlaid by muster's own statements.

    `stated` and `state`: the conditions and power state that muster states itself; `hibernate`: hibernateAfter has
    passed, so spec.powerState becomes Hibernating; `machines`: what the request does to machines.
    """

    conditions: Conditions
    power: str
    stated: dict[str, Tree] = field(default_factory=dict)
    state: str | None = None
    hibernate: bool = False
    machines: str | None = None
    horizon: datetime | None = None

    def with_condition(self, type_: str, condition: Tree) -> "PowerView":
        """The view with one more stated condition."""
        return replace(self, conditions={**self.conditions, type_: condition}, stated={**self.stated, type_: condition})


def reported_conditions(cluster: Cluster) -> dict[str, Tree]:
    """Conditions by type, as the provisioner reports them (for a fake cluster: as muster stated them)."""
    return {str(c.get("type")): c for c in mappings_at(cluster.body, "status", "conditions")}


def power_view(cluster: Cluster, before: Conditions, now: datetime, *, keeps_failures: bool) -> PowerView:
    """Return muster's statements about a cluster's power. `before`: the last run's conditions.

    `keeps_failures`: a failure to start or stop stays, even while the cluster is deleted because of it.
    """
    reported = reported_conditions(cluster)
    silent = PowerView(reported, cluster.power)
    if annotated(cluster.body, f"{HIVE}/reconcile-pause"):
        return silent
    writer = _Writer(reported, before, now)
    conditions = (before.get("Hibernating", {}), reported.get("Hibernating", {}))
    failed = next((condition for condition in conditions if condition.get("reason") in FAILURES), None)
    if cluster.deleting and keeps_failures and failed is not None:
        return writer.view("Unknown", ("Ready", "Unknown", *_DELETED)).with_condition("Hibernating", failed)
    if cluster.deleting:
        return writer.view("Unknown", ("Hibernating", "Unknown", *_DELETED), ("Ready", "Unknown", *_DELETED))
    if not cluster.installed:
        return silent
    if annotated(cluster.body, f"{HIVE}/powerstate-pause"):
        return writer.view("Unknown", ("Hibernating", "Unknown", *_PAUSED), ("Ready", "Unknown", *_PAUSED))
    due = _hibernate_due(cluster, reported)
    if due is not None and cluster.wanted != HIBERNATING:
        if now > due:
            return PowerView(reported, cluster.power, hibernate=True)
        to_run = _ask_to_run(cluster, reported, writer)
        return PowerView(
            to_run.conditions,
            to_run.power,
            to_run.stated,
            to_run.state,
            machines=to_run.machines,
            horizon=second_after(due),
        )
    if keeps_failures and _has_failed(cluster, reported):
        return silent
    if cluster.wanted == HIBERNATING:
        return _ask_to_stop(cluster, reported, writer)
    return _ask_to_run(cluster, reported, writer)


def _has_failed(cluster: Cluster, reported: Conditions) -> bool:
    """Does the provisioner report, by a condition or the power state, that the request failed?"""
    reasons = {reported.get("Hibernating", {}).get("reason"), reported.get("Ready", {}).get("reason"), cluster.power}
    return not reasons.isdisjoint((FAILED_TO_STOP,) if cluster.wanted == HIBERNATING else _FAILED_STARTS)


def _ask_to_stop(cluster: Cluster, reported: Conditions, writer: "_Writer") -> PowerView:
    hibernating = reported.get("Hibernating", {})
    asleep = hibernating.get("status") == "True" and hibernating.get("reason") not in RESUME_REASONS
    if asleep or (not hibernating and cluster.power == HIBERNATING):
        return PowerView(reported, cluster.power)
    if cluster.fake and dig(cluster.body, "spec", "hibernateAfter") is None:
        return writer.view(
            HIBERNATING, ("Hibernating", "True", "Hibernating", "Fake cluster is stopped"), _NOT_READY, machines=None
        )
    if cluster.fake and hibernating.get("reason") in STOP_REASONS:
        return writer.view(HIBERNATING, ("Hibernating", "True", "Hibernating", "Cluster is stopped"), _NOT_READY)
    if hibernating.get("reason") in STOP_REASONS or hibernating.get("reason") == _UNSUPPORTED:
        return PowerView(reported, cluster.power)
    stopping = ("Hibernating", "False", STOPPING, "Stopping cluster machines")
    return writer.view(STOPPING, stopping, _NOT_READY, machines="stop")


_NOT_READY = (
    "Ready",
    "False",
    "StoppingOrHibernating",
    "Cluster is shutting down or hibernating, see Hibernating condition for details",
)
_RESUMED = (
    "Hibernating",
    "False",
    RESUMING,
    "Cluster is resuming or running, see Ready condition for details",
)


def _ask_to_run(cluster: Cluster, reported: Conditions, writer: "_Writer") -> PowerView:
    hibernating, ready = reported.get("Hibernating", {}), reported.get("Ready", {})
    if cluster.fake:
        if cluster.power == RUNNING and ready.get("status") == "True":
            return PowerView(reported, cluster.power)
        return writer.view(RUNNING, _RESUMED, ("Ready", "True", RUNNING, "Cluster is running"))
    started = ready.get("status") == "True" or ready.get("reason") == "StartingMachines"
    started = started or hibernating.get("reason") in RESUME_REASONS | FAILURES
    if started or hibernating.get("status") == "False" or (not hibernating and cluster.power == RUNNING):
        return PowerView(reported, cluster.power)
    starting = ("Ready", "False", "StartingMachines", "Starting cluster machines (step 1/4)")
    return writer.view("StartingMachines", _RESUMED, starting, machines="start")


def _hibernate_due(cluster: Cluster, reported: Conditions) -> datetime | None:
    """The instant after which hibernateAfter applies, or None.

    A pool's clusters wait until they are claimed, and a person's power state has priority. The time counts from the
    latest of installation, claim and becoming ready. A platform without hibernation keeps running.
    """
    if cluster.power_requested or reported.get("Hibernating", {}).get("reason") == _UNSUPPORTED:
        return None
    limit = span(cluster.body, "spec", "hibernateAfter")
    claimed = instant(cluster.body, "spec", "clusterPoolRef", "claimedTimestamp")
    if limit is None or (cluster.pool is not None and (not cluster.claim or claimed is None)):
        return None
    ready = reported.get("Ready", {})
    running = ready.get("status") == "True"
    if not running and reported.get("Hibernating", {}).get("status", "Unknown") != "Unknown":
        return None
    since = [
        instant(cluster.body, "status", "installedTimestamp"),
        claimed,
        instant(ready, "lastTransitionTime") if running else None,
    ]
    instants = [moment for moment in since if moment is not None]
    if not instants and not cluster.fake:
        return OLDEST  # unknown installation time: as upstream, before any limit
    return later(max(instants), limit) if instants else None


@dataclass(frozen=True, slots=True)
class _Writer:
    """Creates conditions whose lastTransitionTime changes only with the status, from whichever source."""

    reported: Conditions
    before: Conditions
    now: datetime

    def view(self, power: str, *conditions: tuple[str, str, str, str], machines: str | None = None) -> PowerView:
        stated = {
            type_: condition(self.before.get(type_) or self.reported.get(type_), *statement, now=self.now)
            for type_, *statement in conditions
        }
        return PowerView({**self.reported, **stated}, power, stated, power, machines=machines)
