"""The objects that the policies in force read besides those that they judge: parameters, and namespaces.

They are terms of every judgement, like the policies' own texts: a run reads their files each time, and an edit of one
counts as an edit of the policies.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ALL, BY_GROUP_KIND, VALIDATING_ADMISSION_POLICY, of_kinds
from muster.data.tree import Tree
from muster.fleet.fleet import Fleet
from muster.fleet.foreign import BodyLoader
from muster.fleet.shared import OF_CLUSTERS
from muster.rules.admission.matching import Match
from muster.rules.admission.policies import Binding, param_kind
from muster.rules.admission.resources import BUILT_IN, DEFINITION
from muster.rules.policies.in_force import NOTHING_READ, PolicyReads, ReadObject

_NAMESPACES: Final = ReadObject("", "Namespace")
#: The resources of registered kinds.
_REGISTERED: Final = frozenset((kind.group, kind.plural) for kind in ALL)


def policy_reads(fleet: Fleet, bindings: Collection[Binding]) -> PolicyReads:
    """Return what the bindings' policies read, with a digest of its present content."""
    objects = tuple(sorted({read for binding in bindings for read in _of_binding(binding)}))
    foreign = any(_matches_foreign(binding.policy.match) for binding in bindings)
    if not objects and not foreign:
        return NOTHING_READ
    reads = PolicyReads(objects, foreign)
    content = repr(list(_content(fleet, reads))).encode("utf-8", "surrogatepass")
    return PolicyReads(objects, foreign, blake2b(content, digest_size=12).hexdigest())


def reads_clusters(fleet: Fleet) -> bool:
    """Does one of the fleet's own policies have objects of clusters as parameters? They are not read in each run."""
    kinds = (param_kind(fleet.objects[id_]) for id_ in of_kinds(fleet.objects, VALIDATING_ADMISSION_POLICY))
    return any(kind is not None and BY_GROUP_KIND.get(kind) in OF_CLUSTERS for kind in kinds)


def _of_binding(binding: Binding) -> Iterator[ReadObject]:
    policy, ref = binding.policy, binding.param_ref
    if policy.match.namespaces.requirements or binding.match.namespaces.requirements or policy.reads_namespace:
        yield _NAMESPACES
    if policy.param_kind is None or not ref:
        return
    group, kind = policy.param_kind
    registered = policy.param_kind in BY_GROUP_KIND
    if group and not registered:
        yield ReadObject(*DEFINITION)
    # All objects of a kind without a definition tell whether it is namespaced.
    yield ReadObject(group, kind, str(ref.get("name") or "") if registered or group in BUILT_IN else "")


def _matches_foreign(match: Match) -> bool:
    """Can it match objects of unknown kinds, or does it match nothing unless there are some?"""
    named = {(group, resource) for rule in match.rules for group in rule.groups for resource in rule.resources}
    return not named or not named <= _REGISTERED


def _content(fleet: Fleet, reads: PolicyReads) -> Iterator[tuple[ObjectId, Tree]]:
    """The objects that are read, in the order in which policies read them."""
    opener = BodyLoader()
    for kind in sorted({(read.group, read.kind) for read in reads.objects}):
        registered = BY_GROUP_KIND.get(kind)
        if registered is not None:
            yield from ((obj.id, obj.body) for obj in fleet.of(registered) if reads.has(obj.id))
        else:
            documents = (document for document in fleet.read.foreign.get(kind, ()) if reads.has(document.id))
            yield from ((document.id, opener.body(document)) for document in documents)


def files_read(fleet: Fleet, reads: PolicyReads) -> frozenset[str]:
    """Return people's files with the objects that policies read."""
    either: Iterable[tuple[ObjectId, str]] = (
        *((part.id, part.source.path) for part in fleet.read.parts if not part.source.ref),
        *((document.id, document.source.path) for document in fleet.read.foreign_objects),
    )
    return frozenset(path for id_, path in either if reads.has(id_))
