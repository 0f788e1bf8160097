"""What policies read besides the object: its namespace, `params`, and the user.

Sources: the Kubernetes API's ParamRef (and upstream's `CollectParams`), `namespaceObject`, `request.userInfo`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.documents import DEFAULT_NAMESPACE
from muster.fleet.fleet import Fleet
from muster.rules.admission.foreign import ForeignObjects, named_namespace
from muster.rules.admission.groups import groups_of
from muster.rules.admission.policies import Binding
from muster.rules.admission.request import UNKNOWN_USER, AdmissionRequest
from muster.rules.policies.lazy import Witness, cost_share
from muster.rules.policies.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Params:
    """The objects that a policy reads as `params`, one after another; or why there are none."""

    bodies: tuple[Tree, ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class AdmissionInputs:
    """One revision's further inputs of policies. A `witness` records the evaluation of expressions; the `base` says who
    is in which group, so that no change decides that about itself."""

    fleet: Fleet
    foreigners: ForeignObjects
    witness: Witness | None = None
    base: Fleet | None = None
    _spaces: dict[str, Tree] = field(default_factory=dict)
    _params: dict[tuple[ObjectId, str], Params] = field(default_factory=dict)

    @cached_property
    def share(self) -> int:
        """The cost limit of a policy for each sound object of the whole fleet."""
        settings, count = self.fleet.settings, sum(self.fleet.counts().values())
        return cost_share(settings.policy_cost, settings.expression_cost, count)

    # -- namespaces

    def namespace(self, request: AdmissionRequest) -> Tree:
        """The namespace of the object; None for one without, and for a Namespace itself."""
        name = request.id.namespace
        return self._space(name) if name else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace."""
        return mapping_at(self._space(name), "metadata", "labels")

    def _space(self, name: str) -> Tree:
        """A namespace as in the repository, else with its name alone."""
        if name not in self._spaces:
            documents = (document for id_, document in self.foreigners.of_kind("", "Namespace") if id_.name == name)
            first = next(documents, None)
            self._spaces[name] = self.foreigners.object(first).body if first else named_namespace({}, name)
        return self._spaces[name]

    # -- parameters

    def params(self, binding: Binding, request: AdmissionRequest) -> Params:
        """The parameters of a binding for a request."""
        kind, ref = binding.policy.param_kind, binding.param_ref
        if kind is None or not ref:
            return Params((None,))
        key = binding.source.id, request.id.namespace
        if key not in self._params:
            self._params[key] = self._matching_params(binding, kind, ref, request.id.namespace)
        return self._params[key]

    def _matching_params(self, binding: Binding, kind: tuple[str, str], ref: Mapping[str, Tree], asking: str) -> Params:
        namespace = str(ref.get("namespace") or "")
        resource = self.foreigners.resources.of(*kind)
        if resource.namespaced:
            namespace = namespace or asking
            if not namespace:
                return Params(
                    refused=f"spec.paramRef of {binding.source.id} names no namespace, nor has the object one"
                )
        elif namespace and resource.guessed:
            # The binding knows better than documents without a namespace: those are in the default one.
            namespace = "" if namespace == DEFAULT_NAMESPACE else namespace
        elif namespace:
            return Params(refused=f"spec.paramRef of {binding.source.id} names a namespace, and {kind[1]} has none")
        if "name" in ref:
            bodies = tuple(self._bodies(kind, namespace, str(ref["name"])))[:1]
        else:
            selector = LabelSelector.parse(ref.get("selector"))
            of_kind = self._bodies(kind, namespace)
            bodies = tuple(body for body in of_kind if selector.matches(mapping_at(body, "metadata", "labels")))
        if not bodies and ref.get("parameterNotFoundAction") != "Allow":
            return Params(
                refused=f"no object matches spec.paramRef of {binding.source.id}, so the policy cannot be evaluated"
            )
        return Params(bodies)

    def _bodies(self, kind: tuple[str, str], namespace: str, name: str = "") -> Iterator[Tree]:
        """The objects of a kind in a namespace, or the one of a name, as in the repository."""
        registered = BY_GROUP_KIND.get(kind)
        if registered is not None:
            yield from (
                obj.body
                for obj in self.fleet.of(registered)
                if obj.id.namespace == namespace and name in ("", obj.id.name)
            )
        else:
            yield from (
                self.foreigners.object(document).body
                for id_, document in self.foreigners.of_kind(*kind)
                if id_.namespace == namespace and name in ("", id_.name)
            )

    # -- who asks

    def user(self, request: AdmissionRequest) -> Mapping[str, Tree]:
        """`request.userInfo`: the last author of the object, by git."""
        if self.fleet.read.authors is None:
            return UNKNOWN_USER
        authors, files = self.fleet.read.authors, request.files
        author = authors.of(files) if files else None
        in_force = self.fleet if self.base is None else self.base
        if author is None:
            return UNKNOWN_USER
        return {
            **UNKNOWN_USER,
            "username": author.mail or author.name,
            "groups": groups_of(author.mail, in_force.settings, authors, files),
            "extra": {"muster.dev/author-name": [author.name]},
        }
