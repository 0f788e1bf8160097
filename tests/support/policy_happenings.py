"""Happenings of policies and of what they hold: each queues in `Living.ahead` what comes next.

Windows in policies of every kind, broken policies beside sound ones, prioritizers with opposite weights, clusters and
policies in one file, held and frozen effects whose requests end, renamed policies, and objects that are declared again.
"""

# ruff: noqa: E501 - documents

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import yaml

from muster.data.times import format_time
from muster.data.tree import Tree, dig

if TYPE_CHECKING:
    from tests.support.git import Content
    from tests.support.living import Living

_OWN, _OCM, _HIVE = "muster.dev/v1alpha1", "cluster.open-cluster-management.io", "hive.openshift.io/v1"
_READY = "status(conditions, 'ManagedClusterConditionAvailable')"
_DEPLOYMENT = """\
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {{name: {name}, namespace: {name}}}
spec: {{installed: true}}
status:
  powerState: Running
  conditions:
  - {{type: Ready, status: "True", reason: Running, lastTransitionTime: "2026-01-01T12:01:00Z"}}
"""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _body(version: str, kind: str, metadata: Tree, spec: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _text(*bodies: Tree) -> str:
    return str(yaml.safe_dump_all(bodies, sort_keys=False))


# -- windows in policies of every kind


def some_time(living: "Living") -> str:
    """An expression that time alone makes true or false, soon after now."""
    chance, now = living.chance, living.now
    begin = now + timedelta(minutes=chance.choice((-5, 0, 1, 3, 10)))
    end = begin + timedelta(minutes=chance.choice((1, 5, 30)))
    day = _DAYS[begin.weekday()]
    return chance.choice(
        (
            f"window('{day} {begin:%H:%M}-{end:%H:%M}')",
            f"!window('{day} {begin:%H:%M}-{end:%H:%M}')",
            f"window('{begin:%H:%M}-{end:%H:%M} in Europe/Berlin')",
            "calendar('hours')",
            "!calendar('hours')",
            f"now > timestamp('{format_time(begin)}')",
            f"now < timestamp('{format_time(end)}')",
            "now.getMinutes() % 10 < 4",
            f"(now.getMinutes() + {chance.randrange(60)}) % 60 < 20",
            f"window('{day} {begin:%H:%M}-{end:%H:%M}') || self.metadata.name.endsWith('1')",
            f"now < timestamp('{format_time(begin)}') ? self.metadata.labels['absent'] == '' : true",
        )
    )


def _when(living: "Living") -> str:
    """An expression about time or anything else."""
    other = living.chance.choice(
        (
            f"{_READY} == 'False'",
            f"{_READY} == 'Unknown'",
            "self.metadata.labels.region == 'us'",
            "true",
            "self.metadata.labels.region == 'eu'",
            "!self.metadata.name.endsWith('2')",
        )
    )
    return living.chance.choice((some_time(living), f"({some_time(living)}) && ({other})", other))


def _policy_spec(living: "Living", kind: str) -> Tree:
    """What a policy of a kind says, anything of it by the clock."""
    chance = living.chance
    target: Tree = {"kind": "ManagedCluster"}
    if chance.random() < 0.2:
        target["selector"] = {"matchLabels": {"region": chance.choice(("eu", "us"))}}
    common: Tree = {"target": target}
    if chance.random() < 0.5:
        common["matchConditions"] = [{"name": "now", "expression": _when(living)}]
    if chance.random() < 0.3:
        common["variables"] = [{"name": "timely", "expression": some_time(living)}]
    variable = ["variables.timely"] if "variables" in common else []
    whens = [chance.choice((_when(living), *variable)) for _ in range(2)]
    match kind:
        case "ConditionPolicy":
            rules = [
                {
                    "name": f"r{number}",
                    "when": when,
                    "status": chance.choice(("True", "False", "Unknown")),
                    "reason": "R",
                }
                for number, when in enumerate(whens)
            ]
            hold = {} if chance.random() < 0.5 else {"holdFor": {"True": "90s", "False": "5m"}}
            return {**common, "type": chance.choice(("Timely", "Other")), "rules": rules, **hold}
        case "TaintPolicy":
            effect = chance.choice(("NoSelect", "NoSelect", "PreferNoSelect", "NoSelectIfNew"))
            keys = chance.choice((("one", "two"), ("one", "one")))
            return {
                **common,
                "taints": [
                    {"key": f"example.com/{key}", "effect": effect, "when": when}
                    for key, when in zip(keys, whens, strict=True)
                ],
            }
        case "ScorePolicy":
            score = f"({whens[0]}) ? {chance.randint(-100, 100)} : {chance.randint(-100, 100)}"
            more = {} if chance.random() < 0.6 else {"validFor": chance.choice(("10m", "1h"))}
            return {**common, "resource": "cost", "score": "price", "expression": score, **more}
        case "PulsePolicy":
            return {
                **common,
                "rules": [{"name": "due", "when": whens[0], "reason": "due"}],
                "interval": chance.choice(("30s", "10m")),
                "event": {"type": "com.example.tell", "source": "muster", "topic": "tell"},
            }
    matches: list[Tree] = [{"expression": when} for when in whens if "Unknown" not in when and "variables" not in when]
    if not matches or chance.random() < 0.3:
        matches.append(
            {
                "clusterConditionMatch": {
                    "conditionType": "ManagedClusterConditionAvailable",
                    "operator": "Equal",
                    "conditionStatus": "False",
                }
            }
        )
    return {"decisionMatches": matches, "actions": chance.choice((["TrafficControl"], ["TrafficControl", "Page"]))}


KINDS = ("ConditionPolicy", "ConditionPolicy", "TaintPolicy", "TaintPolicy", "ScorePolicy", "PulsePolicy", "Remedy")


def a_policy_body(living: "Living", kind: str = "") -> Tree:
    """A policy of any kind."""
    kind = kind or living.chance.choice(KINDS)
    version = "remedy.karmada.io/v1alpha1" if kind == "Remedy" else _OWN
    return _body(version, kind, {"name": living.chance.choice(("timely", "other"))}, _policy_spec(living, kind))


def a_timely_policy(living: "Living") -> str:
    """A policy follows the clock, and time passes; now and then one goes."""
    paths = sorted((living.repo.path / "policies/timely").glob("*.yaml"))
    if paths and living.chance.random() < 0.25:
        gone = str(living.chance.choice(paths).relative_to(living.repo.path))
        return living.puts({gone: None}, f"no more {gone}")
    body = a_policy_body(living)
    path = f"policies/timely/{body['kind'].lower()}-{body['metadata']['name']}.yaml"
    _let_time_pass(living, living.chance.randint(1, 3))
    return living.puts({path: _text(body)}, f"{path}: {body['spec']}")


def _let_time_pass(living: "Living", times: int) -> None:
    for _ in range(times):
        living.ahead.append(partial(_later, living, living.chance.choice((1, 59, 60, 61, 200, 301, 700, 1300))))


def _later(living: "Living", seconds: int) -> str:
    living.now += timedelta(seconds=seconds)
    return f"it is {seconds} s later"


# -- broken policies beside sound ones, and renamed ones


def _policy_files(living: "Living") -> list[str]:
    return sorted(str(file.relative_to(living.repo.path)) for file in (living.repo.path / "policies").rglob("*.yaml"))


def a_broken_policy(living: "Living") -> str:
    """A policy has an error while others are sound; some things happen, and it is mended or given up."""
    chance, path = living.chance, "policies/broken.yaml"
    body, text = a_policy_body(living), ""
    body["metadata"]["name"] = "broken"
    match chance.choice(("field", "expression", "yaml", "section")):
        case "field":
            body["spec"] = {f"{key}s": value for key, value in body["spec"].items()}
        case "expression":
            body["spec"]["matchConditions"] = [{"name": "x", "expression": "self.metadata.nmae =="}]
        case "yaml":
            text = f"{_text(body)}  x: [\n"
        case "section":
            del body["spec"]
    mended = _text(a_policy_body(living, body["kind"])) if chance.random() < 0.4 else None
    after = (
        living.heartbeats,
        living.a_status,
        living.a_label,
        partial(_later, living, 301),
        partial(a_timely_policy, living),
    )
    living.ahead = [
        *(chance.choice(after) for _ in range(chance.randint(0, 3))),
        partial(living.puts, {path: mended}, f"{path} is {'mended' if mended else 'given up'}"),
        *living.ahead,
    ]
    return living.puts({path: text or _text(body)}, f"{path} is a broken {body['kind']}")


def a_renamed_policy(living: "Living") -> str:
    """A policy, a budget or a Remedy gets another name, in its file or in another."""
    chance = living.chance
    for path in chance.sample(files := _policy_files(living), len(files)):
        text = (living.repo.path / path).read_text(errors="replace")
        name = chance.choice(("a", "renamed", "z"))
        try:
            body = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if (
            not isinstance(body, dict)
            or body.get("kind") not in (*KINDS, "ClusterTaintPolicy")
            or "name" not in body.get("metadata", {})
        ):
            continue
        body["metadata"]["name"] = name
        renamed = _text(body)
        if chance.random() < 0.5:
            return living.puts({path: renamed}, f"{path} names its policy {name}")
        return living.puts(
            {path: None, f"policies/renamed/{name}-{path.replace('/', '-')}": renamed}, f"{path} moves and is {name}"
        )
    return living.nothing()


# -- placements that answer each other


def opposite_placements(living: "Living") -> str:
    """Two Placements look at each other's clusters, one with the weights of the other turned round."""
    chance = living.chance
    names = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory")
    weights = {name: chance.randint(-10, 10) for name in chance.sample(names, chance.randint(1, 3))}
    score = {"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "price"}}
    files: dict[str, Content] = {}
    for name, sign in (("near", 1), ("far", -1)):
        configurations: list[Tree] = [
            {"scoreCoordinate": {"builtIn": built_in}, "weight": sign * weight} for built_in, weight in weights.items()
        ]
        if chance.random() < 0.4:
            configurations.append({"scoreCoordinate": score, "weight": sign * chance.randint(-10, 10)})
        spec: Tree = {
            "clusterSets": ["default"],
            "numberOfClusters": chance.choice((1, 1, 2, 4)),
            "prioritizerPolicy": {
                "mode": chance.choice(("Exact", "Exact", "Additive")),
                "configurations": configurations,
            },
        }
        if chance.random() < 0.3:
            spec["tolerations"] = [
                {"key": "example.com/one", "operator": "Exists", "tolerationSeconds": chance.choice((60, 600))}
            ]
        files[f"apps/{name}.yaml"] = _text(
            _body(f"{_OCM}/v1beta1", "Placement", {"name": name, "namespace": "apps"}, spec)
        )
    if chance.random() < 0.3:
        living.ahead.append(partial(living.puts, {"apps/far.yaml": None}, "placement far goes"))
    return living.puts(files, f"placements near and far, {weights}")


# -- clusters and policies in one file


def a_mixed_file(living: "Living") -> str:
    """A cluster's file holds policies, too: as documents, or in a List. Editing the cluster removes them again."""
    chance = living.chance
    name = chance.choice(living.names)
    path = living._path(name)
    file = living.repo.path / path
    try:
        cluster = yaml.safe_load(file.read_text()) if file.exists() else None
    except yaml.YAMLError:
        cluster = None
    if not isinstance(cluster, dict) or cluster.get("kind") != "ManagedCluster":
        return living.nothing()
    bodies = (
        [a_policy_body(living), cluster]
        if chance.random() < 0.7
        else [cluster, a_policy_body(living), a_policy_body(living)]
    )
    for number, body in enumerate(bodies):
        if body is not cluster:
            body["metadata"]["name"] = f"mixed-{number}"
    as_list: Tree = {"apiVersion": "v1", "kind": "List", "items": bodies}
    text = _text(as_list) if chance.random() < 0.5 else _text(*bodies)
    alone = _text(cluster)
    _let_time_pass(living, chance.randint(0, 2))
    living.ahead.append(partial(living.puts, {path: alone}, f"{path} holds the cluster alone"))
    return living.puts({path: text}, f"{path} holds a cluster and policies: {bodies}")


# -- held and frozen effects whose requests end


def requests_that_end(living: "Living") -> str:
    """A budget, a freeze or a person holds effects that policies request for a while only."""
    chance, now = living.chance, living.now
    begin = now + timedelta(minutes=chance.choice((0, 1, 2)))
    end = begin + timedelta(minutes=chance.choice((1, 3, 10)))
    when = f"window('{_DAYS[begin.weekday()]} {begin:%H:%M}-{end:%H:%M}') || self.metadata.name.endsWith('{chance.randrange(10)}')"
    taint = _body(
        _OWN,
        "TaintPolicy",
        {"name": "ending"},
        {
            "target": {"kind": "ManagedCluster"},
            "taints": [
                {"key": "example.com/ending", "effect": chance.choice(("NoSelect", "NoSelectIfNew")), "when": when}
            ],
        },
    )
    remedy = _body(
        "remedy.karmada.io/v1alpha1",
        "Remedy",
        {"name": "ending"},
        {"decisionMatches": [{"expression": when}], "actions": ["TrafficControl"]},
    )
    budget = _body(
        _OWN,
        "DisruptionBudget",
        {"name": "default"},
        {
            "maxDisrupted": chance.choice((1, 2, "20%")),
            "ignoreUpTo": chance.choice((0, 1)),
            "cooldown": chance.choice(("30s", "5m")),
        },
    )
    files: dict[str, Content] = {"policies/ending-taint.yaml": _text(taint), "policies/budget.yaml": _text(budget)}
    if chance.random() < 0.6:
        files["policies/ending-remedy.yaml"] = _text(remedy)
    match chance.choice(("budget", "budget", "freeze", "approval")):
        case "freeze":
            period = f"{format_time(now)}/{format_time(end + timedelta(minutes=chance.choice((-1, 5))))}"
            freeze = {"name": "one", "holds": ["remedies", "placements", "rollouts"], "period": period}
            files["fleet.yaml"] = _text(_body(_OWN, "Fleet", {"name": "small"}, {"freezes": [freeze]}))
        case "approval":
            topics = {"topics": [{"name": "careful", "effects": ["taint", "remedy"]}]}
            files["fleet.yaml"] = _text(_body(_OWN, "Fleet", {"name": "small"}, {"approval": topics}))
    living.ahead += [
        *(chance.choice((living.an_approval, living.a_label, living.heartbeats)) for _ in range(chance.randint(0, 2))),
        *(partial(_later, living, chance.choice((30, 60, 61, 180, 400, 900))) for _ in range(chance.randint(2, 4))),
    ]
    if chance.random() < 0.5:
        gone: dict[str, Content] = {"policies/ending-taint.yaml": None, "policies/ending-remedy.yaml": None}
        living.ahead.append(partial(living.puts, gone, "what ended is not requested any more"))
    return living.puts(files, f"requests end: {when}, {sorted(files)}")


# -- objects that are declared again


def a_redeclared_object(living: "Living") -> str:
    """An object is declared again: another one, with the same name and a younger `creationTimestamp`."""
    chance, root = living.chance, living.repo.path
    files = [
        file for folder in ("clusters", "apps", "pools", "policies") for file in sorted((root / folder).rglob("*.yaml"))
    ]
    for file in chance.sample(files, min(len(files), 6)):
        try:
            bodies = list(yaml.safe_load_all(file.read_text()))
        except yaml.YAMLError:
            continue
        if not bodies or not all(isinstance(body, dict) and isinstance(body.get("metadata"), dict) for body in bodies):
            continue
        if file.name in ("lease.yaml", "observed.yaml"):
            continue
        at = format_time(living.now - timedelta(seconds=chance.choice((0, 0, 30, -3600))))
        for body in bodies:
            body["metadata"]["creationTimestamp"] = at
        path = str(file.relative_to(root))
        if chance.random() < 0.3:  # it is away for a run
            living.ahead.insert(0, partial(living.puts, {path: _text(*bodies)}, f"{path} is declared again at {at}"))
            return living.puts({path: None}, f"{path} goes")
        return living.puts({path: _text(*bodies)}, f"{path} is declared again at {at}")
    return living.nothing()


# -- pools, claims and latches


def a_pool(living: "Living") -> str:
    """A pool of clusters comes or changes; its provisioner reports, and people claim and release."""
    chance = living.chance
    spec: Tree = {
        "size": chance.randint(0, 2),
        "baseDomain": "ci.example.com",
        "imageSetRef": {"name": "v4.16"},
        "platform": {"aws": {"region": "eu-central-1", "credentialsSecretRef": {"name": "aws"}}},
        "claimLifetime": {"default": chance.choice(("10m", "1h"))},
        **({"hibernateAfter": "5m"} if chance.random() < 0.3 else {}),
        **({"runningCount": 1} if chance.random() < 0.3 else {}),
    }
    image = _body(
        _HIVE,
        "ClusterImageSet",
        {"name": "v4.16"},
        {"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.16.1-x86_64"},
    )
    pool = _body(_HIVE, "ClusterPool", {"name": "ci", "namespace": "pools"}, spec)
    after = (
        partial(a_claim, living),
        partial(a_provisioner, living),
        partial(_later, living, 301),
        partial(_later, living, 3601),
    )
    living.ahead += [partial(a_provisioner, living), *(chance.choice(after) for _ in range(chance.randint(2, 6)))]
    return living.puts({"pools/ci.yaml": _text(pool), "pools/image.yaml": _text(image)}, f"the pool {spec}")


def a_claim(living: "Living") -> str:
    """A claim comes, goes, or is made anew."""
    chance = living.chance
    name = chance.choice(("dev", "test"))
    path = f"pools/claim-{name}.yaml"
    if (living.repo.path / path).exists() and chance.random() < 0.4:
        return living.puts({path: None}, f"claim {name} is released")
    metadata: Tree = {"name": name, "namespace": "pools"}
    if chance.random() < 0.7:
        metadata["creationTimestamp"] = format_time(living.now)
    claim = _body(_HIVE, "ClusterClaim", metadata, {"clusterPoolName": chance.choice(("ci", "ci", "other"))})
    return living.puts({path: _text(claim)}, f"claim {name}, {claim}")


def a_provisioner(living: "Living") -> str:
    """The provisioner reports a cluster of the pool that it has installed."""
    derived = sorted((living.repo.path / "derived/clusterdeployments").glob("*"))
    names = [folder.name for folder in derived if folder.name.startswith("ci-")]
    if not names:
        return living.nothing()
    name = living.chance.choice(names)
    return living.puts({f"pools/{name}/observed.yaml": deployed(name)}, f"{name} is installed")


def deployed(name: str) -> str:
    """What a provisioner reports of a cluster of the pool that it installed."""
    return _DEPLOYMENT.format(name=name)


def a_latch(living: "Living") -> str:
    """A Karmada cluster's condition puts on a taint that stays until another takes it off."""
    chance = living.chance
    policy = _body(
        "policy.karmada.io/v1alpha1",
        "ClusterTaintPolicy",
        {"name": chance.choice(("drain", "other"))},
        {
            "targetClusters": chance.choice(
                ({}, {"clusterNames": ["k0"]}, {"clusterNames": ["k0", "k1"]}, {"clusterNames": ["k1"]})
            ),
            "addOnConditions": [{"conditionType": "Drained", "operator": "In", "statusValues": ["False"]}],
            "removeOnConditions": [
                {"conditionType": "Drained", "operator": chance.choice(("In", "NotIn")), "statusValues": ["True"]}
            ],
            "taints": [
                {"key": "drain", "effect": "NoSchedule"},
                {"key": chance.choice(("drain", "more")), "effect": "NoExecute"},
            ][: chance.randint(1, 2)],
        },
    )
    cluster = _body(
        "cluster.karmada.io/v1alpha1", "Cluster", {"name": "k0", "labels": {"region": "eu"}}, {"syncMode": "Push"}
    )
    observed: Tree = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "k0"},
        "status": {
            "conditions": [
                {
                    "type": type_,
                    "status": chance.choice(("True", "False", "Unknown")),
                    "reason": "R",
                    "message": "m",
                    "lastTransitionTime": format_time(living.now),
                }
                for type_ in ("Drained", "Ready")[: chance.randint(1, 2)]
            ]
        },
    }
    files: dict[str, Content] = {
        "clusters/k0/cluster.yaml": _text(cluster),
        "clusters/k0/observed.yaml": _text(observed),
    }
    if chance.random() < 0.6:
        files["policies/latch.yaml"] = _text(policy)
    _let_time_pass(living, chance.randint(0, 2))
    return living.puts(files, f"k0 says {dig(observed, 'status')}, {policy['spec']}")


#: All of them, as often as they happen among the others.
OF_POLICIES: tuple[Callable[["Living"], str], ...] = (
    a_timely_policy,
    a_timely_policy,
    a_timely_policy,
    a_timely_policy,
    a_broken_policy,
    a_broken_policy,
    a_renamed_policy,
    a_renamed_policy,
    opposite_placements,
    opposite_placements,
    a_mixed_file,
    a_mixed_file,
    requests_that_end,
    requests_that_end,
    a_redeclared_object,
    a_redeclared_object,
    a_redeclared_object,
    a_pool,
    a_claim,
    a_provisioner,
    a_latch,
    a_latch,
)
