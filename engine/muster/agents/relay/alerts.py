"""Alerts of a Prometheus Alertmanager as conditions of clusters, by the rules of `Fleet.spec.collectors.alertmanager`.

An alert is known by its fingerprint; each time that it fires anew it has another `startsAt`. A condition has the status
of its rule while any of its alerts fires. A notification that arrives late, or twice, changes nothing: once an alert is
resolved, the same `startsAt` does not fire again. So the alerts of a condition are kept beside it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from muster.data.agentref import Mandate
from muster.data.kinds import BY_NAME, MANAGED_CLUSTER, Kind
from muster.data.times import try_time
from muster.data.tree import Tree, mapping_at, mappings_at, read_json
from muster.dataclass import dataclass

#: So many alerts are kept of one condition: those that fire come first, then those that were resolved last.
MOST_ALERTS: Final = 256
#: Which status counts where alerts of one condition have several.
_ORDER: Final = ("False", "Unknown", "True")
#: Annotations that explain an alert, the best first.
_TEXTS: Final = ("summary", "description", "message")
_LONGEST: Final = 1024  # characters of a message
RESOLVED: Final = "AlertResolved"


@dataclass(frozen=True, slots=True)
class AlertRule:
    """An alert whose labels match is a condition of the cluster that its `cluster_label` names."""

    match: tuple[tuple[str, str], ...]
    condition: str
    status: str = "False"
    cluster_label: str = "cluster"
    kind: Kind = MANAGED_CLUSTER

    def matches(self, labels: Mapping[str, Tree]) -> bool:
        """Do the labels of an alert match?"""
        return all(str(labels.get(name, "")) in Mandate([pattern]) for name, pattern in self.match)

    @property
    def resolved(self) -> str:
        """The status when no alert fires."""
        return "False" if self.status == "True" else "True"


def read_rules(spec: Mapping[str, Tree]) -> tuple[AlertRule, ...]:
    """Return the rules of a Fleet's spec. Invalid ones count as missing; the evaluation reports them."""
    return tuple(_rules(mappings_at(spec, "collectors", "alertmanager")))


def _rules(entries: Sequence[Tree]) -> Iterator[AlertRule]:
    for entry in entries:
        match, condition = mapping_at(entry, "match"), entry.get("condition")
        kind, status = BY_NAME.get(str(entry.get("kind", MANAGED_CLUSTER.name))), str(entry.get("status", "False"))
        if match and isinstance(condition, str) and kind is not None and status in _ORDER:
            named = tuple(sorted((name, str(pattern)) for name, pattern in match.items()))
            yield AlertRule(named, condition, status, str(entry.get("clusterLabel", "cluster")), kind)


@dataclass(frozen=True, slots=True)
class Alert:
    """One state of an alert: when it began to fire, and while it fires the status of its condition, else an empty one;
    its name, and a text for people."""

    started: str
    status: str
    name: str
    text: str


#: By fingerprint.
Alerts: TypeAlias = Mapping[str, Alert]


def read_alert(message: Tree, rule: AlertRule) -> tuple[str, Alert]:
    """Return the fingerprint and the state of an alert of a webhook."""
    labels, notes = mapping_at(message, "labels"), mapping_at(message, "annotations")
    name = str(labels.get("alertname", ""))
    text = next((str(notes[note]) for note in _TEXTS if notes.get(note)), name)
    status = rule.status if message.get("status") == "firing" else ""
    return str(message["fingerprint"]), Alert(str(message["startsAt"]), status, name, text[:_LONGEST])


def with_alert(alerts: Alerts, fingerprint: str, now: Alert) -> Alerts:
    """Return the alerts of a condition after a notification; the same ones if it is an old one."""
    before = alerts.get(fingerprint)
    if before is not None:
        began, begins = try_time(before.started), try_time(now.started)
        if before == now or (began is not None and begins is not None and begins < began):
            return alerts
        if begins == began and not before.status:
            return alerts
    kept = sorted({**alerts, fingerprint: now}.items(), key=lambda item: item[1].started, reverse=True)
    kept.sort(key=lambda item: not item[1].status)
    return dict(kept[:MOST_ALERTS])


def outcome(alerts: Alerts, rule: AlertRule) -> tuple[str, str, str]:
    """Return status, reason and message of the condition."""
    firing = sorted((_ORDER.index(alert.status), alert.started, key) for key, alert in alerts.items() if alert.status)
    if not firing:
        last = max(alerts.values(), key=lambda alert: alert.started)
        return rule.resolved, RESOLVED, f"{last.name} is resolved"
    alert = alerts[firing[0][2]]
    more = f" (and {len(firing) - 1} more)" if len(firing) > 1 else ""
    return alert.status, alert.name or "Alert", f"{alert.text}{more}"


def encode_alerts(alerts: Alerts) -> bytes:
    """Return the alerts as a file keeps them."""
    rows = {key: [alert.started, alert.status, alert.name, alert.text] for key, alert in sorted(alerts.items())}
    return f"{json.dumps(rows, indent=0)}\n".encode()


def decode_alerts(data: bytes | None) -> Alerts:
    """Return the alerts of a file; none if it is missing or damaged."""
    with suppress(ValueError, TypeError):
        return {key: Alert(*map(str, row)) for key, row in mapping_at(read_json(data or b"{}")).items()}
    return {}
