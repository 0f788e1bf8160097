"""Happenings that take more than one step, or that only few lives have: each queues in `Living.ahead` what comes next."""

# ruff: noqa: E501 - documents

import json
import os
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import yaml

from muster.data.times import format_time
from muster.data.tree import Tree
from tests.support.breakages import WAYS, edit_of
from tests.support.calls import condition, functions, macro

if TYPE_CHECKING:
    from tests.support.git import Content
    from tests.support.living import Living

_TAINTS = (
    "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {{name: outage}}\nspec:\n  target: {{kind: ManagedCluster}}\n  taints:\n"
    "  - {{key: example.com/silent, effect: {effect}, when: \"status(conditions, 'ManagedClusterConditionAvailable') == 'Unknown' && self.metadata.labels.region != 'us'\"}}\n"
    "  - {{key: example.com/region, effect: NoSelectIfNew, when: \"self.metadata.labels.region == '{region}'\"}}\n"
)
_CALLING = "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\nmetadata: {name: calling}\nspec:\n  target: {kind: ManagedCluster}\n  taints:\n"
_BUDGET = (
    "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {{name: default}}\n"
    "spec: {{maxDisrupted: {most}, ignoreUpTo: 0, cooldown: {cooldown}}}\n"
)
_MINUTES = (-1500, -40, -31, -29, -10, -1, 0, 0, 4, 6)
_TYPES = ("Applied", "Available", "Health")


# -- an outage


def an_outage(living: "Living") -> str:
    """All are silent under a budget that cools down; some things change meanwhile, and they come back bit by bit."""
    chance = living.chance
    most, cooldown = chance.choice(("1", "20%", "50%")), chance.choice(("30s", "1m", "10m"))
    region, effect = chance.choice(("eu", "us", "ap")), chance.choice(("NoSelect", "NoSelectIfNew", "PreferNoSelect"))
    left = chance.sample(living.names, min(len(living.names), chance.choice((0, 1, 1, 2))))
    back = [name for name in living.names if name not in left]
    chance.shuffle(back)
    middle = chance.randint(0, len(back))
    living.ahead += [
        partial(later, living, chance.choice((301, 310, 400))),
        *(
            chance.choice((living.a_label, living.a_label, living.a_move, living.a_report))
            for _ in range(chance.randint(0, 3))
        ),
        partial(all_speak, living, back[:middle]),
        *([living.a_label] if chance.random() < 0.5 else []),
        partial(all_speak, living, back[middle:]),
        *(partial(later, living, chance.choice((1, 10, 29, 31, 61, 601))) for _ in range(3)),
        *([partial(all_speak, living, left)] if chance.random() < 0.5 else []),
    ]
    return living.puts(
        {
            "policies/outage.yaml": _TAINTS.format(effect=effect, region=region),
            "policies/budget.yaml": _BUDGET.format(most=most, cooldown=cooldown),
        },
        f"an outage begins, of which {left} do not come back: budget {most}, cooldown {cooldown}, {effect}, {region}",
    )


def later(living: "Living", seconds: int) -> str:
    """Time passes."""
    living.now += timedelta(seconds=seconds)
    return f"it is {seconds} s later"


def all_speak(living: "Living", names: list[str]) -> str:
    """Some clusters are heard of."""
    living.now += timedelta(seconds=living.chance.choice((0, 1, 5)))
    for name in names:
        if name in living.names:
            living.speaks(name)
    return f"{names} speak"


# -- reports


def payload(
    name: str,
    at: datetime,
    *,
    adapter: str,
    generation: int = 1,
    statuses: tuple[str, ...] = ("True",) * 3,
    types: tuple[str, ...] = _TYPES,
) -> Tree:
    """What an adapter posts."""
    return {
        "resource": {"kind": "ManagedCluster", "name": name},
        "adapter": adapter,
        "observed_generation": generation,
        "observed_time": format_time(at),
        "conditions": [{"type": t, "status": s} for t, s in zip(types, (*statuses, "True"), strict=False)],
    }


def adapter_report(name: str, spec: Tree, *, namespace: str = "") -> str:
    """An AdapterReport."""
    metadata = {"name": name, "namespace": namespace or spec["resource"]["name"]}
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "AdapterReport", "metadata": metadata, "spec": spec}
    return str(yaml.safe_dump(body, sort_keys=False))


