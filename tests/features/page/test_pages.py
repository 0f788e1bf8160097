"""The files of a site: what is in them, and that nothing in them can do anything."""

import json
import re
from datetime import timedelta
from functools import cache

from muster.data.tree import Tree
from muster.features.history.history import CommittedTransition, FleetHistory, StatusChange, StatusStep
from muster.features.page.pages import ASSETS, FleetSite
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.support.example import EXAMPLE, NOON

HOSTILE = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: hostile, labels: {region: eu}, annotations: {a: "</script><script>alert(1)</script>"}}
spec:
  hubAcceptsClient: true
  taints: [{key: "x", value: "<img/src=x/onerror=alert(1)>", effect: NoSelect}]
"""


#: Its name is the beginning of another one's, and it asks for nothing that any cluster needs.
SHORTER = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns}
spec:
  decisionMatches:
  - clusterConditionMatch: {conditionType: Asleep, operator: Equal, conditionStatus: "True"}
  actions: [TrafficControl]
"""


ROLLOUT = """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  placementRef: {name: web}
  revision: v2
  stages: [{name: canary, selector: {matchLabels: {region: eu}}, maxConcurrency: 1}, {name: rest}]
"""


@cache
def site() -> dict[str, bytes]:
    texts = {
        str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8")
        for path in EXAMPLE.rglob("*.yaml")
        if "/." not in str(path)
    }
    run = settle(
        MemorySnapshot(
            {**texts, "clusters/hostile.yaml": HOSTILE, "remedies/dns.yaml": SHORTER, "rollout.yaml": ROLLOUT}
        ),
        NOON,
    ).last
    told = CommittedTransition("c" * 40, NOON - timedelta(hours=1), "1 cluster \u2028</script>")
    key = "managedclusters/prod-eu-1.yaml"
    history = FleetHistory((StatusStep(told, (StatusChange(key, "Unknown", "True"),)),), latest={key: [told]})
    site = FleetSite(run, "<b>example</b>", None, lambda: history)
    return {path: site.read(path) for path in site.paths()}


def handed_over(path: str) -> Tree:
    match = re.fullmatch(r'muster\.put\("\w+",(.*)\);\n', site()[path].decode("ascii"))
    assert match is not None
    return json.loads(match[1])


def test_what_shows_and_what_is_shown() -> None:
    assert set(site()) == {
        *ASSETS,
        "data/fleet.js",
        "data/placements.js",
        "data/rollouts.js",
        "data/availability.js",
        "data/clusters/0.js",
    }
    fleet = handed_over("data/fleet.js")
    assert {row[0] for row in fleet["clusters"]} == set(handed_over("data/clusters/0.js")) == set(fleet["details"])
    assert [one["budget"] for one in fleet["budgets"]] == ["default"]
    assert [(one["key"], sum(stage["clusters"] for stage in one["stages"])) for one in fleet["rollouts"]] == [
        ("shop/web", 6)
    ]
    assert len(handed_over("data/rollouts.js")["shop/web"]) == 6
    first = fleet["next"][0]
    assert first["at"] > fleet["now"] and first["count"] >= len(first["objects"]) > 0 and "/" in first["objects"][0]
    assert fleet["frozen"] == ""
    assert [pool["buckets"]["claimed"] for pool in fleet["pools"]] == [2]
    assert {one["name"]: one["applied"] for one in fleet["remedies"]} == {
        "dns": [],
        "dns-down": ["member-us-1"],
        "upgrade-member-eu-1": ["member-eu-1"],
    }
    assert {one["adapter"] for one in fleet["adapters"]} == {"dns", "hypershift", "validation"}


def test_a_cluster_says_why_each_field_is_as_it_is_and_where_it_is_said() -> None:
    details = handed_over("data/clusters/0.js")["prod-eu-1"]
    assert details["history"][0]["commit"] == "c" * 40
    assert details["day"] == {"known": 0, "states": [[23 * 3600, "Unknown", "True"]], "beats": []}
    own = next(one for one in details["objects"] if one["id"] == "ManagedCluster/prod-eu-1")
    assert {"path": "clusters/eu/prod-eu-1/cluster.yaml", "ref": ""} in own["files"]
    field = next(one for one in own["fields"] if one["field"] == "status.conditions[ManagedClusterConditionAvailable]")
    assert field["rule"].startswith("ConditionPolicy/managed-cluster-available#")
    assert field["until"]


def test_availability_over_time_is_that_of_the_clusters_that_are_shown() -> None:
    found, rows = handed_over("data/availability.js"), handed_over("data/fleet.js")["clusters"]
    assert {(one["by"], one["name"]) for one in found["groups"]} == {
        ("", ""),
        *(("region", row[6]) for row in rows),
        *(("set", row[7]) for row in rows),
    }
    for one in found["groups"]:
        of = [row[3] for row in rows if one["by"] == "" or row[6 if one["by"] == "region" else 7] == one["name"]]
        assert one["now"] == [of.count(status) for status in ("True", "Unknown", "False")]
    assert [found["commits"][number][0] for _, number, _ in found["changes"] if number >= 0] == ["c" * 40]


def test_a_placement_says_why_not() -> None:
    search = next(one for one in handed_over("data/placements.js") if one["name"] == "search")
    assert len(search["chosen"]) == 2
    assert all(one["why"] for one in search["left"])
    assert sum(one["count"] for one in search["reasons"]) == len(search["left"])


def test_nothing_that_is_shown_can_do_anything() -> None:
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in site()["index.html"].decode()
    for path, data in site().items():
        if path.startswith("data/"):
            assert b"<" not in data and data.isascii(), path
    for name in (one for one in ASSETS if one.endswith(".js")):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://(?!www\.w3)",
            site()[name].decode(),
        )
