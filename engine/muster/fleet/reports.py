"""What adapters said last, of what counts: one report per object and adapter.

It is remembered in the derived part of the AdapterReport that carried it, as `status.muster.accepted`: the payload,
with `last_transition_time` of each condition filled in as HyperFleet's API does. It stays when the report's file goes:
an agent ref that was replaced or could not be fetched is no news of a cluster. It goes with the object it speaks of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, TARGETS, Kind, of_kinds
from muster.data.times import parse_time, try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.settings import Settings
from muster.fleet.view import View

#: The field of a condition that the store fills in.
_SINCE = "last_transition_time"
#: The rule behind a decision of what counts.
RULE = "reports"


class ReportPayload:
    """What an adapter's payload says, which satisfies the schema of AdapterReport."""

    __slots__ = ()
    spec: Tree

    @property
    def generation(self) -> int:
        """The generation that the adapter worked on."""
        value: int = self.spec["observed_generation"]
        return value

    @property
    def time(self) -> datetime:
        """When the adapter looked."""
        return parse_time(self.spec["observed_time"])


@dataclass(frozen=True, slots=True)
class Accepted(ReportPayload):
    """The report of an adapter that counts: which AdapterReport carried it, its payload, and when the adapter's first
    report was made."""

    holder: ObjectId
    spec: Tree
    created: str

    @property
    def target(self) -> ObjectId:
        """The object that it speaks of."""
        return target_of(self.spec, self.holder.namespace)

    @property
    def bookkeeping(self) -> Tree:
        """What the derived part remembers."""
        return {"accepted": self.spec, "createdTime": self.created}


def target_of(spec: Tree, namespace: str) -> ObjectId:
    """The object that a report in this namespace speaks of."""
    resource = spec["resource"]
    kind = TARGETS[resource["kind"]]
    return kind.id(resource["name"], (resource.get("namespace") or namespace) if kind.namespaced else "")


def accept(holder: ObjectId, spec: Tree, before: Accepted | None) -> Accepted:
    """Return what is remembered of a report: everything of the one before is replaced but the times that go on."""
    known = {} if before is None else {c["type"]: c for c in before.spec["conditions"]}
    conditions = []
    for condition in spec["conditions"]:
        old = known.get(condition["type"], {})
        since = old["last_transition_time"] if old.get("status") == condition["status"] else spec["observed_time"]
        conditions.append({**condition, _SINCE: since})
    return Accepted(holder, {**spec, "conditions": conditions}, before.created if before else spec["observed_time"])


def same_report(stored: Tree, spec: Tree) -> bool:
    """Whether a payload is the stored one: everything but the transition times, which are the store's own."""
    if stored["observed_time"] != spec["observed_time"] or stored.keys() != spec.keys():
        return False
    conditions, given = stored["conditions"], spec["conditions"]
    return (
        len(conditions) == len(given)
        and all(map(_same_condition, conditions, given))
        and all(stored[name] == value for name, value in spec.items() if name != "conditions")
    )


def _same_condition(stored: Tree, given: Tree) -> bool:
    if len(stored) != len(given) + (_SINCE not in given):
        return False
    return all(stored.get(name) == value for name, value in given.items() if name != _SINCE)


def remembered(view: View) -> Mapping[tuple[ObjectId, str], Accepted]:
    """What earlier runs accepted, by object and adapter. Of two for one adapter, the newer counts."""
    return view.once(_remembered)


def _remembered(view: View) -> Mapping[tuple[ObjectId, str], Accepted]:
    found: dict[tuple[ObjectId, str], Accepted] = {}
    for id_ in of_kinds(view.previous, ADAPTER_REPORT):
        accepted = accepted_in(view, id_)
        if accepted is None:
            continue
        key = (accepted.target, str(accepted.spec["adapter"]))
        rival = found.get(key)
        if rival is None or (rival.generation, rival.time) < (accepted.generation, accepted.time):
            found[key] = accepted
    return found


def accepted_in(view: View, holder: ObjectId) -> Accepted | None:
    """What the last run accepted that an AdapterReport carries; None for nothing."""
    return _read(holder, dig(view.previous.get(holder), "status", "muster"))


def _read(holder: ObjectId, bookkeeping: Tree) -> Accepted | None:
    """The report in a derived part; None where there is none, or a person's edit has left none that can be read."""
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
    """The payloads that count as this run decided, by object, sorted by adapter: what expressions see as `reports`."""
    found: dict[ObjectId, list[Tree]] = {}
    for id_ in of_kinds(view.decided, ADAPTER_REPORT):
        decision = view.decided[id_].get(("status", "muster"))
        if decision is None or decision.value is None:
            continue
        # What the reports stage decided is sound; what was kept of a broken object may be anything.
        ours = decision.because.rule == RULE
        accepted = Accepted(id_, decision.value["accepted"], "") if ours else _read(id_, decision.value)
        if accepted is not None:
            found.setdefault(accepted.target, []).append(accepted.spec)
    for specs in found.values():
        specs.sort(key=lambda spec: str(spec["adapter"]))
    return found


def required_adapters(settings: Settings, kind: Kind) -> list[str]:
    """The adapters that `Fleet.spec.adapters` requires of a kind, sorted; empty where the fleet requires none."""
    names = settings.get("adapters", kind.name)
    return sorted(str(name) for name in names) if isinstance(names, list) else []
