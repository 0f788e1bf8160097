"""Taint clusters by hand, in the cluster's file, with the syntax of `kubectl taint`.

    dedicated=gpu:NoSelect    add the taint, or change its value
    dedicated:NoSelect-       remove that taint
    dedicated-                remove every taint with that key

Source: seed 002. `timeAdded` is written by muster, so none is written here.
"""

from collections.abc import Iterable

from muster.data.ids import ObjectId
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, TAINT_EFFECTS, kind_of
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.features.edits.editing import Draft, EditRefusedError
from muster.fleet.adoption import Deciders

_LIST = ("spec", "taints")
_KNOWN_EFFECTS = frozenset().union(*TAINT_EFFECTS.values())


@dataclass(frozen=True, slots=True)
class TaintEdit:
    """One taint to add or to remove; without an effect all with that key."""

    key: str
    value: str
    effect: str
    removed: bool

    @classmethod
    def parse(cls, text: str) -> "TaintEdit":
        """Read `key[=value]:effect`, `key[=value]:effect-` or `key-`. ValueError for anything else."""
        removed = text.endswith("-")
        pair, colon, effect = text.removesuffix("-").partition(":")
        key, _, value = pair.partition("=")
        if not key or (not effect and (colon or not removed)):
            raise ValueError(f"{text!r} is not KEY[=VALUE]:EFFECT, KEY:EFFECT- or KEY-")
        if effect and effect not in _KNOWN_EFFECTS:
            kinds = "; ".join(
                f"a {kind}'s is {' or '.join(sorted(effects))}" for kind, effects in TAINT_EFFECTS.items()
            )
            raise ValueError(f"no taint has the effect {effect!r}: {kinds}")
        return cls(key, value, effect, removed)

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}" + (f":{self.effect}" if self.effect else "")


def taint(draft: Draft, clusters: Iterable[str], edits: Iterable[TaintEdit]) -> None:
    """Change the taints of clusters. EditRefusedError for an unknown cluster, or if there is nothing to remove."""
    wanted = tuple(edits)
    for name in clusters:
        id_ = draft.cluster(name)
        for edit in wanted:
            (_remove if edit.removed else _add)(draft, id_, edit)


#: Keeps new decisions off a cluster, and makes those that chose it leave it.
CORDONED, DRAINED = "muster.dev/cordoned", "muster.dev/drained"
_EFFECTS = {
    (MANAGED_CLUSTER.name, CORDONED): "NoSelectIfNew",
    (MANAGED_CLUSTER.name, DRAINED): "NoSelect",
    (KARMADA_CLUSTER.name, CORDONED): "NoSchedule",
    (KARMADA_CLUSTER.name, DRAINED): "NoExecute",
}


def mark(draft: Draft, clusters: Iterable[str], key: str) -> None:
    """Cordon or drain clusters. EditRefusedError for an unknown one."""
    for name in clusters:
        id_ = draft.cluster(name)
        _add(draft, id_, TaintEdit(key, "", _EFFECTS[id_.kind, key], removed=False))


def unmark(draft: Draft, clusters: Iterable[str]) -> None:
    """Take both marks from clusters. EditRefusedError for an unknown one."""
    for name in clusters:
        id_ = draft.cluster(name)
        for key in (CORDONED, DRAINED):
            if any(taint.get("key") == key for _, _, taint in draft.items(id_, _LIST)):
                _remove(draft, id_, TaintEdit(key, "", "", removed=True))


def _add(draft: Draft, id_: ObjectId, edit: TaintEdit) -> None:
    if Deciders.of(draft.fleet.objects).decide_taint(kind_of(id_), {"key": edit.key, "effect": edit.effect}):
        raise EditRefusedError(
            f"a policy decides the taint {edit}: one of yours would not count", "use a key of your own"
        )
    body: Tree = {"key": edit.key, **({"value": edit.value} if edit.value else {}), "effect": edit.effect}
    for part, index, present in draft.items(id_, _LIST):
        if (present.get("key"), present.get("effect")) == (edit.key, edit.effect):
            if (present.get("value") or "") != edit.value:
                draft.set(part, (*_LIST, index), body)
                draft.changes.append(f"{id_}: taint {edit} replaces value {present.get('value') or ''!r}")
            return
    draft.append(draft.declaring_part(id_, *_LIST), _LIST, body)
    draft.changes.append(f"{id_}: taint {edit} added")


def _remove(draft: Draft, id_: ObjectId, edit: TaintEdit) -> None:
    places = [
        (part, index)
        for part, index, taint in draft.items(id_, _LIST)
        if taint.get("key") == edit.key and edit.effect in ("", taint.get("effect"))
    ]
    if not places:
        raise EditRefusedError(f"no file has taint {edit} of {id_}", _derived_hint(draft, id_, edit))
    for part, index in sorted(places, key=lambda pair: pair[1], reverse=True):
        draft.remove(part, (*_LIST, index))
    draft.changes.append(f"{id_}: taint {edit} removed")


def _derived_hint(draft: Draft, id_: ObjectId, edit: TaintEdit) -> str:
    derived = dig(draft.fleet.previous.get(id_), *_LIST) or ()
    if any(isinstance(taint_, dict) and taint_.get("key") == edit.key for taint_ in derived):
        return "a TaintPolicy adds it: it is removed when its condition no longer holds"
    return ""
