"""Alerts become conditions: by which rule, with which status, and what late or repeated notifications change."""

import pytest

from muster.agents.relay.alerts import (
    MOST_ALERTS,
    Alert,
    AlertRule,
    Alerts,
    decode_alerts,
    encode_alerts,
    outcome,
    read_alert,
    read_rules,
    with_alert,
)
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.tree import Tree

RULE = AlertRule((("alertname", "KubeAPIDown"),), "APIServerReachable")
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:05:00.5+00:00"


def webhook(fingerprint: str, status: str = "firing", *, started: str = NOON, **notes: str) -> Tree:
    labels = {"alertname": "KubeAPIDown", "cluster": "c1"}
    return {"fingerprint": fingerprint, "status": status, "startsAt": started, "labels": labels, "annotations": notes}


def after(*messages: Tree, rule: AlertRule = RULE) -> Alerts:
    known: Alerts = {}
    for message in messages:
        known = with_alert(known, *read_alert(message, rule))
    return known


def test_rules_are_read_from_the_fleet() -> None:
    spec = {
        "collectors": {
            "alertmanager": [
                {"match": {"alertname": "Kube*", "severity": "critical"}, "condition": "Healthy"},
                {
                    "match": {"alertname": "X"},
                    "condition": "Ready2",
                    "status": "Unknown",
                    "kind": "Cluster",
                    "clusterLabel": "site",
                },
                {"match": {}, "condition": "All"},
                {"match": {"a": "b"}},
                {"match": {"a": "b"}, "condition": "C", "kind": "Pod"},
            ]
        }
    }
    first, second = read_rules(spec)
    assert (first.condition, first.status, first.cluster_label, first.kind) == (
        "Healthy",
        "False",
        "cluster",
        MANAGED_CLUSTER,
    )
    assert (second.status, second.cluster_label, second.kind) == ("Unknown", "site", KARMADA_CLUSTER)
    assert first.matches({"alertname": "KubeDown", "severity": "critical", "more": "x"})
    assert not first.matches({"alertname": "KubeDown"})
    assert not first.matches({"alertname": "OtherDown", "severity": "critical"})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([webhook("a", summary="It is down")], ("False", "KubeAPIDown", "It is down")),
        ([webhook("a"), webhook("b")], ("False", "KubeAPIDown", "KubeAPIDown (and 1 more)")),
        ([webhook("a"), webhook("b"), webhook("a", "resolved")], ("False", "KubeAPIDown", "KubeAPIDown")),
        ([webhook("a"), webhook("a", "resolved")], ("True", "AlertResolved", "KubeAPIDown is resolved")),
        # The notification of the same incident again, after it was resolved.
        ([webhook("a"), webhook("a", "resolved"), webhook("a")], ("True", "AlertResolved", "KubeAPIDown is resolved")),
        # It fires again.
        ([webhook("a", "resolved"), webhook("a", started=LATER)], ("False", "KubeAPIDown", "KubeAPIDown")),
        # A late message about the incident before.
        ([webhook("a", started=LATER), webhook("a", "resolved")], ("False", "KubeAPIDown", "KubeAPIDown")),
        ([webhook("a", "resolved")], ("True", "AlertResolved", "KubeAPIDown is resolved")),
    ],
)
def test_a_condition_follows_its_alerts(messages: list[Tree], expected: tuple[str, str, str]) -> None:
    known = after(*messages)
    assert outcome(known, RULE) == expected
    assert decode_alerts(encode_alerts(known)) == known


def test_a_rule_says_which_status_an_alert_means() -> None:
    good = AlertRule((("alertname", "*"),), "Upgrading", status="True")
    assert outcome(after(webhook("a"), rule=good), good)[0] == "True"
    assert outcome(after(webhook("a", "resolved"), rule=good), good)[0] == "False"
    vague = AlertRule((("alertname", "*"),), "APIServerReachable", status="Unknown")
    both = with_alert(after(webhook("a"), rule=vague), *read_alert(webhook("b"), RULE))
    assert outcome(both, RULE)[0] == "False"


def test_few_alerts_are_kept_and_those_that_fire_first() -> None:
    known = after(webhook("first"), *(webhook(f"r{n}", "resolved", started=LATER) for n in range(MOST_ALERTS)))
    assert len(known) == MOST_ALERTS
    assert known["first"] == Alert(NOON, "False", "KubeAPIDown", "KubeAPIDown")
    assert len(after(webhook("a", summary="x" * 5000))["a"].text) == 1024


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"a": 1}', b'{"a": ["x"]}'])
def test_a_damaged_file_has_no_alerts(data: bytes | None) -> None:
    assert decode_alerts(data) == {}
