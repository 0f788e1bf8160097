"""Generations: a spec's change is counted, +1 each time, as an API server would.

What is compared is a digest of the spec as people and agents wrote it; derived taints are no change of anybody's
wish. Labels and annotations do not count (HyperFleet's seed: only a spec change makes a resource not Ready). Being
marked for deletion does, as in the Kubernetes API and in HyperFleet's: whoever looks after the object has to answer.

Fields of a cluster that are between people and the hub (its taints, whether it is accepted, how long its lease lasts:
`Kind.of_hub`) do not count either: no adapter has anything to do for them. An API server would count them. There is one
generation all the same, because adapters answer for the one that they read in the object.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from muster.data.decision import OF_SPEC, Because, Decision
from muster.data.finding import Finding
from muster.data.kinds import ALL, Kind
from muster.data.tree import Tree, dig, digest_of
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.policies.adapters import is_deleting
from muster.rules.stages import Local

DIGEST = "muster.dev/spec-digest"
_COUNTED = tuple(kind for kind in ALL if kind.counted)
_BECAUSE = Because("generations", OF_SPEC, "counts the changes of the spec")


def stage(view: View, _context: Context, _now: datetime) -> Iterator[Decision | Finding]:
    """Decide `metadata.generation` of every object whose kind is counted."""
    yield from each(view.of(*_COUNTED), partial(_counted, view))


def _counted(view: View, obj: Object) -> Iterator[Decision]:
    deleting = is_deleting(view, obj)
    digest = wish_digest(asked_of_adapters(obj.kind, obj.spec), deleting=deleting)
    known = view.before(obj.id, "metadata", "annotations", DIGEST)
    # Earlier versions digested the whole spec: where nothing but the way of counting is new, nothing is.
    changed = known != digest and (not obj.kind.of_hub or known != wish_digest(obj.spec, deleting=deleting))
    yield Decision(obj.id, ("metadata", "generation"), _generation(view, obj, changed=changed), _BECAUSE)
    yield Decision(obj.id, ("metadata", "annotations"), {DIGEST: digest}, _BECAUSE)


def _generation(view: View, obj: Object, *, changed: bool) -> int:
    """The last generation, one more where the spec changed, never less than what the object says of itself."""
    written = dig(obj.body, "metadata", "generation")
    own = written if isinstance(written, int) and not isinstance(written, bool) else 1
    last = view.before(obj.id, "metadata", "generation")
    if not isinstance(last, int) or isinstance(last, bool):
        return own
    return max(last + int(changed), own)


def asked_of_adapters(kind: Kind, spec: Tree) -> Tree:
    """Return an object's spec without the fields that are the hub's own."""
    if not isinstance(spec, dict) or not any(name in spec for name in kind.of_hub):
        return spec
    return {name: value for name, value in spec.items() if name not in kind.of_hub}


def wish_digest(spec: Tree, *, deleting: bool) -> str:
    """Return the digest of all that people want of an object: of its spec what counts, and whether it is to go."""
    return spec_digest({"deleting": spec}) if deleting else spec_digest(spec)


def spec_digest(spec: Tree) -> str:
    """Return 12 hex digits that change when the spec's data does; formatting and comments do not count."""
    return digest_of(spec)[:12]


STAGE = Local("generations", stage, derives=((ALL, (("metadata", "generation"), ("metadata", "annotations"))),))
