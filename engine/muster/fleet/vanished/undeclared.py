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
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, FLEET, PLACEMENT_DECISION, kind_of
from muster.data.names import slip_of
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.approvals import is_human_decision
from muster.fleet.declaration import declares, needs_declaration
from muster.fleet.places import place_of
from muster.fleet.report_parts import report_sections, says_nothing
from muster.fleet.settings import RECORD
from muster.fleet.vanished.search import Search, earlier_content, names_object

_SECTIONS = ("spec", "status")
#: Kinds whose objects are for their status.
_WITHOUT_SPEC = (ADD_ON_PLACEMENT_SCORE, PLACEMENT_DECISION)


def by_declaration(search: Search) -> None:
    """Keep the objects whose documents lost their spec, and report each."""
    doubtful = list[Part]()
    for part in _bare_parts(search):
        does_nothing = not any(isinstance(part.body.get(section), dict) for section in _SECTIONS)
        misplaced = isinstance(dig(part.body, "metadata", _section(part.id)), dict)
        # What the Fleet had is recorded, so no history is asked.
        had_settings = FLEET.has(part.id) and bool(dig(search.previous.get(part.id), *RECORD))
        if (does_nothing and needs_declaration(part.id)) or misplaced or had_settings:
            _keep(search, part)
        elif not FLEET.has(part.id):
            doubtful.append(part)
    for path, parts in grouped((part.source.path, part) for part in doubtful).items():
        before = _declared_before(search, path, parts[0].source.oid)
        for part in parts:
            if part.id in before:
                _keep(search, part)


def _bare_parts(search: Search) -> Iterator[Part]:
    """People's parts without a declaration, of objects that no other part declares."""
    for part in search.reading.parts:
        if part.layer is not Layer.INPUT or part.source.ref:
            continue
        if needs_declaration(part.id):
            if (part.id not in search.declared and not is_human_decision(part)) or (
                part.id in search.declared and _is_hollow(part) and not _is_reported(search, part.id)
            ):
                yield part
        elif _may_have_lost(part) and not any(_section(part.id) in body for body in search.current[part.id]):
            yield part


def _is_hollow(part: Part) -> bool:
    """Is there nothing in it but the object's name?"""
    return (
        set(part.body) <= {"apiVersion", "kind", "metadata", *_SECTIONS}
        and says_nothing(part)
        and (set(mapping_at(part.body, "metadata")) <= {"name", "namespace", *_SECTIONS})
    )


def _is_reported(search: Search, id_: ObjectId) -> bool:
    return any(isinstance(body.get("status"), dict) for body in search.current[id_])


def _may_have_lost(part: Part) -> bool:
    """Is it more than a report, or does it hold its section in the wrong place?"""
    counts = ADD_ON_PLACEMENT_SCORE.has(part.id) or not report_sections(part)
    return counts or isinstance(dig(part.body, "metadata", _section(part.id)), dict)


def _section(id_: ObjectId) -> str:
    """The section that says what an object of the kind is for."""
    return "status" if kind_of(id_) in _WITHOUT_SPEC else "spec"


def _declared_before(search: Search, path: str, oid: str) -> frozenset[ObjectId]:
    """The objects that the file declared at the last run or since, and nothing declares now."""
    if search.past is None or not search.past.commit:
        return frozenset(id_ for id_ in search.missing() if needs_declaration(id_) and names_object(path, id_))
    earlier = earlier_content(search.past.before((path,)).get(path, ()), oid)
    if earlier is None:
        return frozenset()
    with_section = {part.id for part in earlier.parts if _section(part.id) in part.body}
    lost = set(search.lost(earlier))
    return frozenset(
        part.id
        for part in earlier.parts
        if (declares(part.id, part.body) and part.id in lost if needs_declaration(part.id) else part.id in with_section)
    )


def _keep(search: Search, part: Part) -> None:
    if part.id not in search.reading.broken and part.id not in search.broken:
        search.broken.add(part.id)
        section = "status" if part.id in search.declared else _section(part.id)
        search.findings.append(lost_declaration(part, section))


def lost_declaration(part: Part, section: str) -> Finding:
    """Return the finding about a document that no longer declares its object, at the key that was probably meant."""
    key, hint = _intended_section(part.body, section)
    message = f"{part.id} has no {section} here, and no other file gives it one: it stays as it was"
    return finding(Code.DECLARATION_LOST, message, place_of((part,), key), hint=hint, object_=part.id)


def _intended_section(body: Mapping[str, Tree], section: str) -> tuple[tuple[str, ...], str]:
    """The path of what was probably meant as the section, and the hint."""
    for name in body:
        if slip_of(name, (section,)):
            return (name,), f"did you mean {section!r}? {name!r} is no field"
    for name in body:
        if isinstance(dig(body, name, section), dict):
            return (name, section), f"is it indented too far? {section!r} belongs beside {name!r}, not below it"
    return (), f"write its {section} again; to remove the object, delete this document"