def a_verdict(living: "Living") -> str:
    """A report of which anything may become, and which then grows old."""
    chance, name, adapter = (
        living.chance,
        living.chance.choice(living.names),
        living.chance.choice(("validation", "dns")),
    )
    minutes, generation = chance.choice(_MINUTES), chance.choice((1, 1, 1, 2, 3, 9))
    statuses: tuple[str, ...] = ("True", chance.choice(("True", "False", "Unknown")), "True")
    types = chance.choice((_TYPES, _TYPES, _TYPES, _TYPES[:2], (*_TYPES, "Health")))
    spec = payload(
        name,
        living.now + timedelta(minutes=minutes),
        adapter=adapter,
        generation=generation,
        statuses=statuses,
        types=types,
    )
    other = chance.choice(living.names)
    what = chance.choice(("", "", "", "", "nobody", "elsewhere"))
    spec["resource"] = {"kind": "ManagedCluster", "name": "nobody" if what == "nobody" else name}
    called = f"{adapter}{chance.choice(('', '', '-b'))}"
    namespace = other if what == "elsewhere" else name
    text = adapter_report(called, spec, namespace=namespace)
    if chance.random() < 0.6:
        living.ahead += [
            partial(later, living, chance.choice((60, 600, 1500, 1801))) for _ in range(chance.randint(1, 4))
        ]
        living.ahead.insert(len(living.ahead) - 1, chance.choice((living.nothing, living.a_label, living.heartbeats)))
    said = f"{called} reports of {spec['resource']['name']}@{generation} in {namespace}, {minutes} min, {statuses[1]}, {types}"
    return living.puts({f"reports/{name}-{called}.yaml": text}, said)


# -- files that do not count, and derived ones


def an_ignored_folder(living: "Living") -> str:
    """`.musterignore` names something, or nothing any more; in the same commit something else changes."""
    chance, name = living.chance, living.chance.choice(living.names)
    pattern = chance.choice(
        (f"clusters/{name}/", "reports/", "scores/", "pools/", "docs/", f"**/{name}/lease.yaml", None, None, None)
    )
    there = (living.repo.path / ".musterignore").exists()
    if pattern is None and not there:
        return living.nothing()
    if there and chance.random() < 0.7:
        pattern = None
    living.ahead.append(living.a_label)
    if pattern is not None:  # most of it is a slip, and mended
        living.ahead += [living.heartbeats, partial(living.puts, {".musterignore": None}, "nothing is ignored")]
    return living.puts(
        {".musterignore": None if pattern is None else f"{pattern}\n", "docs/notes.md": f"{chance.random()}\n"},
        f"ignored: {pattern}",
    )


def a_breakage(living: "Living") -> str:
    """The file of one object breaks, some things happen, and it is repaired; or nobody repairs it for long."""
    chance, root = living.chance, living.repo.path
    files = [
        file
        for file in sorted(root.rglob("*.yaml"))
        if not file.relative_to(root).parts[0].startswith(("derived", "."))
    ]
    for file in chance.sample(files, min(len(files), 5)):
        path, text = str(file.relative_to(root)), file.read_text(errors="replace")
        way = chance.choice(sorted(WAYS))
        try:
            edit = None if "\n---\n" in text or way == "ignored" else edit_of(way, path, text)
        except (AssertionError, StopIteration, yaml.YAMLError, TypeError, KeyError, AttributeError):
            continue  # it is broken already, or no object
        if edit is None or any(entry.mode != b"100644" for entry in edit.values()):
            continue
        broken: dict[str, Content] = {os.fsdecode(other): entry.content for other, entry in edit.items()}
        repair: dict[str, Content] = {**dict.fromkeys(broken), path: text}
        living.ahead += [
            chance.choice((living.heartbeats, living.a_label, living.a_status)) for _ in range(chance.randint(0, 3))
        ]
        living.ahead.append(partial(living.puts, repair, f"{path} is repaired"))
        return living.puts(broken, f"{path}: {way}")
    return living.nothing()


