"""Sends incidents to PagerDuty and Opsgenie: one for each fact of an object, with one key from beginning to end.

Sources: PagerDuty's Events API v2 (`POST /v2/enqueue`: `event_action`, `dedup_key`, `payload`) and Opsgenie's Alert API
(`POST /v2/alerts` with an `alias`, `POST /v2/alerts/ALIAS/close?identifierType=alias`), which Jira Service Management
offers at another address. Both may be sent twice: the key makes the second one a repetition.

apprise reaches both, too, and 180 services more. It makes an object for each key, brings requests, and has no deadline
for a whole exchange; muster needs the two calls below.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from cloudevents.core.bindings.http import HTTPMessage

from muster.data.tree import Tree
from muster.features.pulses.http import HttpSink

PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
OPSGENIE: Final = "https://api.opsgenie.com/v2/alerts"
_PRIORITIES: Final = {"critical": "P1", "warning": "P3", "info": "P5"}
#: The longest texts that the services accept.
_SUMMARY, _MESSAGE, _DESCRIPTION = 1024, 130, 15_000


def incidents(event: Tree) -> list[Mapping[str, Tree]]:
    """Return the transitions of a message, of each incident the last one: what was over again is only ended."""
    return [*{change["incident"]: change for change in event["data"]["transitions"]}.values()]


class PagerDutySink(HttpSink):
    """Triggers and resolves incidents of PagerDuty. `key` is the integration's."""

    def __init__(self, url: str, *, timeout: timedelta, key: str) -> None:
        super().__init__(url or PAGERDUTY, mode="structured", timeout=timeout)
        self._key = key

    def _messages(self, event: Tree) -> Iterator[tuple[str, HTTPMessage]]:
        for change in incidents(event):
            body = {
                "routing_key": self._key,
                "event_action": "resolve" if change["resolves"] else "trigger",
                "dedup_key": change["incident"],
                "payload": {
                    "summary": change["text"][:_SUMMARY],
                    "source": _name(change),
                    "severity": event["data"]["severity"],
                    "timestamp": change["at"],
                    "component": change["name"],
                    "group": event["data"]["group"],
                    "class": change["sort"],
                    "custom_details": {name: change[name] for name in ("before", "after", "reason", "commit")},
                },
                "client": "muster",
            }
            yield "", _json(body)


class OpsgenieSink(HttpSink):
    """Creates and closes alerts of Opsgenie. `key` is the integration's."""

    def __init__(self, url: str, *, timeout: timedelta, key: str) -> None:
        super().__init__(url or OPSGENIE, mode="structured", timeout=timeout, authorization=f"GenieKey {key}")

    def _messages(self, event: Tree) -> Iterator[tuple[str, HTTPMessage]]:
        for change in incidents(event):
            if change["resolves"]:
                body = {"source": "muster", "note": change["text"][:_DESCRIPTION]}
                yield f"/{change['incident']}/close?identifierType=alias", _json(body)
                continue
            body = {
                "message": change["text"][:_MESSAGE],
                "alias": change["incident"],
                "description": change["text"][:_DESCRIPTION],
                "entity": _name(change),
                "source": "muster",
                "priority": _PRIORITIES[event["data"]["severity"]],
                "details": {name: change[name] for name in ("before", "after", "reason", "commit")},
            }
            yield "", _json(body)


def _name(change: Mapping[str, Tree]) -> str:
    return "/".join(filter(None, (change["kind"], change["namespace"], change["object"])))


def _json(body: Tree) -> HTTPMessage:
    return HTTPMessage(headers={"Content-Type": "application/json"}, body=json.dumps(body).encode())
