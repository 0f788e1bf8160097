"""The latest accepted report of each adapter about each object.

It is stored in the derived part of its AdapterReport as `status.muster.accepted`: the payload, with
`last_transition_time` of each condition filled in as HyperFleet's API does. It stays when the report's file is gone,
because a replaced or unfetched agent ref says nothing about a cluster. It goes with the object that it reports on.
"""

from collections.abc import Mapping
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, TARGETS, Kind, of_kinds
from muster.data.times import parse_time, try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass
from muster.fleet.settings import Settings
from muster.fleet.view import View

#: The field of a condition that the store sets.
_SINCE = "last_transition_time"
#: The rule of decisions about accepted reports.
RULE = "reports"


class ReportPayload:
    """An adapter's payload, valid by the schema of AdapterReport."""

    __slots__ = ()
    spec: Tree

    @property
    def generation(self) -> int:
        """The generation that the adapter observed."""
        value: int = self.spec["observed_generation"]
        return value

    @property
    def time(self) -> datetime:
        """When the adapter observed the object."""
        return parse_time(self.spec["observed_time"])


@dataclass(frozen=True, slots=True)
class Accepted(ReportPayload):
    """An adapter's accepted report: its AdapterReport, its payload, and the time of the adapter's first report."""

    holder: ObjectId
    spec: Tree
    created: str

    @property
    def target(self) -> ObjectId:
        """The object that it reports on."""
        return target_of(self.spec, self.holder.namespace)

    @property
    def bookkeeping(self) -> Tree:
        """The form stored in the derived part."""
        return {"accepted": self.spec, "createdTime": self.created}


def target_of(spec: Tree, namespace: str) -> ObjectId:
    """The object that a report in this namespace is about."""
    resource = spec["resource"]
    kind = TARGETS[resource["kind"]]
    return kind.id(resource["name"], (resource.get("namespace") or namespace) if kind.namespaced else "")


def accept(holder: ObjectId, spec: Tree, before: Accepted | None) -> Accepted:
    """Return the stored form of a report: it replaces the one before, except for times of unchanged statuses."""
    earlier = {} if before is None else {c["type"]: c for c in before.spec["conditions"]}
    conditions = []
    for condition in spec["conditions"]:
        old = earlier.get(condition["type"], {})
        since = old["last_transition_time"] if old.get("status") == condition["status"] else spec["observed_time"]
        conditions.append({**condition, _SINCE: since})
    return Accepted(holder, {**spec, "conditions": conditions}, before.created if before else spec["observed_time"])


def same_report(stored: Tree, spec: Tree) -> bool:
    """Is the payload the stored one, apart from transition times, which the store sets?"""
    if stored["observed_time"] != spec["observed_time"] or stored.keys() != spec.keys():
        return False
    conditions, reported = stored["conditions"], spec["conditions"]
    return (
        len(conditions) == len(reported)
        and all(map(_same_condition, conditions, reported))
        and all(stored[name] == value for name, value in spec.items() if name != "conditions")
    )


def _same_condition(stored: Tree, reported: Tree) -> bool:
    if len(stored) != len(reported) + (_SINCE not in reported):
        return False
    return all(stored.get(name) == value for name, value in reported.items() if name != _SINCE)


def stored_reports(view: View) -> Mapping[tuple[ObjectId, str], Accepted]:
    """The reports that earlier runs accepted, by object and adapter; of two from one adapter, the newer one."""
    return view.once(_stored_reports)


def had_reports(view: View, target: ObjectId) -> bool:
    """Did the last run accept a report about the object? Then the object existed."""
    return target in view.once(_targets)


def _targets(view: View) -> frozenset[ObjectId]:
    return frozenset(target for target, _ in stored_reports(view))


def _stored_reports(view: View) -> Mapping[tuple[ObjectId, str], Accepted]:
    stored: dict[tuple[ObjectId, str], Accepted] = {}
    for id_ in of_kinds(view.previous, ADAPTER_REPORT):
        accepted = accepted_in(view, id_)
        if accepted is None:
            continue
        key = (accepted.target, str(accepted.spec["adapter"]))
        rival = stored.get(key)
        if rival is None or (rival.generation, rival.time) < (accepted.generation, accepted.time):
            stored[key] = accepted
    return stored


def accepted_in(view: View, holder: ObjectId) -> Accepted | None:
    """The report that the last run accepted in an AdapterReport, or None."""
    return _read(holder, dig(view.previous.get(holder), "status", "muster"))


def _read(holder: ObjectId, bookkeeping: Tree) -> Accepted | None:
    """The report in a derived part; None if there is none, or an edit made it invalid."""
    spec = dig(bookkeeping, "accepted")
    generation, conditions = dig(spec, "observed_generation"), mappings_at(spec, "conditions")
    resource, adapter = dig(spec, "resource"), dig(spec, "adapter")
    sound = (
        isinstance(generation, int)
        and try_time(dig(spec, "observed_time")) is not None
        and isinstance(adapter, str)
        and dig(resource, "kind") in TARGETS
        and isinstance(dig(resource, "name"), str)
        and all({"type", "status", "last_transition_time"} <= condition.keys() for condition in conditions)
        and len(conditions) == len(spec.get("conditions") or ())
    )
    if not sound:
        return None
    created = dig(bookkeeping, "createdTime")
    return Accepted(holder, spec, spec["observed_time"] if try_time(created) is None else created)


def accepted_by_target(view: View) -> Mapping[ObjectId, list[Tree]]:
    """The payloads accepted in this run, by object, sorted by adapter: `reports` in expressions."""
    by_target: dict[ObjectId, list[Tree]] = {}
    for id_ in of_kinds(view.decided, ADAPTER_REPORT):
        decision = view.decided[id_].get(("status", "muster"))
        if decision is None or decision.value is None:
            continue
        # What the reports stage decided is valid; what was kept of a broken object may not be.
        decided_now = decision.because.rule == RULE
        accepted = Accepted(id_, decision.value["accepted"], "") if decided_now else _read(id_, decision.value)
        if accepted is not None:
            by_target.setdefault(accepted.target, []).append(accepted.spec)
    for specs in by_target.values():
        specs.sort(key=lambda spec: str(spec["adapter"]))
    return by_target


def required_adapters(settings: Settings, kind: Kind) -> list[str]:
    """The adapters that `Fleet.spec.adapters` requires for a kind, sorted."""
    names = settings.get("adapters", kind.name)
    return sorted(str(name) for name in names) if isinstance(names, list) else []
