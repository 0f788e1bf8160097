"""What a table shows of an object."""

import base64
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cli.cells import held_effects, short_label
from muster.cli.columns import COLUMNS, rows
from muster.data.kinds import ALL
from muster.data.times import parse_time
from muster.rules.policies.csr import issued_certificate
from tests.support.authority import server_certificate

EXAMPLES = Path(__file__).parents[1] / "schemas" / "examples.yaml"
NOW = parse_time("2026-01-03T00:00:00Z")
Body = dict[str, Any]


def shown(kind: str, *bodies: Body, namespaced: bool = False, now: datetime = NOW) -> list[dict[str, str]]:
    headers, cells = rows(
        kind, [{"kind": kind, "metadata": {"name": "o"}, **body} for body in bodies], now, namespaced=namespaced
    )
    return [dict(zip((heading.text for heading in headers), row, strict=True)) for row in cells]


def conditions(**statuses: str) -> Body:
    said = [
        {"type": type_, "status": status, "reason": f"{type_}Why", "lastTransitionTime": "2026-01-02T23:00:00Z"}
        for type_, status in statuses.items()
    ]
    return {"status": {"conditions": said}}


def test_nobody_vouches_for_a_cluster_that_was_not_let_in() -> None:
    asks, denied, let_in = shown(
        "ManagedCluster",
        conditions(ManagedClusterConditionAvailable="True"),
        conditions(ManagedClusterConditionAvailable="True", HubAcceptedManagedCluster="False"),
        conditions(ManagedClusterConditionAvailable="Unknown", HubAcceptedManagedCluster="True"),
    )
    assert asks == {"NAME": "o", "ACCEPTED": "no", "AVAILABLE": "-", "SINCE": "-", "TAINTS": "-", "REASON": "-"}
    assert (denied["ACCEPTED"], denied["AVAILABLE"]) == ("denied", "True")
    assert (let_in["AVAILABLE"], let_in["SINCE"]) == ("Unknown", "1h")


@pytest.mark.parametrize(
    ("message", "members"),
    [("12 ManagedClusters selected", "12"), ("No ManagedCluster selected", "0"), ("12 things", "-"), ("", "-")],
)
def test_members_of_a_set(message: str, members: str) -> None:
    said = {"type": "ClusterSetEmpty", "status": "False", "message": message}
    [row] = shown("ManagedClusterSet", {"status": {"conditions": [said]}})
    assert row["MEMBERS"] == members


def test_either_vocabulary_of_a_node_pool() -> None:
    ready, reconciled = shown("NodePool", conditions(Ready="False"), conditions(Reconciled="True"), namespaced=True)
    assert (ready["READY"], ready["REASON"]) == ("False", "ReadyWhy")
    assert (reconciled["READY"], reconciled["REASON"]) == ("True", "ReconciledWhy")


def test_a_placement_says_what_is_wrong_before_how_well_it_is_satisfied() -> None:
    wrong, fine = shown(
        "Placement",
        conditions(PlacementSatisfied="False", PlacementMisconfigured="True"),
        conditions(PlacementSatisfied="False", PlacementMisconfigured="False"),
    )
    assert (wrong["REASON"], fine["REASON"]) == ("PlacementMisconfiguredWhy", "PlacementSatisfiedWhy")


def test_a_long_list_of_clusters_is_whole() -> None:
    many = {"status": {"decisions": [{"clusterName": f"c{number}"} for number in range(7)]}}
    few = {"status": {"decisions": [{"clusterName": "c0"}]}}
    assert [row["CLUSTERS"] for row in shown("PlacementDecision", many, few, {})] == [
        "c0, c1, c2, c3, c4, c5, c6",
        "c0",
        "-",
    ]