def a_name_of_another(living: "Living") -> str:
    """A cluster's file gives it another name, and where it lies is as it was."""
    name = living.chance.choice(living.names)
    path = next(
        (
            str(file.relative_to(living.repo.path))
            for file in sorted(living.repo.path.glob(f"clusters/**/{name}/cluster.yaml"))
        ),
        "",
    )
    if not path:
        return living.nothing()
    text, called = (
        (living.repo.path / path).read_text(),
        living.chance.choice((f"{name}x", living.chance.choice(living.names))),
    )
    living.ahead += [living.a_status, partial(living.puts, {path: text}, f"{path} is what it was")]
    return living.puts({path: text.replace(f"name: {name}\n", f"name: {called}\n")}, f"{path} calls {name} {called}")


def a_hand_edit(living: "Living") -> str:
    """A person edits, copies or moves a derived file."""
    root, chance = living.repo.path, living.chance
    derived = sorted(root.glob("derived/*/**/*.yaml"))
    if not derived:
        return living.nothing()
    path = chance.choice(derived)
    at, text = str(path.relative_to(root)), path.read_text()
    elsewhere = str((path.parent / chance.choice((f"{chance.choice(living.names)}.yaml", "zz.yaml"))).relative_to(root))
    if chance.random() < 0.3:
        gone: dict[str, Content] = {at: None} if chance.random() < 0.5 and elsewhere != at else {}
        return living.puts({elsewhere: text, **gone}, f"{at} is copied to {elsewhere}, {gone}")
    try:
        body = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return living.nothing()
    if not isinstance(body, dict):
        return living.nothing()
    what = chance.choice(_EDITS)
    what(body, chance, living.names)
    return living.puts({at: yaml.safe_dump(body, sort_keys=False)}, f"{at}: {what.__name__}")


def _no_status(body: Tree, _chance: random.Random, _names: list[str]) -> None:
    body.pop("status", None)


def _no_spec(body: Tree, _chance: random.Random, _names: list[str]) -> None:
    body.pop("spec", None)


def _no_bookkeeping(body: Tree, _chance: random.Random, _names: list[str]) -> None:
    _section(body, "status").pop("muster", None)


def _another_name(body: Tree, chance: random.Random, names: list[str]) -> None:
    _section(body, "metadata")["name"] = chance.choice((*names, "nobody"))


def _another_namespace(body: Tree, chance: random.Random, names: list[str]) -> None:
    metadata = _section(body, "metadata")
    if "namespace" in metadata:
        metadata["namespace"] = chance.choice(names)


def _other_statuses(body: Tree, chance: random.Random, _names: list[str]) -> None:
    conditions = _section(body, "status").get("conditions")
    for condition_ in conditions if isinstance(conditions, list) else ():
        if isinstance(condition_, dict):
            condition_["status"] = chance.choice(("True", "False", "Unknown"))


def _a_taint(body: Tree, _chance: random.Random, _names: list[str]) -> None:
    taint = {"key": "example.com/t", "effect": "NoSelect", "timeAdded": "2026-01-01T11:00:00Z"}
    _section(body, "spec")["taints"] = [taint]


def _section(body: Tree, name: str) -> Tree:
    found = body.get(name)
    if not isinstance(found, dict):
        found = body[name] = {}
    return found


_EDITS: tuple[Callable[[Tree, random.Random, list[str]], None], ...] = (
    _no_status,
    _no_spec,
    _no_bookkeeping,
    _another_name,
    _another_namespace,
    _other_statuses,
    _a_taint,
)


# -- functions of CEL


def a_function(living: "Living") -> str:
    """A policy calls some functions of CEL, with arguments that time moves; time passes."""
    chance = living.chance
    path = living.repo.path / "policies/calling.yaml"
    if chance.random() < 0.1 and path.exists():
        return living.puts({"policies/calling.yaml": None}, "no more calls")
    whens = [condition(chance, chance.choice(functions())) for _ in range(3)] + [macro(chance)]
    taints = [
        {"key": f"example.com/{number}", "effect": "PreferNoSelect", "when": when} for number, when in enumerate(whens)
    ]
    listed = "".join(
        f"  - {line}" if not number else f"    {line}"
        for taint in taints
        for number, line in enumerate(yaml.safe_dump(taint).splitlines(keepends=True))
    )
    living.ahead += [partial(later, living, chance.choice((1, 59, 61, 125, 600))) for _ in range(2)]
    return living.puts({"policies/calling.yaml": f"{_CALLING}{listed}"}, f"taints when {whens}")


