"""Of all findings, those that a change of some files is answerable for: what the pre-commit hook shows."""

from collections.abc import Collection

from muster.fleet.fleet import Fleet
from muster.model.finding import Finding


def touched_findings(fleet: Fleet, files: Collection[str]) -> list[Finding]:
    """Return the findings in these files, and those of every object of which one of them holds a part.

    `.musterignore` answers for every file that lost its object, and any commit for what the fleet as a whole has lost,
    and for objects that it removes although a policy does not allow it.
    """
    names = set(files)
    always = _LOST if ".musterignore" in names else _FLEET_WIDE
    there = {*fleet.objects, *(one.id for found in fleet.foreign.values() for one in found)}
    objects = {id_ for id_, obj in fleet.objects.items() if any(part.source.path in names for part in obj.parts)}
    return [
        found
        for found in fleet.sorted_findings()
        if found.file in names
        or found.object in objects
        or found.code in always
        or (found.code == "MUS320" and found.object not in there)
    ]


#: Removals that are held; and files that hold no more what they held.
_FLEET_WIDE = frozenset(("MUS420",))
_LOST = _FLEET_WIDE | {"MUS110"}
