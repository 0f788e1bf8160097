"""Which requests a policy or a binding speaks of: `matchConstraints` and `matchResources`.

Source: the Kubernetes API's MatchResources. `namespaceSelector` sees the labels of the namespace's document in the
repository and, also without one, its name (`surroundings`); a Namespace is matched by its own labels, and for other
objects without a namespace it always holds, as upstream. No file asks for a subresource.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from muster.data.kinds import BY_GROUP_KIND, Kind
from muster.data.tree import Tree, mappings_at
from muster.rules.admission.request import AdmissionRequest
from muster.rules.admission.resources import REGISTERED, Resource
from muster.rules.policies.selectors import LabelSelector

_EVERY_RESOURCE = frozenset(("*", "*/*"))

#: The labels of a namespace, by its name.
NamespaceLabels = Callable[[str], Mapping[str, str]]


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

    @property
    def asked_for(self) -> bool:
        """Whether any file can be what it speaks of: files ask for no subresource, and connect to nothing."""
        return self.operations != {"CONNECT"} and any("/" not in name or name == "*/*" for name in self.resources)

    def covers(self, resource: Resource) -> bool:
        """Whether the rule speaks of a kind, in whatever version."""
        scope = self.scope == "*" or (self.scope == "Namespaced") == resource.namespaced
        return (
            scope
            and _has(self.groups, resource.group)
            and (not self.resources.isdisjoint(_EVERY_RESOURCE) or not self.resources.isdisjoint(resource.plurals))
        )

    def matches(self, request: AdmissionRequest, *, equivalent: bool) -> bool:
        """Whether the rule speaks of a request; `equivalent` takes any version of the kind for another."""
        version = equivalent or _has(self.versions, request.version)
        named = not self.names or request.id.name in self.names
        return version and named and _has(self.operations, request.operation) and self.covers(request.resource)


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

    def kind(self) -> Kind | None:
        """The one kind of the registry that it speaks of; None where it may speak of another, too."""
        kinds = [resource for resource in REGISTERED if self.covers(resource)]
        if len(kinds) != 1 or not self.rules:
            return None
        only = kinds[0]
        whole = all(rule.groups == {only.group} and rule.resources <= {only.plural} for rule in self.rules)
        return BY_GROUP_KIND[only.group, only.kind] if whole else None

    def covers(self, resource: Resource) -> bool:
        """Whether it may speak of a kind."""
        return not self.rules or any(rule.covers(resource) for rule in self.rules)

    def speaks_of_any(self, resources: Iterable[Resource]) -> bool:
        """Whether a file of one of these kinds could be what it speaks of."""
        rules = [rule for rule in self.rules if rule.asked_for]
        return not self.rules or any(rule.covers(resource) for resource in resources for rule in rules)

    def matches(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        """Whether it speaks of a request."""
        if self.rules and not any(rule.matches(request, equivalent=self.equivalent) for rule in self.rules):
            return False
        if any(rule.matches(request, equivalent=self.equivalent) for rule in self.exclusions):
            return False
        # Either side of an update may have the labels that are asked for.
        return any(self.objects.matches(labels) for labels in request.labels) and self._space(request, namespace_labels)

    def _space(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        if not self.namespaces.requirements:
            return True
        if request.is_namespace:
            return any(self.namespaces.matches(labels) for labels in request.labels)
        namespace = request.id.namespace
        return not namespace or self.namespaces.matches(namespace_labels(namespace))