def test_what_counts_of_an_adapter() -> None:
    accepted = {
        "observed_generation": 3,
        "observed_time": "2026-01-02T23:55:00Z",
        "adapter": "dns",
        "conditions": [{"type": "Available", "status": "True"}],
    }
    spec = {**accepted, "observed_generation": 4, "resource": {"kind": "NodePool", "name": "a"}}
    both, unread = shown(
        "AdapterReport",
        {"metadata": {"namespace": "c"}, "spec": spec, "status": {"muster": {"accepted": accepted}}},
        {"status": {"muster": {"accepted": accepted}}},
    )
    assert (both["OBJECT"], both["GENERATION"], both["COUNTS"]) == ("NodePool/c/a", "4", "True@3, 5m ago")
    assert (unread["ADAPTER"], unread["GENERATION"], unread["COUNTS"]) == ("dns", "-", "True@3, 5m ago")


def test_a_certificate_and_when_it_ends(tmp_path: Path) -> None:
    pem = base64.b64encode(server_certificate(tmp_path)[0].read_bytes()).decode()
    issued: Body = {"status": {"certificate": pem}}
    found = issued_certificate(issued)
    assert found is not None
    ended, going, waiting, odd = (
        *[shown("CertificateSigningRequest", issued, now=found.end + timedelta(hours=hours))[0] for hours in (2, -2)],
        *shown("CertificateSigningRequest", conditions(Denied="True"), {"status": {"certificate": "odd"}}),
    )
    assert [ended["EXPIRES"], going["EXPIRES"], waiting["EXPIRES"], odd["EXPIRES"]] == ["2h ago", "in 2h", "-", "-"]
    assert [ended["STATE"], waiting["STATE"], odd["STATE"]] == ["Issued", "Denied", "Issued"]
    assert shown("CertificateSigningRequest", {}, conditions(Approved="True")) == [
        {"NAME": "o", "CLUSTER": "-", "STATE": state, "EXPIRES": "-", "USER": "-"} for state in ("Waiting", "Approved")
    ]


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({}, "Waiting"),
        ({"spec": {"namespace": "c"}}, "-"),
        ({"spec": {"namespace": "c"}, **conditions(ClusterRunning="False", Pending="False")}, "ClusterRunningWhy"),
        ({"metadata": {"name": "o", "deletionTimestamp": "T"}, "spec": {"namespace": "c"}}, "Ended"),
    ],
)
def test_the_state_of_a_claim(body: Body, state: str) -> None:
    assert [row["STATE"] for row in shown("ClusterClaim", body)] == [state]


def test_what_is_held_on_any_object_has_a_column() -> None:
    held = {"status": {"muster": {"held": [{"effect": "taint example.com/a:NoSelect"}, {"effect": "removal"}]}}}
    assert [row["HELD"] for row in shown("Cluster", held, {})] == ["taint a:NoSelect, removal", "-"]
    assert "HELD" not in shown("Cluster", {})[0]
    assert held_effects(held) == ["taint a:NoSelect", "removal"]
    assert short_label("condition example.com/Odd") == "condition Odd"


def test_a_kind_without_columns_of_its_own_shows_its_conditions() -> None:
    [row] = shown(
        "Odd", {"metadata": {"name": "o", "namespace": "n"}, **conditions(A="True", B="False")}, namespaced=True
    )
    assert row == {"NAMESPACE": "n", "NAME": "o", "CONDITIONS": "A=True, B=False"}


