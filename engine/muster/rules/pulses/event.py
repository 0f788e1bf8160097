"""The CloudEvent of a pulse (CloudEvents 1.0), in its JSON form.

It is small, like HyperFleet's: it names an object and the reason to look at it; receivers read the object themselves.
The id follows from the object, the policy and the pulse before, so a pulse that is published again after an unclear
failure is the same event for its receivers.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID, uuid5

from muster import cel
from muster.data.decision import Published
from muster.data.ids import ObjectId
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.rules.policies.lazy import PolicyScope
from muster.rules.pulses.policy import PulsePayload, PulsePolicy

TYPE = "com.redhat.hyperfleet.{kind}.reconcile"
SOURCE = "muster"
_NAMESPACE = UUID("6f0e6a2c-6a39-4f0b-9c55-3f2b8a2d9c10")


def pulse_event(
    policy: PulsePolicy, id_: ObjectId, scope: Mapping[str, object], last: Published | None, now: datetime,
    created: Tree = None,
) -> Tree:  # fmt: skip
    """Return a pulse's event as JSON. `scope` has `reason` and `generation`; `created`: when the object was created, as
    text, if known."""
    from cloudevents.core.formats.json import JSONFormat
    from cloudevents.core.v1.event import CloudEvent

    attributes: dict[str, object] = {
        "specversion": "1.0",
        "id": event_id(policy, id_, scope, last, created),
        "source": policy.event.source or SOURCE,
        "type": policy.event.type or TYPE.format(kind=id_.kind.lower()),
        "subject": str(id_),
        "time": now,
        "datacontenttype": "application/json",
    }
    if policy.event.topic:
        attributes["topic"] = policy.event.topic
    event = CloudEvent(attributes, _data(policy.event.data, id_, scope))
    document: Tree = json.loads(JSONFormat().write(event))
    return document


def event_id(
    policy: PulsePolicy, id_: ObjectId, scope: Mapping[str, object], last: Published | None, created: Tree = None
) -> str:
    """Return a UUID that is the same for every attempt at one pulse, and differs between pulses.

    Without a record, the latest adapter report distinguishes pulses, and the creation time those of an earlier object.
    """
    reports = scope["reports"]
    assert isinstance(reports, list)
    heard = max((report["observed_time"] for report in reports), default="never")
    since = str(created or "never") if last is None else format_time(last.time)
    return str(uuid5(_NAMESPACE, "\n".join((*id_, policy.id.name, str(scope["generation"]), since, heard))))


def _data(payload: PulsePayload | None, id_: ObjectId, scope: Mapping[str, object]) -> Tree:
    if payload is not None:
        return _computed(payload, scope) or {}
    own = {"kind": id_.kind, "namespace": id_.namespace, "name": id_.name}
    return {name: value for name, value in own.items() if value} | {
        "generation": scope["generation"],
        "reason": scope["reason"],
    }


def _computed(payload: PulsePayload, scope: Mapping[str, object]) -> Tree:
    """The payload's values. Failed and null values are left out, and so are empty mappings."""
    values: Tree = {}
    for name, part in payload.fields.items():
        value = _computed(part, scope) if isinstance(part, PulsePayload) else _value(part, scope)
        if value is not None:
            values[name] = value
    return values or None


def _value(program: cel.Program, scope: Mapping[str, object]) -> Tree:
    budget = scope.budget if isinstance(scope, PolicyScope) else None
    result = program.run(scope, budget=budget)
    return None if result.error is not None else _plain(result.value)


def _plain(value: object) -> Tree:
    """A CEL value as JSON; None if that is not possible."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bool | int | float | str):
        return value
    return None
