"""Incidents at PagerDuty and Opsgenie, and cards for Teams: one key from the beginning to the end, and bodies of the
forms that the services document, against a server that checks them and keeps incidents as they do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.features.notify.test_notify import Fleet
from tests.features.pulses.receiver import Request, receiving

TEXT = {"type": "string", "minLength": 1}
#: https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
PAGERDUTY = {
    "type": "object",
    "required": ["routing_key", "event_action", "dedup_key"],
    "properties": {
        "routing_key": {"type": "string", "pattern": "^[a-zA-Z0-9]{32}$"},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {**TEXT, "maxLength": 255},
        "client": TEXT,
        "payload": {
            "type": "object",
            "required": ["summary", "source", "severity"],
            "properties": {
                "summary": {**TEXT, "maxLength": 1024},
                "source": TEXT,
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "format": "date-time"},
                **{name: {"type": "string"} for name in ("component", "group", "class")},
                "custom_details": {"type": "object"},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
#: https://docs.opsgenie.com/docs/alert-api: create an alert, close an alert
OPSGENIE = {
    "type": "object",
    "required": ["message", "alias"],
    "properties": {
        "message": {**TEXT, "maxLength": 130},
        "alias": {**TEXT, "maxLength": 512},
        "description": {"type": "string", "maxLength": 15000},
        "entity": {"type": "string", "maxLength": 512},
        "source": {"type": "string", "maxLength": 100},
        "priority": {"enum": ["P1", "P2", "P3", "P4", "P5"]},
        "details": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "additionalProperties": False,
}
CLOSE = {
    "type": "object",
    "properties": {"source": {"type": "string", "maxLength": 100}, "note": {"type": "string", "maxLength": 25000}},
    "additionalProperties": False,
}
KEY = "0123456789abcdef0123456789abcdef"
POLICY = "matchConditions: [{name: c, expression: change.before != ''}]\n  severity: critical\n"
RESOLVED = POLICY + "  resolvedWhen: change.after == 'True'\n"


def check(body: Any, schema: dict[str, Any]) -> None:
    errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(body)
    assert [error.message for error in errors] == []


class Service:
    """Open incidents by key, and every action."""

    def __init__(self) -> None:
        self.open, self.actions = set[str](), list[str]()

    def take(self, request: Request) -> None:
        url, body = urlsplit(request.path), json.loads(request.body)
        if "routing_key" in body:
            check(body, PAGERDUTY)
            assert "authorization" not in request.headers
            key, action = body["dedup_key"], body["event_action"]
        else:
            assert request.headers["authorization"] == f"GenieKey {KEY}"
            action = "resolve" if url.path.endswith("/close") else "trigger"
            check(body, CLOSE if action == "resolve" else OPSGENIE)
            key = url.path.split("/")[-2] if action == "resolve" else body["alias"]
            assert action == "trigger" or parse_qs(url.query) == {"identifierType": ["alias"]}
        self.actions.append(action)
        (self.open.add if action == "trigger" else self.open.discard)(key)


@contextmanager
def receiving_service(service: Service) -> Iterator[str]:
    """Run a server that answers 202, and 400 to a body of another form; yield its URL."""
    with receiving((202, {}), check=service.take) as receiver:
        yield receiver.url


@pytest.mark.parametrize("sort", ["pagerduty", "opsgenie"])
def test_recovery_resolves_the_incident(tmp_path: Path, sort: str) -> None:
    service = Service()
    with receiving_service(service) as url:
        sink = f"{{name: pager, type: {sort}, url: {url}, credentialsFrom: MUSTER_SINK_PAGER}}"
        fleet = Fleet(tmp_path / "fleet", sink, RESOLVED)
        fleet.environ = {"MUSTER_SINK_PAGER": KEY}
        fleet.say("False", "a", "b")
        assert fleet.run(1).failures == {}
        assert (len(service.open), service.actions) == (2, ["trigger"] * 2)
        first = set(service.open)
        fleet.say("True", "a")
        assert fleet.run(1).failures == {}
        assert (len(service.open), service.actions[2:]) == (1, ["resolve"])
        fleet.say("False", "a")
        assert fleet.run(1).failures == {}
        assert service.open == first, "the same key again"


def test_what_is_over_before_the_message_is_due_opens_nothing(tmp_path: Path) -> None:
    service = Service()
    with receiving_service(service) as url:
        sink = f"{{name: pager, type: pagerduty, url: {url}, credentialsFrom: MUSTER_SINK_PAGER}}"
        fleet = Fleet(tmp_path / "fleet", sink, RESOLVED + "  group: {window: 3m}\n")
        fleet.environ = {"MUSTER_SINK_PAGER": KEY}
        fleet.say("False", "a")
        fleet.run(1)
        fleet.say("True", "a")
        fleet.say("False", "b")
        fleet.run(1)
        assert service.actions == []
        assert fleet.run(3).failures == {}
        assert (sorted(service.actions), len(service.open)) == (["resolve", "trigger"], 1)


def test_a_policy_that_says_nothing_of_recovery_only_opens(tmp_path: Path) -> None:
    service = Service()
    with receiving_service(service) as url:
        sink = f"{{name: pager, type: pagerduty, url: {url}, credentialsFrom: MUSTER_SINK_PAGER}}"
        fleet = Fleet(tmp_path / "fleet", sink, POLICY)
        assert fleet.run().failures == {}
        fleet.say("False", "a")
        (why,) = fleet.run(1).failures["pager"]
        assert "MUSTER_SINK_PAGER" in why  # no key yet: it waits
        fleet.environ = {"MUSTER_SINK_PAGER": KEY}
        assert fleet.run(1).published == 1
        assert service.actions == ["trigger"]


def test_a_card_shows_text_as_it_is(tmp_path: Path) -> None:
    with receiving((202, {})) as receiver:
        fleet = Fleet(tmp_path / "fleet", f"{{name: chat, type: teams, url: {receiver.url}}}", RESOLVED)
        fleet.say("False", "a", reason="[x](http://evil) <at>all</at> " + "é" * 900)
        assert fleet.run(1).failures == {}
        (request,) = receiver.requests
        assert len(request.body) < 28_000
        (attachment,) = json.loads(request.body)["attachments"]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        runs = [run for block in card["body"] for run in block["inlines"]]
        assert {block["type"] for block in card["body"]} == {"RichTextBlock"}, "a TextBlock would show markup"
        assert "critical: availability: 1 transition" in runs[0]["text"]
        assert "<at>all</at>" in runs[1]["text"]
        fleet.say("True", "a")
        fleet.run(1)
        assert "resolved: availability" in receiver.requests[1].body.decode()