# -- freezes


def a_freeze(living: "Living") -> str:
    """From now on, or soon, some effects are frozen; time goes past its begin and end, and people approve some."""
    chance = living.chance
    freezes: list[Tree] = []
    for name in chance.sample(("one", "two"), chance.choice((1, 1, 2))):
        begin = living.now + timedelta(seconds=chance.choice((-100, 0, 5, 61)))
        end = begin + timedelta(seconds=chance.choice((110, 301, 4000)))
        when = (
            {"calendar": "hours"} if chance.random() < 0.2 else {"period": f"{format_time(begin)}/{format_time(end)}"}
        )
        holds = chance.sample(("rollouts", "remedies", "placements", "deletions"), chance.randint(1, 4))
        selector = chance.choice(({}, {}, {"selector": {"matchLabels": {"region": chance.choice(("eu", "us"))}}}))
        freezes.append({"name": name, "holds": holds, **when, **selector})
    topics = {"approval": {"topics": [{"name": "careful", "effects": ["remedy", "removal", "rollout"]}]}}
    spec: Tree = {"freezes": freezes, **(topics if chance.random() < 0.3 else {})}
    after = (
        living.a_status,
        living.a_label,
        living.a_placement,
        living.an_approval,
        living.a_farewell,
        living.a_newcomer,
        partial(a_rollout, living),
    )
    living.ahead += [
        *(chance.choice(after) for _ in range(chance.randint(0, 3))),
        partial(later, living, chance.choice((5, 61, 100))),
        living.an_approval,
        *(chance.choice(after) for _ in range(chance.randint(0, 2))),
        partial(later, living, chance.choice((110, 301, 4000))),
    ]
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "small"}, "spec": spec}
    return living.puts({"fleet.yaml": str(yaml.safe_dump(body, sort_keys=False))}, f"Fleet {spec}")


# -- rollouts


def a_rollout(living: "Living") -> str:
    """A revision goes to a placement's clusters, stage by stage or by a strategy, while other things happen."""
    chance, name = living.chance, living.chance.choice(("web", "web", "db"))
    path = f"apps/rollout-{name}.yaml"
    if chance.random() < 0.1 and (living.repo.path / path).exists():
        return living.puts({path: None}, f"no more rollout {name}")
    spec = rollout_spec(chance)
    for _ in range(chance.randint(2, 6)):
        living.ahead.append(partial(later, living, chance.choice((0, 1, 1, 1, 30, 59, 60, 61, 300, 301))))
        living.ahead.append(
            chance.choice((living.a_status, living.a_status, living.a_label, living.heartbeats, living.a_report))
        )
    body = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": spec,
    }
    return living.puts({path: str(yaml.safe_dump(body, sort_keys=False))}, f"rollout {name}: {spec}")


def rollout_spec(chance: random.Random) -> Tree:
    """What a Rollout may say."""
    limits: Tree = {
        "minSuccessTime": chance.choice(("0s", "60s", "5m")),
        "progressDeadline": chance.choice(("None", "60s", "5m")),
        "maxFailures": chance.choice((0, 0, 1, "20%")),
        "maxConcurrency": chance.choice((0, 1, 2, "50%")),
    }
    available = "status(conditions, 'ManagedClusterConditionAvailable') == 'True'"
    gate: Tree = {
        "name": "well",
        "onFalse": chance.choice(("Wait", "Wait", "Fail")),
        "expression": chance.choice(
            (
                available,
                f"{available} && rollout.revision != 'v3'",
                "reports.all(r, r.adapter != 'dns')",
                "now - rollout.since > duration('45s')",
                "size(works) == 0",
                "self.metadata.labels.region != 'us'",
            )
        ),
    }
    spec: Tree = {
        "placementRef": {"name": chance.choice(("some", "some", "eu", "other"))},
        "revision": chance.choice(("v1", "v1", "v2", "v2", "v3", {"from": "self.metadata.name + '-1'"})),
        "onFailure": chance.choice(("Pause", "Rollback", "Rollback")),
        "paused": chance.random() < 0.05,
    }
    if chance.random() < 0.3:
        kind = chance.choice(("all", "progressive", "progressivePerGroup"))
        own = {key: value for key, value in limits.items() if key != "maxConcurrency" or kind == "progressive"}
        spec["strategy"] = {"type": kind[0].upper() + kind[1:], kind: own}
        spec["gate"] = [gate]
    else:
        region = chance.choice(("eu", "us"))
        spec["stages"] = [
            {"name": "first", "selector": {"matchLabels": {"region": region}}, "gate": [gate], **limits},
            {"name": "rest", "sortBy": "region", "approval": chance.random() < 0.1, **limits},
        ][: chance.choice((1, 2, 2, 2))]
    return spec


