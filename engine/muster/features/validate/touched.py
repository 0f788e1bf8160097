"""The findings that concern some files: those that `muster validate FILES` shows."""

from collections.abc import Collection, Iterator

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING
from muster.data.tree import mapping_at
from muster.fleet.documents import DEFAULT_NAMESPACE
from muster.fleet.fleet import Fleet


def touched_findings(fleet: Fleet, files: Collection[str]) -> list[Finding]:
    """Return the findings in these files, and those about every object that has a part in one of them.

    Also included: for `.musterignore` every file that lost its object; findings about the change, such as held
    removals, and refused deletions; for a policy, its binding, and the objects that they read everything that the
    policy refuses.
    """
    names = set(files)
    ignores = ".musterignore" in names
    declared = {
        *fleet.objects,
        *(id_ for document in fleet.read.foreign_objects for id_ in _ids(document.id)),
    }
    objects = {id_ for id_, obj in fleet.objects.items() if any(part.source.path in names for part in obj.parts)}
    policies = frozenset(_policies(fleet, names, objects))
    return [
        finding
        for finding in fleet.sorted_findings()
        if finding.file in names
        or finding.object in objects
        or finding.code.of_change
        or (ignores and finding.code == Code.FILE_LOST_ITS_OBJECT)
        or (
            finding.code == Code.ADMISSION_REFUSED
            and (finding.policy in policies or (finding.object not in declared and finding not in fleet.beyond.found))
        )
    ]


def _ids(id_: ObjectId) -> Iterator[ObjectId]:
    """Yield the possible ids of an object of an unknown kind: in its namespace, none, or default."""
    yield from (id_, id_._replace(namespace=""), id_._replace(namespace=id_.namespace or DEFAULT_NAMESPACE))


def _policies(fleet: Fleet, names: Collection[str], objects: Collection[ObjectId]) -> Iterator[ObjectId]:
    """Yield the admission policies that a change of these files can affect."""
    kinds = {
        kind
        for kind, documents in fleet.read.foreign.items()
        if any(document.source.path in names for document in documents)
    }
    kinds |= {(id_.group, id_.kind) for id_ in objects}
    bound = {
        obj.spec.get("policyName")
        for obj in fleet.of(VALIDATING_ADMISSION_POLICY_BINDING)
        if obj.id in objects or ("", "Namespace") in kinds
    }
    for obj in fleet.of(VALIDATING_ADMISSION_POLICY):
        read = mapping_at(obj.spec, "paramKind")
        group = str(read.get("apiVersion", "")).rpartition("/")[0]
        if obj.id in objects or obj.id.name in bound or (group, read.get("kind")) in kinds:
            yield obj.id
