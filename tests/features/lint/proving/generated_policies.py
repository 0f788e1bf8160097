"""Random policies whose expressions know no types, and random objects: nothing that is proved of them may be seen."""

from collections.abc import Callable
from random import Random
from typing import Any

from muster.data.kinds import MANAGED_CLUSTER
from muster.features.lint.proving.confirm import Example, evaluated
from muster.features.lint.proving.rules import policy_formulas
from muster.features.lint.proving.solver import Nothing, Solver
from muster.features.test.memory import MemorySnapshot
from muster.rules.conditions.policy import ConditionPolicy
from muster.run.checking import check_snapshot


def _texts(lines: str) -> list[str]:
    """The texts of several lines, with a semicolon between them."""
    return lines.replace("\n", " ").split("; ")


_ATOMS = _texts("""\
self.metadata.name; self.metadata.labels; self.metadata.labels['a']; lease.spec.renewTime; now; reports;
reports[0]; reports.map(r, r.adapter); adapters; children; conditions['Ready'];
previous['Ready'].lastTransitionTime; generation; reported['Ready'].stale; leaseDurationSeconds; updated;
params.a; params.b; params.c; params; fleet.adapters; 1; 'a'; null; [1, 'a']; {'a': 1}; {1: 'a'};
duration('1h'); timestamp('2026-01-01T00:00:00Z'); 1.5; 2u; b'a'; deleting; self.spec.taints;
self.spec.taints[0].timeAdded; self.status.clusterClaims; optional.none(); optional.of(1); int;
self.metadata.?labels[?'x']; self.?spec.?leaseDurationSeconds""")
_PAIRS = _texts("""\
{} == {}; {} != {}; {} < {}; {} && {}; {} || {}; {} + {}; {} - {}; {} in {}; {} * {}; {} / {}; {} % {}""")
_ONES = _texts("""\
!({}); -({}); size({}); string({}); int({}); duration({}); timestamp({}); dyn({}); ({}).exists(x, x == 'a');
({}).all(x, x > 1); ({}).filter(x, has(x.name)); ({}).map(x, x.name); ({}).map(x, x)[0]; ({}).max();
({}).join(','); ({}).orValue(1); ({}).hasValue(); has(({}).name); ({})['a']; ({})[0]; ({})[?0];
({}).startsWith('a'); ({}).matches('a'); ({}).exists_one(x, x); ({}).lowerAscii(); status(dyn({}), 'Ready');
cel.bind(v, {}, v == v); ({}).all(k, v, k == v); ({}).transformMap(k, v, v); ({}).getHours(); [{}];
{{'k': {}}}.k; dyn({}).a.b.c; ({}).sort()""")
_POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {{name: odd}}
spec:
  target: {{kind: ManagedCluster}}
  type: Odd
  params: {{a: 1, b: 5m, c: [x]}}
  rules:
{rules}"""


def _expression(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.2:
        return random.choice(_ATOMS)

    def part() -> str:
        text = _expression(random, depth - 1)
        return f"dyn({text})" if random.random() < 0.7 else text

    kind = random.random()
    if kind < 0.45:
        return random.choice(_ONES).format(part())
    if kind < 0.9:
        return f"({random.choice(_PAIRS).format(part(), part())})"
    return f"({part()} == true ? dyn({part()}) : dyn({part()}))"


def policy(random: Random) -> ConditionPolicy | None:
    """Return a random policy; None where the checker refuses what came out."""
    rules = "".join(
        f"  - name: r{number}\n    when: {f'dyn({_expression(random, random.randrange(1, 5))}) == true'!r}\n"
        "    status: 'True'\n    reason: Odd\n    message: ''\n"
        for number in range(3)
    )
    compiled = check_snapshot(MemorySnapshot({"policies/odd.yaml": _POLICY.format(rules=rules)})).compiled
    return next((found for found in compiled.of(ConditionPolicy) if found.id.name == "odd"), None)


def _some(random: Random, **fields: Callable[[], Any]) -> dict[str, Any]:
    return {name: make() for name, make in fields.items() if random.random() < 0.6}


def example(random: Random) -> Example:
    """Return what policies see of a random cluster."""
    pick = random.choice

    def text() -> str:
        return pick(("a", "b", "x", "ab"))

    def time() -> str:
        return pick(("2026-01-01T00:00:00Z", "2025-12-31T23:00:00Z", "1970-01-01T00:00:00Z"))

    def flag() -> bool:
        return random.random() < 0.5

    def many(make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(random.randrange(4))]

    def condition(type_: str, **always: Any) -> dict[str, Any]:
        rest = _some(random, reason=text, message=text, lastTransitionTime=time, observedGeneration=lambda: 1)
        return {"type": type_, "status": pick(("True", "False", "Unknown")), **rest, **always}

    def conditions(**always: Any) -> dict[str, Any]:
        return {type_: condition(type_, **always) for type_ in ("Ready", "a") if flag()}

    metadata = {"name": text(), **_some(random, labels=lambda: _some(random, a=text, x=text))}
    spec = _some(
        random,
        leaseDurationSeconds=lambda: pick((0, 1, 60)),
        taints=lambda: many(lambda: {"key": text(), "effect": "NoSelect", **_some(random, timeAdded=time, value=text)}),
    )
    status = _some(random, clusterClaims=lambda: many(lambda: {"name": text(), **_some(random, value=text)}))
    leases: tuple[dict[str, Any], ...] = ({}, {"spec": _some(random, renewTime=lambda: pick((None, time())))})
    reports = many(
        lambda: {
            "resource": {"kind": "ManagedCluster", "name": "a"},
            "adapter": text(),
            "observed_generation": pick((1, 2)),
            "observed_time": time(),
            "conditions": many(lambda: condition("Available")),
        }
    )
    children = many(lambda: {"kind": "NodePool", "namespace": "a", "name": text(), "deleting": flag(), "adapters": []})
    return Example(
        {
            "self": {
                "apiVersion": "cluster.open-cluster-management.io/v1",
                "kind": "ManagedCluster",
                "metadata": metadata,
                **_some(random, spec=lambda: spec, status=lambda: status),
            },
            "lease": pick(leases),
            "leaseDurationSeconds": pick((1, 60)),
            "generation": pick((1, 2)),
            "reports": reports,
            "reported": conditions(stale=flag()),
            "previous": conditions(),
            "children": children,
            "adapters": many(text),
            "conditions": conditions(reason=text(), message=text(), lastTransitionTime=time()),
            "updated": time(),
            "deleting": flag(),
            "fleet": _some(random, adapters=lambda: {"ManagedCluster": ["a"]}),
            "now": time(),
        }
    )


def hold(found: ConditionPolicy, random: Random) -> int:
    """Hold what is proved of a policy against random objects; return how much is proved of it."""
    formulas = policy_formulas(found, MANAGED_CLUSTER)
    solver = Solver(formulas.world)
    idle = {step.condition.at for step in formulas.steps if solver.find(step.decides) is Nothing.NEVER}
    sound = {site.at for site in formulas.failures if solver.find(site.fails, formulas.world.usual) is Nothing.NEVER}
    for _ in range(20):
        one = example(random)
        said = evaluated(found, one)
        assert not said.decided & idle, f"{[rule.when and rule.when.text for rule in found.rules]}\n{dict(one)}"
        assert not said.failed & sound, f"{[rule.when and rule.when.text for rule in found.rules]}\n{dict(one)}"
    return len(idle) + len(sound)
