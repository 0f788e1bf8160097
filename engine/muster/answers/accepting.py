"""Accepting and denying clusters: the hub's half of the double opt-in, as an edit of `hubAcceptsClient`.

Source: seed 002. A cluster that only its agent has spoken of so far gets a file, with what the agent proposed; from
then on only its status is taken from the agent. Denying a cluster that was never accepted writes that down too, so that
`registration.autoAccept` does not take it.
"""

from collections.abc import Iterable

from muster.answers.editing import Draft, EditRefusedError
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.tree import dig, mapping_at

_FIELD = ("spec", "hubAcceptsClient")


def accept(draft: Draft, clusters: Iterable[str]) -> None:
    """Let clusters in. EditRefusedError for one that nobody has heard of, or that is being removed."""
    for name in clusters:
        obj = draft.fleet.objects.get(MANAGED_CLUSTER.id(name))
        if obj is not None and obj.deleting:
            raise EditRefusedError(f"{obj.id} is being removed", "let the removal end, then register it again")
        _answer(draft, name, accepted=True)


def deny(draft: Draft, clusters: Iterable[str]) -> None:
    """Keep clusters out, or put them out. EditRefusedError for one that nobody has heard of."""
    for name in clusters:
        _answer(draft, name, accepted=False)


def _answer(draft: Draft, name: str, *, accepted: bool) -> None:
    id_ = MANAGED_CLUSTER.id(name)
    part = draft.part_with(id_, *_FIELD)
    word = "accepted" if accepted else "denied"
    if part is None:
        path = f"clusters/{name}/cluster.yaml"
        body = draft.fleet.objects[id_].body
        metadata = {"name": name, **{key: body["metadata"][key] for key in ("labels",) if key in body["metadata"]}}
        spec = {**mapping_at(body, "spec"), "hubAcceptsClient": accepted}
        draft.create(path, {"apiVersion": body["apiVersion"], "kind": id_.kind, "metadata": metadata, "spec": spec})
        draft.told.append(f"{id_}: {word}, written to {path}")
    elif dig(part.body, *_FIELD) is not accepted:
        draft.set(part, _FIELD, accepted)
        draft.told.append(f"{id_}: {word} in {part.source.path}")
