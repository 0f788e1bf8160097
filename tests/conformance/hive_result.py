"""What muster did in one pass over a case of Hive's controllers, in the words of the case."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, CLUSTER_DEPLOYMENT
from muster.data.times import format_duration
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.rules.pools.buckets import Buckets, classify
from muster.rules.pools.manifest import hub_version, matching, version_of
from muster.rules.pools.rules import rules_of
from muster.rules.pools.survey import survey
from muster.run.run import Run
from tests.conformance.hive_repository import object_id
from tests.conformance.reading import unknown_keys


@dataclass(frozen=True)
class Result:
    """One evaluation of a case, and how to read it."""

    case: Tree
    run: Run

    @property
    def id(self) -> ObjectId:
        """The object that the case is about."""
        target = self.case["reconcile"]
        return BY_NAME[target["kind"]].id(target["name"], target["namespace"])

    @property
    def now(self) -> datetime:
        return self.run.now

    def before(self, id_: ObjectId) -> Tree:
        """The object as the case gives it; None where it did not exist."""
        return next((o for o in self.case["given"]["objects"] if o["kind"] in BY_NAME and object_id(o) == id_), None)

    def after(self, id_: ObjectId) -> Tree:
        """The object as muster leaves it."""
        return self.run.fleet.whole(id_)

    def derived(self, id_: ObjectId, *path: str | tuple[str, ...]) -> Tree:
        return self.run.fleet.now(id_, *path)

    def clusters(self) -> dict[str, Tree]:
        """Clusters of the case's pool after the pass, by name."""
        key = (self.id.namespace, self.id.name)
        found = {}
        for body in self.run.objects:
            reference = mapping_at(body, "spec", "clusterPoolRef")
            if body["kind"] == "ClusterDeployment" and (reference.get("namespace"), reference.get("poolName")) == key:
                found[body["metadata"]["name"]] = body
        return found

    def buckets(self) -> Buckets:
        """How muster classifies the clusters of the case's pool at the start of the pass."""
        fleet = self.run.fleet
        view = survey(fleet, self.run.now, rules_of(fleet.settings))
        pool = next(pool for pool in view.pools if pool.id == self.id)
        clusters, version = view.of_pool.get(pool.key, ()), version_of(pool.spec)
        hub = hub_version(fleet, pool, clusters, version)
        return classify(pool, clusters, matching(version, hub), lambda id_: self.conditions(self.after(id_)))

    @staticmethod
    def conditions(body: Tree) -> dict[str, Tree]:
        """An object's conditions by type."""
        return {condition["type"]: condition for condition in mappings_at(body, "status", "conditions")}

    @property
    def hibernates_at(self) -> datetime | None:
        """When the cluster goes to sleep by itself."""
        wakes = (wake for wake in self.run.fleet.wakes if wake.object == self.id)
        return next((wake.horizon for wake in wakes if wake.because.rule == "pools hibernateAfter"), None)

    @property
    def restless(self) -> bool:
        """Whether the next pass is due at this very instant, because this one has changed something."""
        return self.run.horizon is not None and self.run.horizon <= self.now

    def requeue(self) -> str | None:
        """When the object is looked at again on account of time alone."""
        wakes = [wake for wake in self.run.fleet.wakes if wake.object == self.id]
        decisions = self.run.fleet.decisions(self.id).values()
        instants = [*(decision.horizon for decision in decisions), *(wake.horizon for wake in wakes)]
        ahead = [instant for instant in instants if instant is not None and instant > self.now]
        return format_duration(min(ahead) - self.now) if ahead else None


Mismatch = tuple[str, Tree, Tree]


def strange(given: Tree, known: Collection[str], where: str) -> Iterator[Mismatch]:
    """Keys that nothing here compares."""
    for expected, actual in unknown_keys(given or {}, known, where):
        yield where, expected, actual


def cluster_id(name: str) -> ObjectId:
    """The id of a cluster, which lies in a namespace of its own name."""
    return CLUSTER_DEPLOYMENT.id(name, name)


def condition_mismatches(wanted: Tree, body: Tree, known: tuple[str, ...]) -> Iterator[Mismatch]:
    """Compare conditions by type: of the `known` types and of those that are wanted, the wanted fields."""
    have = Result.conditions(body)
    for type_ in (*known, *(type_ for type_ in wanted if type_ not in known)):
        fields, found = wanted.get(type_), have.get(type_)
        if fields is None:
            yield f"condition {type_}", None, found
        else:
            yield f"condition {type_}", fields, {name: (found or {}).get(name) for name in fields}
