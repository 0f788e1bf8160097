"""Documents that name an object and no longer declare it: the spec is misspelt, misplaced, empty or gone.

A document with a status alone reports on its object, and removing the object leaves it behind. One with neither spec
nor status does nothing, and one whose file held the spec at the last run has lost it: both are mistakes, and the object
keeps its derived state.
"""

from collections.abc import Iterator, Mapping

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.names import slip_of
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig
from muster.fleet.approvals import is_human_decision
from muster.fleet.declaration import declares, needs_declaration
from muster.fleet.places import place_of
from muster.fleet.vanished.search import Search, earlier_content

_SECTIONS = ("spec", "status")
_RESTORE = "write its spec again; to remove the object, delete this document"


def by_declaration(search: Search) -> None:
    """Keep the objects whose documents lost their spec, and report each."""
    reports = list[Part]()
    for part in _bare_parts(search):
        if any(isinstance(part.body.get(section), dict) for section in _SECTIONS):
            reports.append(part)
        else:
            _keep(search, part)
    if not reports:
        return
    for path, parts in grouped((part.source.path, part) for part in reports).items():
        for part in parts:
            if part.id in _declared_before(search, path, parts[0].source.oid):
                _keep(search, part)


def _bare_parts(search: Search) -> Iterator[Part]:
    """People's parts of objects that nothing declares."""
    for part in search.reading.parts:
        if part.layer is Layer.INPUT and not part.source.ref and needs_declaration(part.id):
            if part.id not in search.declared and not declares(part.id, part.body) and not is_human_decision(part):
                yield part


def _declared_before(search: Search, path: str, oid: str) -> frozenset[ObjectId]:
    """The objects that the file declared at the last run or since, and nothing declares now."""
    if search.past is None or not search.past.commit:
        return frozenset(id_ for id_ in search.missing() if names_object(path, id_))
    then = earlier_content(search.past.before((path,)).get(path, ()), oid)
    if then is None:
        return frozenset()
    declared = {part.id for part in then.parts if declares(part.id, part.body)}
    return declared.intersection(search.lost(then))


def _keep(search: Search, part: Part) -> None:
    if part.id not in search.reading.broken:
        search.broken.add(part.id)
        search.findings.append(_lost_declaration(part))


def _lost_declaration(part: Part) -> Finding:
    """The finding about a document that no longer declares its object, at the key that was probably meant."""
    key, hint = _meant(part.body)
    message = f"{part.id} has no spec here, and no file declares it: nothing is removed"
    return finding(Code.DECLARATION_LOST, message, place_of((part,), key), hint=hint, object_=part.id)


def _meant(body: Mapping[str, Tree]) -> tuple[tuple[str, ...], str]:
    """The path of what was probably meant as the spec, and the hint."""
    for name in body:
        if slip_of(name, ("spec",)):
            return (name,), f"did you mean 'spec'? {name!r} is no field"
    for name in body:
        if isinstance(dig(body, name, "spec"), dict):
            return (name, "spec"), f"is it indented too far? 'spec' belongs beside {name!r}, not below it"
    return (), _RESTORE
