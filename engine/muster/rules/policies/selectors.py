"""Label selectors, as in Kubernetes: `matchLabels` and `matchExpressions`, all ANDed, and an index for many objects."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property

from muster.data.tree import At, Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.regex import SPACE, Regex

_KEY = r"(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)"
_AMONG = Regex(rf"{_KEY}[{SPACE}]+(?P<no>not)?in[{SPACE}]*\((?P<values>[^()]+)\)")
_COMPARED = Regex(rf"{_KEY}[{SPACE}]*(?P<operator>==?|!=)[{SPACE}]*(?P<value>[-A-Za-z0-9_.]*)")
_THERE = Regex(rf"(?P<no>!)?[{SPACE}]*{_KEY}")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One `matchExpressions` entry: `operator` is In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Do the labels meet the requirement? NotIn holds for a missing label, as in Kubernetes."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return labels.get(self.key) not in self.values
        if self.operator == "Exists":
            return self.key in labels
        if self.operator == "DoesNotExist":
            return self.key not in labels
        return False


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A parsed selector. Without requirements it matches everything; the caller decides what a missing one means."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, tree: Tree) -> "LabelSelector":
        """Parse a valid selector; None and `{}` give one without requirements."""
        labels = mapping_at(tree, "matchLabels")
        requirements = [Requirement(key, "In", frozenset((value,))) for key, value in sorted(labels.items())]
        for entry in mappings_at(tree, "matchExpressions"):
            values = frozenset(value for value in entry.get("values") or () if isinstance(value, str))
            requirements.append(Requirement(str(entry.get("key")), str(entry.get("operator")), values))
        return cls(tuple(requirements))

    @classmethod
    def written(cls, text: str) -> "LabelSelector":
        """Parse a selector in kubectl's form: `region=eu,env!=edge,tier in (gold,silver),canary,!legacy`.

        ValueError for an invalid or empty one.
        """
        requirements = []
        for term in _terms(text):
            if (among := _AMONG.fullmatch(term.strip())) is not None:
                values = frozenset(value.strip() for value in among["values"].split(","))
                requirements.append(Requirement(among["key"], "NotIn" if among["no"] else "In", values))
            elif (compared := _COMPARED.fullmatch(term.strip())) is not None:
                operator = "NotIn" if compared["operator"] == "!=" else "In"
                requirements.append(Requirement(compared["key"], operator, frozenset((compared["value"],))))
            elif (existence := _THERE.fullmatch(term.strip())) is not None:
                requirements.append(
                    Requirement(existence["key"], "DoesNotExist" if existence["no"] else "Exists", frozenset())
                )
            elif not term.strip():
                raise ValueError(f"{text!r} has an empty requirement: write region=eu,tier!=test")
            else:
                raise ValueError(f"{term.strip()!r} is no label selector such as region=eu")
        return cls(tuple(requirements))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Do the labels meet all requirements?"""
        return all(requirement.matches(labels) for requirement in self.requirements)


def _terms(text: str) -> list[str]:
    """Split at the commas outside of parentheses."""
    terms = [""]
    for number, piece in enumerate(text.split("(")):
        inside, closed, outside = piece.rpartition(")")
        first, *others = outside.split(",")
        terms[-1] += ("(" if number else "") + inside + closed + first
        terms += others
    return terms


def selector_mistakes(tree: Tree) -> Iterator[tuple[At, str]]:
    """Yield what an API server refuses in a selector that its schema accepts, with its path: `In` and `NotIn` need
    values, `Exists` and `DoesNotExist` take none."""
    for index, entry in enumerate(mappings_at(tree, "matchExpressions")):
        operator, values = entry.get("operator"), entry.get("values")
        if operator in ("In", "NotIn") and not values:
            yield ("matchExpressions", index), f"{operator} needs values, and {entry.get('key')!r} has none"
        elif operator in ("Exists", "DoesNotExist") and values:
            yield ("matchExpressions", index, "values"), f"{operator} takes no values"


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
            by_value: dict[str, list[str]] = {}
            for name, of_name in facts.items():
                # A broken object may have any type where a text should be.
                if isinstance(value := of_name.get(key), str):
                    by_value.setdefault(value, []).append(name)
            return {value: frozenset(names) for value, names in by_value.items()}

        return cache(indexed)

    @cached_property
    def values(self) -> Callable[[str], Mapping[str, str]]:
        """The value of a fact by name."""
        facts = self.facts
        return cache(
            lambda key: {name: value for name, of_name in facts.items() if isinstance(value := of_name.get(key), str)}
        )

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
        names = self.everything
        for requirement in selector.requirements:
            names &= self.meeting(requirement)
        return names
