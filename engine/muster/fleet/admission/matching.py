"""Which requests a policy or a binding speaks of: `matchConstraints` and `matchResources`.

Source: the Kubernetes API's MatchResources. There are no Namespace objects in a repository, so `namespaceSelector` sees
the one label that every namespace has, its name; for objects without a namespace it always holds, as upstream.
"""

from dataclasses import dataclass

from muster.fleet.admission.request import Request
from muster.fleet.selectors import LabelSelector
from muster.model.kinds import ALL, Kind
from muster.model.tree import Tree, mappings_at

_NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """One set of operations and resources; `*` stands for all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    scope: str

    @classmethod
    def parse(cls, tree: Tree) -> "ResourceRule":
        """Read a rule that its schema has accepted."""
        operations, groups, versions, resources, names = (
            frozenset(tree.get(field) or ())
            for field in ("operations", "apiGroups", "apiVersions", "resources", "resourceNames")
        )
        return cls(operations, groups, versions, resources, names, str(tree.get("scope", "*")))

    def covers(self, kind: Kind) -> bool:
        """Whether the rule speaks of a kind, in whatever version."""
        scope = self.scope == "*" or (self.scope == "Namespaced") == kind.namespaced
        return scope and _has(self.groups, kind.group) and bool(self.resources & {"*", "*/*", kind.plural})

    def matches(self, request: Request, *, equivalent: bool) -> bool:
        """Whether the rule speaks of a request; `equivalent` takes any version of the kind for another."""
        version = equivalent or _has(self.versions, request.version)
        named = not self.names or request.id.name in self.names
        return version and named and _has(self.operations, request.operation) and self.covers(request.kind)


def _has(values: frozenset[str], value: str) -> bool:
    return "*" in values or value in values


@dataclass(frozen=True, slots=True)
class Match:
    """What is spoken of: at least one rule (none: everything), no exclusion, and both selectors."""

    rules: tuple[ResourceRule, ...]
    exclusions: tuple[ResourceRule, ...]
    objects: LabelSelector
    namespaces: LabelSelector
    equivalent: bool

    @classmethod
    def parse(cls, tree: Tree) -> "Match":
        """Read a match that its schema has accepted; None matches everything."""
        tree = tree or {}
        return cls(
            tuple(ResourceRule.parse(rule) for rule in mappings_at(tree, "resourceRules")),
            tuple(ResourceRule.parse(rule) for rule in mappings_at(tree, "excludeResourceRules")),
            LabelSelector.parse(tree.get("objectSelector")),
            LabelSelector.parse(tree.get("namespaceSelector")),
            tree.get("matchPolicy", "Equivalent") == "Equivalent",
        )

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that it may speak of, in the order of the registry."""
        return tuple(kind for kind in ALL if not self.rules or any(rule.covers(kind) for rule in self.rules))

    def matches(self, request: Request) -> bool:
        """Whether it speaks of a request."""
        if self.rules and not any(rule.matches(request, equivalent=self.equivalent) for rule in self.rules):
            return False
        if any(rule.matches(request, equivalent=self.equivalent) for rule in self.exclusions):
            return False
        namespace = request.id.namespace
        # Either side of an update may have the labels that are asked for.
        return any(self.objects.matches(labels) for labels in request.labels) and (
            not namespace or self.namespaces.matches({_NAMESPACE_NAME: namespace})
        )
