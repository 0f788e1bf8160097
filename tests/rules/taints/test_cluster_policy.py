"""ClusterTaintPolicies: which clusters each speaks of, when its conditions hold, and in which order they act."""

import pytest

from muster.data.kinds import CLUSTER_TAINT_POLICY, KARMADA_CLUSTER
from muster.data.tree import Tree
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.settings import DEFAULTS
from muster.rules.taints.cluster_policy import ClusterTaintPolicy, taint_policies

TAINTS = [{"key": "k", "effect": "NoSchedule"}]
MEMBER = Object(
    KARMADA_CLUSTER.id("member1"),
    {"metadata": {"labels": {"tier": "gold"}}, "spec": {"provider": "aws", "region": "eu", "zones": ["a", "b"]}},
    (),
)


def policy(name: str = "p", created: str = "", **spec: Tree) -> Object:
    metadata: Tree = {"name": name, **({"creationTimestamp": created} if created else {})}
    return Object(CLUSTER_TAINT_POLICY.id(name), {"metadata": metadata, "spec": {"taints": TAINTS, **spec}}, ())


def read(*policies: Object) -> tuple[ClusterTaintPolicy, ...]:
    return taint_policies(Fleet({one.id: one for one in policies}, {}, settings=DEFAULTS))


def fields(key: str, operator: str, *values: str) -> Tree:
    return {"fieldSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}}


@pytest.mark.parametrize(
    ("target", "speaks"),
    [
        (None, True),
        ({}, True),
        ({"clusterNames": ["member1", "member2"]}, True),
        ({"clusterNames": ["member2"]}, False),
        ({"exclude": ["member1"], "clusterNames": ["member1"]}, False),
        ({"labelSelector": {"matchLabels": {"tier": "gold"}}}, True),
        ({"labelSelector": {"matchLabels": {"tier": "lead"}}}, False),
        (fields("provider", "In", "aws", "gcp"), True),
        (fields("provider", "NotIn", "aws"), False),
        (fields("region", "NotIn", "us"), True),
        (fields("zone", "In", "a", "b", "c"), True),
        (fields("zone", "In", "a"), False),
        (fields("zone", "NotIn", "a"), False),
        (fields("zone", "NotIn", "c"), True),
        (fields("zone", "Exists"), True),
        (fields("region", "DoesNotExist"), False),
        (fields("region", "in", "us"), False),
        (fields("regoin", "In", "eu"), False),
        (fields("regoin", "DoesNotExist"), True),
    ],
)
def test_whom_it_speaks_of(target: Tree, speaks: bool) -> None:
    (found,) = read(policy(**({} if target is None else {"targetClusters": target})))
    assert found.targets(MEMBER) is speaks


def test_one_zone_counts_as_a_list_of_one_and_none_is_in_none() -> None:
    (inside,) = read(policy(targetClusters=fields("zone", "In", "a")))
    assert inside.targets(Object(MEMBER.id, {"spec": {"zone": "a"}}, ()))
    assert not inside.targets(Object(MEMBER.id, {"spec": {}}, ()))


def matches(operator: str, *statuses: str, type_: str = "Ready") -> Tree:
    return [{"conditionType": type_, "operator": operator, "statusValues": list(statuses)}]


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ([], False),
        (matches("In", "True", "Unknown"), True),
        (matches("In", "False"), False),
        (matches("NotIn", "False"), True),
        (matches("NotIn", "False", type_="Absent"), False),
        (matches("Exists", "True"), False),
        ([*matches("In", "True"), *matches("In", "True", type_="Absent")], False),
    ],
)
def test_when_its_conditions_hold(conditions: Tree, holds: bool) -> None:
    (found,) = read(policy(addOnConditions=conditions, removeOnConditions=conditions))
    assert (found.adds({"Ready": "True"}), found.removes({"Ready": "True"})) == (holds, holds)


def test_a_removal_rests_on_what_is_in_doubt_unless_it_speaks_of_silence() -> None:
    said, silent = (
        read(policy(removeOnConditions=matches("In", *statuses)))[0] for statuses in (("True", "Unknown"), ("True",))
    )
    assert silent.removal_depends_on(lambda type_: type_ == "Ready")
    assert not silent.removal_depends_on(lambda type_: type_ == "Other")
    assert not said.removal_depends_on(lambda _: True)


def test_they_act_by_age_and_then_by_name() -> None:
    found = read(
        policy("c"),
        policy("b"),
        policy("z", "2026-01-01T00:00:00Z"),
        policy("a", "2026-01-02T00:00:00Z"),
    )
    assert [one.id.name for one in found] == ["z", "a", "b", "c"]
