"""Facts of many things, turned round: which things have a label, or a label with a value.

A selector over ten thousand clusters is then a few set operations instead of ten thousand look-ups; a fact is indexed
when it is first asked for.
"""

from collections.abc import Mapping

from muster.policy.selectors import LabelSelector, Requirement

_NONE: frozenset[str] = frozenset()


class Facets:
    """`facts`: name of a thing -> its facts (labels, claims) by key. Immutable, but for what it has looked up."""

    def __init__(self, facts: Mapping[str, Mapping[str, str]]) -> None:
        """Index on demand what `facts` says."""
        self.facts = facts
        self.everything = frozenset(facts)
        self._index: dict[str, Mapping[str, frozenset[str]]] = {}
        self._values: dict[str, Mapping[str, str]] = {}
        self._holders: dict[str, frozenset[str]] = {}

    def by_value(self, key: str) -> Mapping[str, frozenset[str]]:
        """The things that have the fact, by its value."""
        found = self._index.get(key)
        if found is None:
            grouped: dict[str, list[str]] = {}
            for name, facts in self.facts.items():
                # A broken object counts as it was, and may say anything where a text should be.
                if isinstance(value := facts.get(key), str):
                    grouped.setdefault(value, []).append(name)
            found = self._index[key] = {value: frozenset(names) for value, names in grouped.items()}
        return found

    def values(self, key: str) -> Mapping[str, str]:
        """The fact's value of each thing that has it."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = {
                name: value for name, facts in self.facts.items() if isinstance(value := facts.get(key), str)
            }
        return found

    def having(self, key: str, value: str) -> frozenset[str]:
        """The things whose fact has this value."""
        return self.by_value(key).get(value, _NONE)

    def holders(self, key: str) -> frozenset[str]:
        """The things that have the fact, whatever its value."""
        found = self._holders.get(key)
        if found is None:
            found = self._holders[key] = _NONE.union(*self.by_value(key).values())
        return found

    def meeting(self, requirement: Requirement) -> frozenset[str]:
        """The things that meet a requirement."""
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
        """The things that meet all requirements of a selector."""
        found = self.everything
        for requirement in selector.requirements:
            found &= self.meeting(requirement)
        return found
