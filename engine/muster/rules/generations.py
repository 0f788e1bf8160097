"""Generations: `metadata.generation` grows by 1 with each change of the spec, as on an API server.

Compared is a digest of the spec as people and agents wrote it, without derived taints. Labels and annotations do not
count (HyperFleet's seed: only a spec change makes a resource not Ready). A deletion mark does, as in the Kubernetes API
and HyperFleet's: adapters have to react.

Fields between people and the hub (taints, acceptance, lease duration: `Kind.of_hub`) do not count either: adapters have
nothing to do for them. An API server would count them; here one generation serves adapters, which report the one they
observed.
"""

from collections.abc import Iterator
from functools import partial

from muster.data.decision import OF_SPEC, Because, Decision
from muster.data.finding import Finding
from muster.data.kinds import ALL, Kind
from muster.data.tree import Tree, dig, digest_of
from muster.fleet.faults import each
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.fleet.view import View
from muster.rules.policies.adapters import is_deleting
from muster.rules.stages import Local

_COUNTED = tuple(kind for kind in ALL if kind.counted)
_BECAUSE = Because("generations", OF_SPEC, "counts the changes of the spec")


def stage(view: View) -> Iterator[Decision | Finding]:
    """Decide `metadata.generation` of every object of a counted kind."""
    yield from each(view.of(*_COUNTED), partial(_counted, view))


def _counted(view: View, obj: Object) -> Iterator[Decision]:
    deleting = is_deleting(view, obj)
    digest = desired_digest(adapter_spec(obj.kind, obj.spec), deleting=deleting)
    last_digest = view.before(obj.id, "metadata", "annotations", SPEC_DIGEST)
    # Earlier versions digested the whole spec: a new way of counting alone is no change.
    changed = last_digest != digest and (
        not obj.kind.of_hub or last_digest != desired_digest(obj.spec, deleting=deleting)
    )
    yield Decision(obj.id, ("metadata", "generation"), _generation(view, obj, changed=changed), _BECAUSE)
    yield Decision(obj.id, ("metadata", "annotations"), {SPEC_DIGEST: digest}, _BECAUSE)


def _generation(view: View, obj: Object, *, changed: bool) -> int:
    """The last generation, plus one if the spec changed, and at least the object's own value."""
    written = dig(obj.body, "metadata", "generation")
    declared = written if isinstance(written, int) and not isinstance(written, bool) else 1
    last = view.before(obj.id, "metadata", "generation")
    if not isinstance(last, int) or isinstance(last, bool):
        return declared
    return max(last + int(changed), declared)


def adapter_spec(kind: Kind, spec: Tree) -> Tree:
    """Return an object's spec without the hub's own fields."""
    if not isinstance(spec, dict) or not any(name in spec for name in kind.of_hub):
        return spec
    return {name: value for name, value in spec.items() if name not in kind.of_hub}


def desired_digest(spec: Tree, *, deleting: bool) -> str:
    """Return a digest of the desired state: the spec's counted fields, and whether the object is to be deleted."""
    return spec_digest({"deleting": spec}) if deleting else spec_digest(spec)


def spec_digest(spec: Tree) -> str:
    """Return 12 hex digits that change with the spec's data, not with formatting or comments."""
    return digest_of(spec)[:12]


STAGE = Local("generations", stage, derives=((ALL, (("metadata", "generation"), ("metadata", "annotations"))),))
