"""What a run changes, in the fleet's terms: the transitions that a commit message lists and a plan shows.

Compares the derived part of each object as the last run left it with the one that this run decided.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER, PLACEMENT_DECISION
from muster.data.tree import Tree
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.fleet.sets import CLUSTER_SET
from muster.run.change import NOUNS, Change
from muster.run.edits import field_changes
from muster.run.facts import UNTOLD, Fact, facts_of
from muster.run.placed import placement_changes


def changes(fleet: Fleet) -> list[Change]:
    """Return what this run changes, sorted by object and field."""
    found = list(placement_changes(fleet))
    told = {change.object for change in found}
    for id_ in sorted({*fleet.previous, *fleet.decided} - fleet.beyond.standing):
        if fleet.texts.get(id_, "") is None:
            continue  # its file stands
        before = fleet.previous.get(id_)
        after = derived_body(id_, fleet.decisions(id_))
        if before != after and id_.kind != PLACEMENT_DECISION.name:
            own = object_changes(id_, before, after, partial(source_of, fleet, id_), set_of(fleet, id_))
            found.extend(c for c in own if c.fact.sort not in UNTOLD or id_ not in told)
    return sorted(found, key=lambda change: (change.object, change.field))


def set_of(fleet: Fleet, id_: ObjectId) -> str:
    """The set that a cluster names itself; empty for none, and for all else."""
    obj = fleet.objects.get(id_)
    return str(obj.labels.get(CLUSTER_SET) or "") if obj is not None and obj.kind is MANAGED_CLUSTER else ""


def object_changes(
    id_: ObjectId, before: Tree, after: Tree, source: Callable[[Fact | None], str], own_set: str = ""
) -> Iterator[Change]:
    """Yield what changed of an object whose derived part was `before` and is `after` (None: there is none).

    `source` gives the rule behind a fact; `own_set` is the set that a cluster names itself, where that is known.
    """
    if before is None or after is None:
        yield Change(id_, None if before is None else _there(id_), None if after is None else _there(id_))
    if after is None:
        return
    old, new = facts_of(before), facts_of(after)
    if before is None:
        new.pop("set", None)  # where a cluster begins is no news
    elif "set" in old and "set" not in new and not _is_denied(new):
        new["set"] = Fact("set", text=own_set or "named by its label")
    differing = sorted(label for label in {*old, *new} if old.get(label) != new.get(label))
    for label in differing:
        yield Change(id_, old.get(label), new.get(label), source(new.get(label) or old.get(label)))
    if before is not None and not differing:
        yield from field_changes(id_, before, after)


def _is_denied(facts: Mapping[str, Fact]) -> bool:
    accepted = facts.get(f"condition {ACCEPTED}")
    return accepted is not None and accepted.text != "True"


def _there(id_: ObjectId) -> Fact:
    """That anything is derived of an object."""
    word = "created" if id_.kind == "ClusterDeployment" else ""
    return Fact("", text="derived", word=word, gone="removed" if id_.kind in NOUNS else "")


def source_of(fleet: Fleet, id_: ObjectId, fact: Fact | None) -> str:
    """The rule behind a fact: that of the decision whose path ends in the fact's name."""
    for path, decision in fleet.decisions(id_).items():
        last = path[-1]
        if fact is not None and isinstance(last, tuple) and ":".join(last) == fact.name:
            return decision.because.rule
    return ""


#: Kinds that are bookkeeping: counted only where nothing else is to tell.
_SILENT = frozenset(
    ("Fleet", "Lease", "ClusterPool", "ClusterDeployment", "ManagedClusterSet", "ManagedClusterSetBinding")
)
#: In which order words stand in a subject line; all others between.
_ORDER = {
    "Unknown": 0,
    "unavailable": 1,
    "not ready": 1,
    "not reconciled": 1,
    "available": 2,
    "ready": 2,
    "reconciled": 2,
    "accepted": 3,
    "denied": 3,
    "discarded": 3,
    "exceeded": 4,
    "met again": 4,
    "applied": 5,
    "lifted": 5,
    "rerouted": 6,
    "removed": 9,
}
_PLURALS = {"remedy": "remedies", "ingress": "ingresses"}


def summary(found: Iterable[Change]) -> str:
    """Return the subject line: `3 clusters Unknown, 1 cluster accepted`. What is less loud is counted of objects to
    which nothing louder happened, and bookkeeping never."""
    counted: dict[str, dict[str, set[ObjectId]]] = {}
    rest: list[Change] = []
    for change in found:
        if change.word:
            counted.setdefault(change.word, {}).setdefault(change.noun, set()).add(change.object)
        else:
            rest.append(change)
    told = {id_ for by_noun in counted.values() for ids in by_noun.values() for id_ in ids}
    quiet = [change for change in rest if change.object not in told and change.quiet_word]
    for change in quiet:
        if not told or change.object.kind not in _SILENT:
            counted.setdefault(change.quiet_word, {}).setdefault(change.noun, set()).add(change.object)
    terms = [
        _count(len(by_noun[noun]), noun, word)
        for word, by_noun in sorted(counted.items(), key=lambda item: (_ORDER.get(item[0], 50), item[0]))
        for noun in sorted(by_noun)
    ]
    return ", ".join(terms) or ("no transitions" if rest else "nothing changed")


def _count(number: int, noun: str, word: str) -> str:
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')} {word}"