# -- projections

_PROJECTION = "apiVersion: muster.dev/v1alpha1\nkind: Projection\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def a_projection(living: "Living") -> str:
    """A Projection comes, changes or goes; some of them cannot be carried out for some clusters, or for any."""
    chance = living.chance
    name = chance.choice(("each", "web", "list"))
    path = f"projections/{name}.yaml"
    if chance.random() < 0.2 and (living.repo.path / path).exists():
        return living.puts({path: None}, f"projection {name} goes")
    select: Tree = chance.choice(
        ({}, {"matchLabels": {"region": "eu"}}, {"expression": "cluster.metadata.labels.region != 'us'"})
    )
    spec: Tree = {"select": select}
    if name == "list":
        spec |= {
            "forEach": "all",
            "path": chance.choice(("'list.json'", "'other/list.yaml'")),
            "objects": "clusters.map(c, {'name': c.metadata.name, 'region': c.metadata.labels.region, 'web': placements[?'apps/some'].orValue([]).exists(p, p == c.metadata.name)})",
        }
    else:
        spec |= {
            "forEach": "clusters"
            if name == "each"
            else chance.choice(
                (
                    {"placement": "apps/some"},
                    {"placement": "apps/eu"},
                    {"placement": "apps/other"},
                    {"rollout": "apps/web"},
                )
            ),
            "path": chance.choice(
                (
                    "cluster.metadata.name + '.yaml'",
                    "cluster.metadata.name + '.yaml'",
                    "cluster.metadata.labels.region + '/' + cluster.metadata.name + '.yaml'",
                    "cluster.metadata.labels.region + '.yaml'",
                    "(cluster.metadata.name.endsWith('1') ? '../' : '') + cluster.metadata.name + '.yaml'",
                )
            ),
            "object": chance.choice(
                (
                    "{'region': cluster.metadata.labels.region, 'up': status(conditions, 'ManagedClusterConditionAvailable')}",
                    "{'cpu': cluster.status.allocatable.cpu, 'taints': cluster.spec.?taints.orValue([]).map(t, t.key)}",
                    "{'whole': cluster}",
                    "{'rollouts': rollouts}",
                )
            ),
        }
    return living.puts({path: _PROJECTION.format(name=name, spec=json.dumps(spec))}, f"projection {name}: {spec}")


def a_projected_hand_edit(living: "Living") -> str:
    """Somebody edits, removes or adds a file of a Projection."""
    folder = living.repo.path / "derived/projections"
    files = sorted(str(file.relative_to(living.repo.path)) for file in folder.glob("*/**/*") if file.is_file())
    path = living.chance.choice([*files, "derived/projections/each/note.txt", "derived/projections/gone/a.yaml"])
    text = living.chance.choice((None, "a: 1\n")) if path in files else "hand: made\n"
    return living.puts({path: text}, f"{path} is edited by hand: {text}")


# -- works


_SET = (
    "apiVersion: work.open-cluster-management.io/v1alpha1\nkind: ManifestWorkReplicaSet\nmetadata: {{name: {name}, namespace: apps{more}}}\nspec:\n"
    "  manifestWorkTemplate:\n    workload: {{manifests: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web}}, data: {{v: '{version}'}}}}]}}\n"
    "{rules}  placementRefs: [{refs}]\n"
)
_RULES = "    manifestConfigs: [{resourceIdentifier: {resource: configmaps, name: web}, conditionRules: [{type: CEL, condition: Progressing, celExpressions: ['false']}]}]\n"