def test_every_kind_has_columns_and_each_example_a_cell_in_them() -> None:
    examples = {body["kind"]: body for body in yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))}
    assert {kind.name for kind in ALL} <= COLUMNS.keys()
    for name in (
        "ConditionPolicy",
        "TaintPolicy",
        "PulsePolicy",
        "NotificationPolicy",
        "ScorePolicy",
        "PolicyTest",
        "Projection",
        "Approval",
        "Waiver",
        "ClusterTaintPolicy",
        "EndpointSlice",
        "ClusterImageSet",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ResourceBinding",
    ):
        [row] = shown(name, examples[name])
        assert [cell for cell in row.values() if cell not in ("-", "0")][1:], (name, row)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (
            "TaintPolicy",
            {"spec": {"target": {"kind": "Cluster"}, "taints": [{"key": "a.b/c", "effect": "NoSelect"}]}},
            {"KIND": "Cluster", "TAINTS": "c:NoSelect"},
        ),
        (
            "AddOnPlacementScore",
            {"status": {"scores": [{"name": "cpu", "value": 4}, {"name": "cost", "value": -3}]}},
            {"SCORES": "cpu=4, cost=-3", "VALID UNTIL": "-"},
        ),
        (
            "ManagedClusterAddOn",
            conditions(Available="True"),
            {"AVAILABLE": "True", "DEGRADED": "-", "PROGRESSING": "-"},
        ),
        (
            "Approval",
            {"spec": {"effects": [{"object": "Cluster/a", "effect": "removal"}]}},
            {"EFFECTS": "removal of Cluster/a"},
        ),
        (
            "ConditionPolicy",
            {"spec": {"target": {"kinds": ["Cluster", "NodePool"]}, "type": "A", "rules": [{}, {}]}},
            {"KIND": "Cluster, NodePool", "TYPE": "A", "RULES": "2"},
        ),
        ("Projection", {"spec": {"forEach": "cluster"}}, {"FOR EACH": "cluster", "PATH": "-"}),
        (
            "Projection",
            {"spec": {"forEach": {"placement": "shop/web"}}},
            {"FOR EACH": "placement shop/web", "PATH": "-"},
        ),
        (
            "ValidatingAdmissionPolicy",
            {"spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}},
            {"VALIDATIONS": "0", "PARAMKIND": "v1/ConfigMap"},
        ),
        (
            "ValidatingAdmissionPolicyBinding",
            {"spec": {"policyName": "p", "paramRef": {"name": "x"}}},
            {"POLICYNAME": "p", "PARAMREF": "*/x", "ACTIONS": "-"},
        ),
        (
            "EndpointSlice",
            {"addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [{"addresses": ["10.0.0.1"]}]},
            {"ADDRESSTYPE": "IPv4", "PORTS": "80", "ENDPOINTS": "10.0.0.1"},
        ),
    ],
)
def test_the_columns_of_policies_and_of_upstreams_kinds(kind: str, body: Body, said: dict[str, str]) -> None:
    [row] = shown(kind, body)
    assert {name: cell for name, cell in row.items() if name not in ("NAME", "NAMESPACE")} == said


def test_how_far_a_set_of_works_is() -> None:
    rollout = {"done": 12, "selected": 40, "revision": "abc123456789"}
    until = {"soaking": 2, "until": "2026-01-01T14:05:00Z"}
    fresh, soaking, failed = shown(
        "ManifestWorkReplicaSet",
        {},
        *({"status": {"muster": {"rollout": {**rollout, **more}}}} for more in (until, {"failed": ["a"]})),
    )
    assert fresh["CLUSTERS"] == "-"
    assert soaking["CLUSTERS"] == "12/40 at abc123, 2 soaking until 2026-01-01T14:05:00Z"
    assert failed["CLUSTERS"] == "12/40 at abc123, 1 failed"


def test_a_calendar_is_open_or_says_why_not_and_until_when() -> None:
    spec = {"windows": [{"days": "Mon-Fri", "from": "09:00"}], "freezes": [{"period": "2026-01-03", "reason": "audit"}]}
    (frozen,) = shown("Calendar", {"spec": spec})
    assert frozen == {
        "NAME": "o",
        "STATE": "closed",
        "UNTIL": "2026-01-05T09:00:00Z",
        "WHY": "calendar 'o' is frozen: audit",
    }
    (open_,) = shown("Calendar", {"spec": {}})
    assert open_ == {"NAME": "o", "STATE": "open", "UNTIL": "-", "WHY": "-"}
    (broken,) = shown("Calendar", {"spec": {"timeZone": "Mars"}})
    assert (broken["STATE"], broken["UNTIL"]) == ("-", "-")
