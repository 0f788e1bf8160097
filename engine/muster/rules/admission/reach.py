"""How far admission policies look: whether what they say of an object follows from that object alone."""

from collections.abc import Iterator
from typing import Final

from muster.data.kinds import ALL, VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING, of_kinds
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object

_ADMISSION: Final = (VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)
#: Where a rule names these, it speaks of a kind that is known.
_RESOURCES: Final = frozenset((kind.group, kind.plural) for kind in ALL)
#: What may be done to an object that is there. Of one that is gone, what is said stands beside no other.
_OF_WHAT_IS_THERE: Final = frozenset(("CREATE", "UPDATE"))
#: Fields by which other objects have a say, and variables that speak of others, or of whoever asks.
_FURTHER: Final = ("paramKind", "paramRef", "namespaceSelector", "namespaceObject", "params", "userInfo")


def looks_further(fleet: Fleet) -> bool:
    """Whether a policy of a fleet's own, or a binding, looks at more than each object by itself: at parameters, at
    namespaces, at who asks, at what is gone, or at objects of kinds that nobody knows."""
    own = [fleet.objects[id_] for id_ in of_kinds(fleet.objects, *_ADMISSION)]
    return any(map(_looks_further, own))


def _looks_further(obj: Object) -> bool:
    if _mentions(obj.spec) or obj.kind is VALIDATING_ADMISSION_POLICY_BINDING:
        return _mentions(obj.spec)
    rules = mappings_at(obj.spec, "matchConstraints", "resourceRules")
    named = {resource for rule in rules for resource in _named(rule)}
    asked = {operation for rule in rules for operation in rule.get("operations") or ("*",)}
    return not named or not named <= _RESOURCES or not asked <= _OF_WHAT_IS_THERE


def _named(rule: Tree) -> Iterator[tuple[str, str]]:
    """The groups and resources of a rule."""
    for group in rule.get("apiGroups") or ("*",):
        yield from ((group, resource) for resource in rule.get("resources") or ("*",))


def _mentions(spec: Tree) -> bool:
    text = str(mapping_at(spec))
    return any(word in text for word in _FURTHER)