def a_set_of_works(living: "Living") -> str:
    """A set of works comes, changes or goes; time passes, and agents report."""
    chance, name = living.chance, living.chance.choice(("web", "web", "db"))
    if chance.random() < 0.1:
        return living.puts({f"apps/works-{name}.yaml": None}, f"the set {name} goes")
    bodies = [
        f"maxConcurrency: {chance.choice((0, 1, 2, '40%'))}",
        f"maxFailures: {chance.choice((0, 1, '50%'))}",
        f"minSuccessTime: {chance.choice(('0s', '1m', '10m'))}",
        f"progressDeadline: {chance.choice(('None', '2m', '20m'))}",
    ]
    if chance.random() < 0.2:
        bodies.append(f"mandatoryDecisionGroups: [{{groupIndex: {chance.choice((0, 0, 1))}}}]")
    refs = []
    for placement in chance.sample(("some", "eu", "other"), chance.choice((1, 1, 2))):
        type_ = chance.choice(("All", "Progressive", "Progressive", "ProgressivePerGroup"))
        body = {"All": f"all: {{{bodies[3]}}}", "Progressive": f"progressive: {{{', '.join(bodies)}}}"}.get(
            type_, f"progressivePerGroup: {{{', '.join(bodies[1:])}}}"
        )
        refs.append(f"{{name: {placement}, rolloutStrategy: {{type: {type_}, {body}}}}}")
    more = chance.choice(("", "", ", labels: {a: b}", ", annotations: {muster.dev/paused: 'true'}"))
    text = _SET.format(
        name=name, more=more, version=chance.choice("123"), rules=chance.choice(("", _RULES)), refs=", ".join(refs)
    )
    more_to_come = (
        a_work_report,
        a_work_report,
        a_work_report,
        partial(later, seconds=61),
        partial(later, seconds=601),
    )
    living.ahead += [partial(chance.choice(more_to_come), living) for _ in range(chance.randint(3, 8))]
    return living.puts({f"apps/works-{name}.yaml": text}, f"the set {name}: {text}")


def a_work_report(living: "Living") -> str:
    """An agent reports a work that its cluster has, of this or another generation."""
    chance, found = living.chance, sorted((living.repo.path / "derived").glob("manifestworks/**/*.yaml"))
    if not found:
        return living.nothing()
    body = yaml.safe_load(chance.choice(found).read_text())
    cluster, work = body["metadata"]["namespace"], body["metadata"]["name"]
    generation = chance.choice((body["metadata"]["generation"],) * 4 + (1,))
    types = [("Applied", chance.choice(("True", "True", "True", "False"))), ("Available", "True")]
    types += [
        (type_, chance.choice(statuses))
        for type_, statuses in (
            ("Progressing", ("True", "False", "False", "Unknown")),
            ("Degraded", ("True", "False", "False")),
        )
        if chance.random() < 0.4
    ]
    since = format_time(living.now - timedelta(seconds=chance.choice((0, 10, 600))))
    conditions = [
        {
            "type": t,
            "status": s,
            "reason": "R",
            "observedGeneration": generation,
            **({"lastTransitionTime": since} if chance.random() < 0.8 else {}),
        }
        for t, s in types
    ]
    report = {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": work, "namespace": cluster},
        "status": {"conditions": conditions},
    }
    living.reports_work(cluster, work, yaml.safe_dump(report))
    return f"{cluster} reports {work} of generation {generation}: {types}"


#: All of them, as often as they happen among the others.
MORE: tuple[Callable[["Living"], str], ...] = (
    an_outage,
    an_outage,
    a_verdict,
    a_verdict,
    a_verdict,
    an_ignored_folder,
    a_hand_edit,
    a_hand_edit,
    a_name_of_another,
    a_function,
    a_function,
    a_function,
    a_rollout,
    a_rollout,
    a_rollout,
    a_rollout,
    a_freeze,
    a_freeze,
    a_projection,
    a_projection,
    a_projection,
    a_projection,
    a_projected_hand_edit,
    a_set_of_works,
    a_set_of_works,
    a_set_of_works,
    a_work_report,
    a_breakage,
    a_breakage,
    a_breakage,
)
