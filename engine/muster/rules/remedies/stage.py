"""Remedies: the actions of each cluster, and their Remedies, by its present conditions (seed 003).

Level-based: requests are computed again in every run (`muster.rules.remedies.requested`), so an action ends when the
condition recovers or the Remedy is removed, and manual edits do not survive.

`status.remedyActions` is the sorted set; `status.muster.remedies` has each action's Remedy. A new action is a
disruptive effect, which a budget may hold, unless a person requests it: a Remedy without `decisionMatches`. Budgets
count it all the same.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from muster.data.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Held, Input, Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, REMEDY
from muster.data.tree import Tree, dig
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.budget import in_service
from muster.rules.remedies.grounds import (
    GROUNDS,
    ORIGINS,
    Ground,
    Pair,
    RequestedActions,
    entries,
    grounds_before,
    pairs_before,
)
from muster.rules.stages import Local

ACTIONS: Path = ("status", "remedyActions")

_MOST_NAMED = 10
_BECAUSE = Because("remedies", OF_CONDITIONS, "no Remedy asks for an action now")
_ALL_HELD = Because("remedies", OF_CONDITIONS, "every action that a Remedy asks for is held")
_FROZEN = "a budget holds and the cluster is silent, so no action ends"
_KEPT = Because("kept", OF_ITSELF, "the cluster is being removed, so its actions stay as they are")


def stage(
    view: View, allowance: Allowance, requested: Mapping[ObjectId, RequestedActions]
) -> Iterator[Decision | Held | Finding]:
    """Decide every cluster's actions, as far as budgets allow the requests."""
    yield from each(view.clusters(), lambda obj: _actions(view, allowance, requested.get(obj.id), obj))


def _actions(
    view: View, allowance: Allowance, requested: RequestedActions | None, obj: Object
) -> Iterator[Decision | Held]:
    """Decide the actions of one cluster."""
    before = _texts(view.before(obj.id, *map(str, ACTIONS)))
    grounds = grounds_before(view.previous.get(obj.id))
    if obj.deleting:
        yield from _decide(obj, before, pairs_before(view, obj.id), grounds, _KEPT, None)
        return
    if not in_service(obj):
        return
    requested = requested or RequestedActions(obj.id)
    pairs, any_requested = set(requested.pairs), bool(requested.pairs)
    frozen = requested.standing - pairs
    if frozen and not allowance.freezes(view, obj.id):
        frozen = frozenset()
    pairs.update(frozen)
    for action in sorted({action for action, _ in pairs} - set(before)):
        held = allowance.holds(view, obj.id, f"remedy {action}", by_person=action in requested.at_once)
        if held is not None:
            yield held
            pairs = {pair for pair in pairs if pair[0] != action}
    because = _because(pairs, requested, frozen=bool(frozen)) if pairs else _ALL_HELD if any_requested else _BECAUSE
    actions = sorted({action for action, _ in pairs})
    yield from _decide(obj, actions, sorted(pairs), {**grounds, **requested.grounds}, because, requested.horizon)


def _decide(
    obj: Object,
    actions: list[str],
    pairs: Collection[Pair],
    grounds: Mapping[str, Ground],
    because: Because,
    horizon: datetime | None,
) -> Iterator[Decision]:
    """An empty set is written only to override an input; otherwise the field is absent."""
    origins = [{"action": action, "remedy": remedy} for action, remedy in pairs]
    overwritten = bool(dig(obj.body, *map(str, ACTIONS)))
    if actions or overwritten or horizon is not None:
        yield Decision(obj.id, ACTIONS, actions if actions or overwritten else None, because, horizon)
    if origins:
        yield Decision(obj.id, ORIGINS, origins, because, horizon)
    if ground_entries := entries(grounds, (remedy for _, remedy in pairs)):
        yield Decision(obj.id, GROUNDS, ground_entries, because, horizon)


def _because(pairs: Iterable[Pair], requested: RequestedActions, *, frozen: bool) -> Because:
    """The Remedies behind the actions (at most `_MOST_NAMED`), their matched conditions, and what they wait for.
    `frozen`: some stay only because a budget holds."""
    names = sorted({name for _, name in pairs})
    ids = [REMEDY.id(name) for name in names[:_MOST_NAMED]]
    types = sorted({type_ for name in names if name in requested.grounds for type_ in requested.grounds[name].types})
    inputs = [Input(("spec",), id_) for id_ in ids] + [Input(("status", "conditions", (type_,))) for type_ in types]
    more = f" and {len(names) - len(ids)} more" if len(names) > len(ids) else ""
    silent = ", ".join(sorted(requested.stale_types))
    texts = [f"{silent}: no new input, so its effects stay until there is"]
    texts = [*(texts if silent else ()), *([_FROZEN] if frozen else ())]
    return Because(f"{', '.join(map(str, ids))}{more}", tuple(inputs), "; ".join(texts))


def _texts(value: Tree) -> list[str]:
    return sorted({text for text in value if isinstance(text, str)}) if isinstance(value, list) else []


STAGE = Local(
    "remedies",
    stage,
    derives=(
        (CLUSTERS, (("status", "remedyActions"), ("status", "muster", "remedies"), ("status", "muster", "grounds"))),
    ),
)
