"""Generations: a spec's change is counted, +1 each time, as an API server would.

What is compared is a digest of the spec as people and agents wrote it; derived taints are no change of anybody's
wish. Labels and annotations do not count (HyperFleet's seed: only a spec change makes a resource not Ready). Being
marked for deletion does, as in the Kubernetes API and in HyperFleet's: whoever looks after the object has to answer.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from muster.decide.adapters import is_deleting
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.model.decision import Because, Decision
from muster.model.finding import Finding
from muster.model.kinds import ALL
from muster.model.tree import Tree, dig

DIGEST = "muster.dev/spec-digest"
_COUNTED = tuple(kind for kind in ALL if kind.counted)
_BECAUSE = Because("generations")


def stage(fleet: Fleet, _now: datetime) -> Iterator[Decision | Finding]:
    """Decide `metadata.generation` of every object whose kind is counted."""
    yield from each(fleet.of(*_COUNTED), partial(_counted, fleet))


def _counted(fleet: Fleet, obj: Object) -> Iterator[Decision]:
    digest = wish_digest(obj.spec, deleting=is_deleting(fleet, obj))
    yield Decision(obj.id, ("metadata", "generation"), _generation(fleet, obj, digest), _BECAUSE)
    yield Decision(obj.id, ("metadata", "annotations"), {DIGEST: digest}, _BECAUSE)


def _generation(fleet: Fleet, obj: Object, digest: str) -> int:
    """The last generation, one more where the spec changed, never less than what the object says of itself."""
    written = dig(obj.body, "metadata", "generation")
    own = written if isinstance(written, int) and not isinstance(written, bool) else 1
    last = fleet.before(obj.id, "metadata", "generation")
    if not isinstance(last, int) or isinstance(last, bool):
        return own
    changed: bool = fleet.before(obj.id, "metadata", "annotations", DIGEST) != digest
    return max(last + int(changed), own)


def wish_digest(spec: Tree, *, deleting: bool) -> str:
    """Return the digest of all that people want of an object: its spec, and whether it is to go."""
    return spec_digest({"deleting": spec}) if deleting else spec_digest(spec)


def spec_digest(spec: Tree) -> str:
    """Return 12 hex digits that change when the spec's data does; formatting and comments do not count."""
    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]
