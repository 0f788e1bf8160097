"""A thousand Remedies over ten thousand clusters, and one cluster that changes in fleets of growing size.

python benchmarks/remedies.py [clusters] [remedies]

Half of the Remedies speak of all clusters, half of ten clusters each. Measured is deciding alone, on one core: the
actions of every cluster, and which budgets hold, for a fleet whose conditions are decided. The cost of one changed
cluster must not depend on how many there are: the last table shows that it does not.
"""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from muster.data.kinds import MANAGED_CLUSTER, REMEDY
from muster.data.tree import Tree
from muster.fleet.files import builtin_objects
from muster.fleet.fleet import Fleet, ReadFiles
from muster.fleet.objects import Object
from muster.fleet.settings import DEFAULTS
from muster.rules.budgets import stage as budgets
from muster.rules.conditions.stale_input import StaleInputs
from muster.rules.failures import Failures
from muster.rules.pipeline import terms_of
from muster.rules.policies.in_force import Compiled, FleetWithPolicies, InForce
from muster.rules.policies.scopes import Scopes
from muster.rules.remedies import requested
from muster.rules.remedies import stage as remedies
from muster.rules.remedies.policy import ConditionMatch, Remedy
from muster.rules.remedies.requested import Remedies
from muster.rules.stages import Disrupted, GoverningObjects

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = ("DnsReady", "NetworkReady", "StorageReady", "NodesReady")
REPEAT = 200


def main() -> None:
    """Measure and print."""
    clusters = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    fleet = build(clusters, count)
    print(f"{clusters} clusters, {count} remedies")
    terms, started = terms_of(fleet, NOW), time.perf_counter()
    terms = terms.after(requested.STAGE.ask(fleet, terms))
    disrupted = len(terms.of(Disrupted).clusters)
    print(f"  requested    {time.perf_counter() - started:6.2f} s   {disrupted} clusters disrupted")
    started = time.perf_counter()
    terms = terms.after(budgets.STAGE.ask(fleet, terms))
    print(f"  budgets      {time.perf_counter() - started:6.2f} s")
    started = time.perf_counter()
    decided = sum(1 for _ in remedies.STAGE.ask(fleet, terms))
    print(f"  remedies     {time.perf_counter() - started:6.2f} s   {decided} decisions")
    print("one changed cluster")
    for size in (clusters // 10, clusters, clusters * 3):
        print(f"  of {size:>6}    {1e6 * one_cluster(build(size, count)):7.1f} µs")


def one_cluster(fleet: FleetWithPolicies) -> float:
    """Seconds that it takes to find out anew what is asked for on one cluster, everything common being at hand."""
    terms = terms_of(fleet, NOW)
    rules = terms.of(InForce)
    scopes, doubts = Scopes.of(fleet, rules, NOW), StaleInputs.of(fleet, rules, NOW)
    asking = Remedies.of(fleet, terms.of(GoverningObjects), scopes, doubts, Failures())
    changed = fleet.clusters()[len(fleet.clusters()) // 2]
    asking.request(changed)
    return min(_once(asking, changed) for _ in range(REPEAT))


def _once(asking: Remedies, changed: Object) -> float:
    started = time.perf_counter()
    asking.request(changed)
    return time.perf_counter() - started


def build(clusters: int, count: int) -> FleetWithPolicies:
    """A fleet in which one cluster of fifty has a failing condition."""
    objects = {obj.id: obj for obj in map(_cluster, range(clusters))}
    fleet = Fleet(objects=objects, previous={}, settings=DEFAULTS, read=ReadFiles(builtin=builtin_objects()))
    return FleetWithPolicies.by(Compiled({Remedy: tuple(_remedies(clusters, count))}), fleet)


def _cluster(number: int) -> Object:
    id_ = MANAGED_CLUSTER.id(f"cluster-{number:06}")
    failing = TYPES[number // 50 % len(TYPES)] if number % 50 == 0 else ""
    conditions = [{"type": type_, "status": "False" if type_ == failing else "True"} for type_ in TYPES]
    body: Tree = {
        "metadata": {"name": id_.name},
        "spec": {"hubAcceptsClient": True},
        "status": {"conditions": conditions},
    }
    return Object(id_, body, ())


def _remedies(clusters: int, count: int) -> Iterator[Remedy]:
    for number in range(count):
        id_ = REMEDY.id(f"remedy-{number:04}")
        named = None if number % 2 else frozenset(f"cluster-{(number * 7 + k) % clusters:06}" for k in range(10))
        match = ConditionMatch(TYPES[number % len(TYPES)], equal=True, status="False")
        yield Remedy(id_, Object(id_, {}, ()), named, (match,), (), immediate=False, actions=(f"Action{number % 5}",))


if __name__ == "__main__":
    main()
