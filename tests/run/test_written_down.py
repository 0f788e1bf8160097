"""However a fleet is written down, shards read and decide what one process does."""

import json
import random
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from muster.run.settle import settle
from muster.run.shards.sharded import decide_in_shards
from tests.run.shuffled import Shuffled
from tests.support.example import NOON
from tests.support.git import Content, new_repository
from tests.support.living import (
    BINDING,
    CONDITION_POLICY,
    REMEDY,
    TAINT_POLICY,
    Living,
    cluster,
    lease,
    observed,
    placement,
    report,
    told,
)

KARMADA = """apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: k0, labels: {region: eu}}
spec: {syncMode: Push}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: p}
spec:
  addOnConditions: [{conditionType: Ready, operator: In, statusValues: ["False"]}]
  taints: [{key: bad, effect: NoSchedule}]
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: k0}
status:
  conditions: [{type: Ready, status: "False", reason: R, message: m, lastTransitionTime: "2026-01-01T11:00:00Z"}]
"""


NAMES = ("c001", "c002", "c003", "c004")


def bodies() -> list[Tree]:
    """The objects and reports of a small fleet with policies of many kinds."""
    names = NAMES
    when = "self.metadata.labels.region == 'eu'"
    texts = [
        *(cluster(name, region="eu" if name < "c003" else "us") for name in names),
        *(lease(name, NOON - timedelta(minutes=9 * (name == "c002"))) for name in names),
        *(observed(name, healthy=name != "c001") for name in names),
        report("c001", 1),
        BINDING,
        placement("some", 2),
        REMEDY,
        KARMADA,
        TAINT_POLICY.format(kind="ManagedCluster", effect="NoSelect", when=when),
        CONDITION_POLICY.format(kind="ManagedCluster", when=when, reason="Here", hold=""),
    ]
    return [body for text in texts for body in yaml.safe_load_all(text)]


def written(objects: list[Tree], chance: random.Random) -> dict[str, Content]:
    """Write objects down: one to five in a file, in any of the forms that muster reads."""
    rest, files = chance.sample(objects, len(objects)), dict[str, Content]()
    while rest:
        some = [_shuffled(rest.pop(), chance) for _ in range(min(len(rest), chance.randint(1, 5)))]
        form = chance.choice((_documents, _list, _typed_list, _json_list, _json, _escaped, _quoted))
        suffix = "json" if form in (_json, _json_list, _escaped) else chance.choice(("yaml", "yml"))
        for number, text in enumerate(form(some)):
            files[f"{chance.choice(('x', 'clusters/a', 'policies'))}/{len(files)}-{number}.{suffix}"] = text
    return files


def _shuffled(body: Tree, chance: random.Random) -> Tree:
    return {key: body[key] for key in chance.sample(list(body), len(body))}


def _documents(some: list[Tree]) -> list[str]:
    return [yaml.safe_dump_all(some, sort_keys=False)]


def _list(some: list[Tree]) -> list[str]:
    return [yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": some}, sort_keys=False)]


def _typed_list(some: list[Tree]) -> list[str]:
    return [
        yaml.safe_dump({"items": some, "kind": "List", "apiVersion": "v1"}, sort_keys=False, default_flow_style=True)
    ]


def _json_list(some: list[Tree]) -> list[str]:
    return [json.dumps({"apiVersion": "v1", "kind": "List", "items": some})]


def _json(some: list[Tree]) -> list[str]:
    return [json.dumps(body, indent=1) for body in some]


def _escaped(some: list[Tree]) -> list[str]:
    return [json.dumps(body).replace('"kind"', '"k\\u0069nd"').replace("Policy", "Pol\\u0069cy") for body in some]


def _quoted(some: list[Tree]) -> list[str]:
    only_texts = (
        "Remedy",
        "Cluster",
        "ClusterTaintPolicy",
        "TaintPolicy",
        "ConditionPolicy",
        "ManagedClusterSetBinding",
    )
    return [yaml.safe_dump(body, default_style='"' if body["kind"] in only_texts else None) for body in some]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(5), *range(6, 13)])  # 5 writes nothing that can be cut
def test_shards_decide_what_one_process_does(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    living = Living(new_repository(tmp_path / "fleet"), chance)
    living.repo.commit(written(bodies(), chance))
    living.names = list(NAMES)
    living._speak("c003")
    for minutes in (0, 10):
        living.now = NOON + timedelta(minutes=minutes)
        question = living.question()
        whole = settle(question.snapshot(), question.now, question.remembered.memory)
        answer = decide_in_shards(question, "", Shuffled(seed), chance.choice((1, 3, 9)))
        assert told(answer.settled) == told(whole), sorted(living.repo.git("ls-files").split())
        living.land(whole)
    assert "condition Placed True" in living.repo.git("log", "--format=%B"), "the policies are in force"
