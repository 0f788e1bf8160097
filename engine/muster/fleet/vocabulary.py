"""HyperFleet's two vocabularies: the names of the conditions that aggregate adapters' reports.

The seed calls them Available and Ready. HyperFleet's API renamed them (v0.3.0), and `Fleet.spec.hyperfleet.vocabulary:
reconciled` follows it: LastKnownReconciled and Reconciled. The rules are the same; the built-in policies that decide or
read these conditions use the fleet's vocabulary. If a fleet changes it, the last run's conditions count under their new
names, with their times, so no timer restarts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import CONDITION_POLICY, KARMADA_CLUSTER, TARGETS
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.objects import Object
from muster.fleet.settings import Settings
from muster.regex import Regex, RegexMatch

#: The built-in policies that decide the conditions, with the seed's names.
_DECIDED: Final = {"adapters-available": "Available", "adapters-ready": "Ready"}
#: The seed's names and today's.
_TODAY_BY_SEED: Final = {"Available": "LastKnownReconciled", "Ready": "Reconciled"}
_SEED_BY_TODAY: Final = {today: seed for seed, today in _TODAY_BY_SEED.items()}
#: The names in both vocabularies.
NAMES: Final = frozenset((*_TODAY_BY_SEED, *_SEED_BY_TODAY))
_SPEAK: Final = frozenset((*_DECIDED, "adapters-pulses"))
#: How policies read conditions of the object, as opposed to those in adapters' reports.
_READ: Final = (
    Regex(r"(?P<before>\b(?:previous|conditions)(?:\[|, )')(?P<name>Available|Ready)(?P<after>')"),
    Regex(r"(?P<before>')(?P<name>Available|Ready)(?P<after>' in (?:previous|conditions)\b)"),
)


def seed_name(type_: str) -> str:
    """Return the seed's name of a condition type."""
    return _SEED_BY_TODAY.get(type_, type_)


def translate_builtin(builtin: Mapping[ObjectId, Object], settings: Settings) -> Mapping[ObjectId, Object]:
    """Return the built-in objects in the fleet's vocabulary."""
    if not settings.reconciled:
        return builtin
    return {id_: _translated(obj) if id_.name in _SPEAK else obj for id_, obj in builtin.items()}


def _translated(obj: Object) -> Object:
    spec = _spoken(obj.spec)
    if "type" in spec:
        spec["type"] = _TODAY_BY_SEED[spec["type"]]
    # The file is the same in both vocabularies, so its id must tell them apart.
    parts = tuple(replace(part, source=part.source._replace(oid=f"{part.source.oid}+reconciled")) for part in obj.parts)
    return replace(obj, body={**obj.body, "spec": spec}, parts=parts)


def _spoken(value: Tree) -> Tree:
    if isinstance(value, dict):
        return {name: _spoken(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_spoken(child) for child in value]
    if isinstance(value, str):
        for pattern in _READ:
            value = pattern.replace(value, _in_use)
    return value


def _in_use(match: RegexMatch[str]) -> str:
    return f"{match['before']}{_TODAY_BY_SEED[match['name']]}{match['after']}"


def rename_conditions(previous: dict[ObjectId, Tree], policies: Iterable[Object]) -> dict[ObjectId, Tree]:
    """Return the previous derived parts with condition names as the policies in force use them.

    A fleet's own policy that replaces a built-in one sets its condition's name itself.
    """
    in_force = {obj.id.name: type_of(obj) for obj in policies if CONDITION_POLICY.has(obj.id)}
    names = {}
    for policy, seed in _DECIDED.items():
        if in_force.get(policy) == seed:
            names[_TODAY_BY_SEED[seed]] = seed
        elif in_force.get(policy) == _TODAY_BY_SEED[seed]:
            names[seed] = _TODAY_BY_SEED[seed]
    renamed = {
        id_: _renamed(id_, body, names)
        for id_, body in previous.items()
        if id_.kind in TARGETS
        and any(condition.get("type") in names for condition in mappings_at(body, "status", "conditions"))
    }
    return {**previous, **renamed} if renamed else previous


def _renamed(id_: ObjectId, body: Tree, names: Mapping[str, str]) -> Tree:
    conditions = mappings_at(body, "status", "conditions")
    types = {condition.get("type") for condition in conditions}
    # Karmada has its own Ready: the reason tells it from the adapters'.
    others = id_.kind == KARMADA_CLUSTER.name
    by_type: dict[str, Tree] = {}
    for condition in conditions:
        type_ = str(condition.get("type"))
        new = names.get(type_, type_)
        if type_ in _SEED_BY_TODAY:
            pass  # today's names have no other meaning
        elif new in types or (others and type_ == "Ready" and not _of_adapters(condition)):
            new = type_
        if new != type_ or type_ not in by_type:
            by_type[new] = condition if new == type_ else {**condition, "type": new}
    if by_type.keys() == types:
        return body
    return {**body, "status": {**mapping_at(body, "status"), "conditions": list(by_type.values())}}


def _of_adapters(condition: Mapping[str, Tree]) -> bool:
    return str(condition.get("reason", "")).startswith("Reconciled")


def type_of(policy: Object) -> str:
    """The condition type in a ConditionPolicy's object; empty if missing."""
    value = dig(policy.body, "spec", "type")
    return value if isinstance(value, str) else ""
