"""Label selectors, as Kubernetes has them: `matchLabels` and `matchExpressions`, all ANDed."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.model.tree import Tree, mapping_at, mappings_at


@dataclass(frozen=True, slots=True)
class Requirement:
    """One `matchExpressions` entry: `operator` is In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the requirement. NotIn holds for a missing label, as in Kubernetes."""
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
    """A parsed selector. Without requirements it matches everything; what an absent one means is its user's affair."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, tree: Tree) -> "LabelSelector":
        """Read a selector that its schema has accepted; None and `{}` give one without requirements."""
        labels = mapping_at(tree, "matchLabels")
        requirements = [Requirement(key, "In", frozenset((value,))) for key, value in sorted(labels.items())]
        for entry in mappings_at(tree, "matchExpressions"):
            values = frozenset(value for value in entry.get("values") or () if isinstance(value, str))
            requirements.append(Requirement(str(entry.get("key")), str(entry.get("operator")), values))
        return cls(tuple(requirements))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all requirements hold for the labels."""
        return all(requirement.matches(labels) for requirement in self.requirements)
