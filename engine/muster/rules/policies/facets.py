"""An index of facts: which objects have a label, or a label with a value.

A selector over ten thousand clusters is then a few set operations; a key is indexed on first use.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property

from muster.rules.policies.selectors import LabelSelector, Requirement

_NONE: frozenset[str] = frozenset()


class Facets:
    """`facts`: facts (labels, claims) by key, by name of the object."""

    def __init__(self, facts: Mapping[str, Mapping[str, str]]) -> None:
        """Index `facts` on demand."""
        self.facts = facts
        self.everything = frozenset(facts)

    @cached_property
    def by_value(self) -> Callable[[str], Mapping[str, frozenset[str]]]:
        """The names that have a fact, by its value."""
        facts = self.facts

        def indexed(key: str) -> Mapping[str, frozenset[str]]:
            found: dict[str, list[str]] = {}
            for name, own in facts.items():
                # A broken object may have any type where a text should be.
                if isinstance(value := own.get(key), str):
                    found.setdefault(value, []).append(name)
            return {value: frozenset(names) for value, names in found.items()}

        return cache(indexed)

    @cached_property
    def values(self) -> Callable[[str], Mapping[str, str]]:
        """The value of a fact by name."""
        facts = self.facts
        return cache(lambda key: {name: value for name, own in facts.items() if isinstance(value := own.get(key), str)})

    def having(self, key: str, value: str) -> frozenset[str]:
        """The names whose fact has this value."""
        return self.by_value(key).get(value, _NONE)

    @cached_property
    def holders(self) -> Callable[[str], frozenset[str]]:
        """The names that have a fact, with any value."""
        by_value = self.by_value
        return cache(lambda key: _NONE.union(*by_value(key).values()))

    def meeting(self, requirement: Requirement) -> frozenset[str]:
        """The names that meet a requirement."""
        match requirement.operator:
            case "In":
                return _NONE.union(*(self.having(requirement.key, value) for value in requirement.values))
            case "NotIn":
                return self.everything.difference(*(self.having(requirement.key, v) for v in requirement.values))
            case "Exists":
                return self.holders(requirement.key)
            case "DoesNotExist":
                return self.everything - self.holders(requirement.key)
            case _:
                return _NONE

    def selected(self, selector: LabelSelector) -> frozenset[str]:
        """The names that meet all requirements of a selector."""
        found = self.everything
        for requirement in selector.requirements:
            found &= self.meeting(requirement)
        return found
