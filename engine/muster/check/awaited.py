"""Settings that the Fleet's schema has and nothing obeys yet: refused where they are set, because a setting that is
silently without effect is a false promise."""

from collections.abc import Iterator
from typing import Final

from muster.fleet.fleet import Fleet
from muster.fleet.places import place_of
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.kinds import FLEET
from muster.model.tree import dig

#: Path within the spec -> what to do meanwhile.
AWAITED: Final = {
    ("derived", "branch"): "remove it: derived/ is written to the branch that is reconciled",
    ("agents", "remotes"): "remove it: agents push to the repository that is reconciled, or a remote of it",
}


def awaited_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield an error for each setting that would have no effect."""
    for obj in fleet.of(FLEET):
        for path, hint in AWAITED.items():
            if dig(obj.spec, *path):
                place = place_of(obj.parts, ("spec", *path))
                message = f"spec.{'.'.join(path)} has no effect yet"
                yield finding("MUS276", message, place, hint=hint, object_=obj.id)
