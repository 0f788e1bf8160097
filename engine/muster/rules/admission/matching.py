"""The requests that a policy or binding matches: `matchConstraints` and `matchResources`.

Source: the Kubernetes API's MatchResources. `namespaceSelector` uses the labels of the namespace's document in the
repository and, even without one, its name (`surroundings`); a Namespace is matched by its own labels, and other objects
without a namespace always match, as upstream. Files never request a subresource.
"""

from collections.abc import Callable, Iterable, Mapping

from muster.data.kinds import BY_GROUP_KIND, Kind
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.rules.admission.request import AdmissionRequest
from muster.rules.admission.resources import REGISTERED, Resource
from muster.rules.policies.selectors import LabelSelector

_EVERY_RESOURCE = frozenset(("*", "*/*"))

#: Returns the labels of a namespace.
NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """One set of operations and resources; `*` means all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    scope: str

    @classmethod
    def parse(cls, tree: Tree) -> "ResourceRule":
        """Parse a valid rule."""
        operations, groups, versions, resources, names = (
            frozenset(tree.get(field) or ())
            for field in ("operations", "apiGroups", "apiVersions", "resources", "resourceNames")
        )
        return cls(operations, groups, versions, resources, names, str(tree.get("scope", "*")))

    @property
    def matchable(self) -> bool:
        """Can a file match? Files request no subresource and no CONNECT."""
        return self.operations != {"CONNECT"} and any("/" not in name or name == "*/*" for name in self.resources)

    def covers(self, resource: Resource) -> bool:
        """Does the rule match a kind, in any version?"""
        scope = self.scope == "*" or (self.scope == "Namespaced") == resource.namespaced
        return (
            scope
            and _has(self.groups, resource.group)
            and (not self.resources.isdisjoint(_EVERY_RESOURCE) or not self.resources.isdisjoint(resource.plurals))
        )

    def matches(self, request: AdmissionRequest, *, equivalent: bool) -> bool:
        """Does the rule match a request? `equivalent`: in any version of the kind."""
        version = equivalent or _has(self.versions, request.version)
        named = not self.names or request.id.name in self.names
        return version and named and _has(self.operations, request.operation) and self.covers(request.resource)


def _has(values: frozenset[str], value: str) -> bool:
    return "*" in values or value in values


@dataclass(frozen=True, slots=True)
class Match:
    """At least one rule must match (if there are any), no exclusion, and both selectors."""

    rules: tuple[ResourceRule, ...]
    exclusions: tuple[ResourceRule, ...]
    objects: LabelSelector
    namespaces: LabelSelector
    equivalent: bool

    @classmethod
    def parse(cls, tree: Tree) -> "Match":
        """Parse a valid match; None matches everything."""
        tree = tree or {}
        return cls(
            tuple(ResourceRule.parse(rule) for rule in mappings_at(tree, "resourceRules")),
            tuple(ResourceRule.parse(rule) for rule in mappings_at(tree, "excludeResourceRules")),
            LabelSelector.parse(tree.get("objectSelector")),
            LabelSelector.parse(tree.get("namespaceSelector")),
            tree.get("matchPolicy", "Equivalent") == "Equivalent",
        )

    def kind(self) -> Kind | None:
        """The registered kind, if the match is limited to one."""
        kinds = [resource for resource in REGISTERED if self.covers(resource)]
        if len(kinds) != 1 or not self.rules:
            return None
        only = kinds[0]
        whole = all(rule.groups == {only.group} and rule.resources <= {only.plural} for rule in self.rules)
        return BY_GROUP_KIND[only.group, only.kind] if whole else None

    def covers(self, resource: Resource) -> bool:
        """Can it match a kind?"""
        return not self.rules or any(rule.covers(resource) for rule in self.rules)

    def can_match_any(self, resources: Iterable[Resource]) -> bool:
        """Can it match a file of one of these kinds?"""
        rules = [rule for rule in self.rules if rule.matchable]
        return not self.rules or any(rule.covers(resource) for resource in resources for rule in rules)

    def matches(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        """Does it match a request?"""
        if self.rules and not any(rule.matches(request, equivalent=self.equivalent) for rule in self.rules):
            return False
        if any(rule.matches(request, equivalent=self.equivalent) for rule in self.exclusions):
            return False
        # Either side of an update may have the labels.
        return any(self.objects.matches(labels) for labels in request.labels) and self._space(request, namespace_labels)

    def _space(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        if not self.namespaces.requirements:
            return True
        if request.is_namespace:
            return any(self.namespaces.matches(labels) for labels in request.labels)
        namespace = request.id.namespace
        return not namespace or self.namespaces.matches(namespace_labels(namespace))
