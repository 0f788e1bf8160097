"""A fleet in numbers: how many clusters stand how, how much of its budgets is used, when agents were last heard.

They are those of the whole fleet, also where a run has looked at a part of it, or at nothing: each neighbourhood keeps
its own, and the state what they are together.
"""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muster.decide.allowance import Usage
from muster.fleet.fleet import Fleet
from muster.fleet.leases import renew_time
from muster.fleet.neighbourhoods import homes
from muster.fleet.view import View
from muster.model.ids import ObjectId
from muster.model.kinds import ADAPTER_REPORT, LEASE, is_cluster, kind_of
from muster.model.times import try_time
from muster.model.tree import Tree, dig

if TYPE_CHECKING:
    from muster.engine.answer import Answer
    from muster.engine.state import State

_PREFIX: Final = "status "
_STATUSES: Final = frozenset(("True", "False", "Unknown"))


@dataclass(frozen=True, slots=True)
class Figures:
    """`clusters`: how many there are of each kind with each status of the condition by which they are judged, `none`
    where it says nothing. `words`: see `muster.engine.state.State.words`."""

    clusters: Mapping[tuple[str, str], int]
    usage: tuple[Usage, ...]
    words: Mapping[str, "array[int]"]


def figures(answer: "Answer", state: "State | None") -> Figures:
    """Return those of an answer; where anything was kept of it, `state` has it."""
    run, facts = answer.settled.last, answer.facts
    if facts is None:  # then it has looked at the whole fleet
        clusters = Counter(status_of(run.fleet, id_) for id_ in run.fleet.objects if is_cluster(id_))
        usage = run.context.allowance.usage if run.context else ()
        return Figures(clusters, usage, _words(last_words(run.fleet, ids) for ids in _by_home(run.fleet)))
    clusters = Counter({_status(name): n for name, n in facts["totals"].items() if name.startswith(_PREFIX)})
    return Figures(clusters, tuple(Usage(*one) for one in facts["usage"]), _kept_words(answer, state))


def _kept_words(answer: "Answer", state: "State | None") -> Mapping[str, "array[int]"]:
    if state is not None:
        try:
            return state.words()
        except sqlite3.Error:
            return {}
    if answer.rest is not None:
        return answer.rest.words()
    return _words([home.words for home in answer.kept.homes] if answer.kept else [])


def _words(found: Iterable[Mapping[str, int]]) -> Mapping[str, "array[int]"]:
    known = list(found)
    return {how: array("q", sorted(one[how] for one in known if how in one)) for how in ("lease", "report")}


def _by_home(fleet: Fleet) -> Collection[Collection[ObjectId]]:
    found: dict[str, list[ObjectId]] = {}
    for id_, home in homes(fleet).of.items():
        found.setdefault(home, []).append(id_)
    return found.values()


def status_of(view: View, id_: ObjectId) -> tuple[str, str]:
    """A cluster's kind, and how it stands."""
    type_ = kind_of(id_).headline
    condition = view.conditions(id_).get(type_) or view.reported(id_).get(type_)
    status = dig(condition, "status")
    return id_.kind, status if status in _STATUSES else "none"


def status_total(kind: str, status: str) -> str:
    """Under which name it is kept how many clusters stand so."""
    return f"{_PREFIX}{kind} {status}"


def _status(name: str) -> tuple[str, str]:
    kind, _, status = name.removeprefix(_PREFIX).partition(" ")
    return kind, status


def last_words(view: View, ids: Collection[ObjectId]) -> dict[str, int]:
    """When some objects' agents were last heard of, by how: in seconds since the epoch."""
    found: dict[str, int] = {}
    for id_ in ids:
        how, text = _word(id_, view.objects[id_].body) if id_ in view.objects else ("", None)
        instant = try_time(text) if text else None
        if instant is not None:
            found[how] = max(found.get(how, 0), int(instant.timestamp()))
    return found


def _word(id_: ObjectId, body: Tree) -> tuple[str, str | None]:
    if LEASE.has(id_):
        return "lease", renew_time(body)
    if ADAPTER_REPORT.has(id_):
        observed = dig(body, "spec", "observed_time")
        return "report", observed if isinstance(observed, str) else None
    return "", None
