"""The subject line of a run: what happened, in words, the most important first.

`prod-ap-2 Unknown; web moved to prod-eu-3; and 12 more`. It says one thing of each object, and nothing about muster's
own bookkeeping. Nothing reads it but people: machines read the trailers and the derived files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.names import few
from muster.fleet.shared import OF_CLUSTERS
from muster.run.facts import Fact
from muster.run.transition import Transition

#: What git's own documentation and forges show of a subject.
LONGEST: Final = 72
#: What subject lines call objects of a kind; others have the kind's name.
NOUNS: Final = {
    "ManagedCluster": "cluster",
    "Cluster": "cluster",
    "NodePool": "node pool",
    "Placement": "placement",
    "AdapterReport": "report",
    "ClusterDeployment": "pool cluster",
    "ClusterClaim": "claim",
    "Rollout": "rollout",
}
_MORE_NOUNS: Final = {
    **NOUNS,
    "ManagedClusterSet": "cluster set",
    "ManagedClusterSetBinding": "set binding",
    "ManagedClusterAddOn": "add-on",
    "MultiClusterIngress": "ingress",
    "ClusterPool": "pool",
    "ClusterProfile": "cluster profile",
    "Projection": "projection",
    "CertificateSigningRequest": "certificate request",
    "ManifestWork": "work",
}
#: Objects that need no noun before their name.
_PLAIN: Final = frozenset(("cluster", "placement"))
#: Kinds that only record what happened to others: shown only if nothing else happened.
_RECORDS: Final = frozenset(
    (
        "Fleet",
        "ClusterPool",
        "ClusterDeployment",
        "ClusterProfile",
        "ManagedClusterSet",
        "ManagedClusterSetBinding",
        "Rollout",
    )
)
_RANKS: Final[Mapping[str, int]] = {
    word: rank
    for rank, words in enumerate(
        (
            ("Unknown", "denied and silent"),
            (
                "unavailable",
                "not ready",
                "not reconciled",
                "broken",
                "failed to update",
                "exceeded",
                "stopped",
                "rolling back",
            ),
            ("kept from removal", "awaiting approval", "frozen", "not satisfied"),
            ("available", "ready", "reconciled", "no longer exceeded", "no longer frozen"),
            ("accepted", "denied", "denied but heard", "not joined", "removed"),
            ("applied", "lifted", "rerouted"),
            ("rescheduled",),
        )
    )
    for word in words
}
_OTHER, _REPORT, _QUIET, _HELD, _RECORD = range(7, 12)
_MOST_NAMES: Final = 3
_LONGEST_NAMES: Final = 40


class _Item(NamedTuple):
    """What happened to some objects: the words before and after their names. Without a noun there are no names."""

    rank: int
    after: str
    before: str = ""
    noun: str = ""


def subject_line(changes: Sequence[Transition], longest: int = LONGEST) -> str:
    """Return what happened, cut at a whole item: `c Unknown; web moved to d; and 12 more`."""
    members = _members(changes)
    if not members:
        return _bookkeeping(changes) if changes else "nothing changed"
    items = [(item, sorted(set(members[item]))) for item in sorted(members)]
    left = sum(len(names) for _, names in items)
    text = ""
    for number, (item, names) in enumerate(items):
        more = f"; and {left - len(names)} more" if number + 1 < len(items) else ""
        start, room = f"{text}; " if text else "", longest - len(more)
        longer = f"{start}{_said(item, names)}"
        if len(longer) > room:
            longer = f"{start}{_said(item, names, named=False)}"
        if len(longer) > room:
            return f"{text}; and {left} more" if text else f"{longer[: room - 1]}…{more}"
        text, left = longer, left - len(names)
    return text


def _bookkeeping(changes: Sequence[Transition]) -> str:
    """What muster noted for itself, where nothing happened besides."""
    facts = [(change.object, change.fact) for change in changes if change.fact.sort != "cluster"]
    if not facts:
        return "no transitions"
    notes = sorted({_note(fact) for _, fact in facts if fact.sort in ("note", "pending")})
    objects = sorted({id_ for id_, _ in facts})
    whose = f"{_noun(objects[0])} {objects[0].name}" if len(objects) == 1 else f"{len(objects)} objects"
    return f"noted of {whose}: {few(notes)}" if notes else f"{whose} noted"


def _note(fact: Fact) -> str:
    """The name of a note, without the parts of its value."""
    name = fact.name.removeprefix("muster.dev/").partition(".")[0].partition("[")[0]
    return f"pending {name}" if fact.sort == "pending" else name


def _said(item: _Item, names: Sequence[tuple[str, str]], *, named: bool = True) -> str:
    """The words of an item, with the names if they are few and short, else with their number."""
    if not item.noun:
        return item.before + item.after
    if item.noun == "Fleet":
        return f"{item.before}the fleet{item.after}"
    short = [name for _, name in names]
    if len(set(short)) < len(short):
        short = [f"{namespace}/{name}" for namespace, name in names]
    listed = _listed(short)
    if not named or len(short) > _MOST_NAMES or (len(short) > 1 and len(listed) > _LONGEST_NAMES):
        objects = f"{len(names)} {item.noun if len(names) == 1 else _plural(item.noun)}"
    else:
        objects = listed if item.noun in _PLAIN else f"{item.noun if len(names) == 1 else _plural(item.noun)} {listed}"
    return f"{item.before}{objects}{item.after}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def _members(changes: Sequence[Transition]) -> Mapping[_Item, Sequence[tuple[str, str]]]:
    """The items, each with the namespaces and names of its objects.

    An object has its most important item, and one for each of its remedies and traffic blocks. It has a less important
    one only if it has no other, and a record only if nothing else happened.
    """
    news: dict[tuple[ObjectId, str] | ObjectId, tuple[_Item, tuple[str, str]]] = {}
    quiet: dict[ObjectId, _Item] = {}
    items: dict[_Item, _Item] = {}  # many objects share one
    for change in changes:
        if change.fact.sort == "cluster":
            continue
        if change.word:
            item, name = _news(change)
            found = items.setdefault(item, item), name
            key = (change.object, change.field) if change.fact.sort in ("remedy", "traffic") else change.object
            news[key] = min(news.get(key, found), found)
        elif (less := _less(change)) is not None:
            less = items.setdefault(less, less)
            quiet[change.object] = min(quiet.get(change.object, less), less)
    moves = dict(_moves(changes))
    told = {*moves, *(key if isinstance(key, ObjectId) else key[0] for key in news)}
    shown = [*news.values(), *((item, _name(id_)) for id_, item in moves.items())]
    shown += [(item, _name(id_)) for id_, item in sorted(quiet.items()) if id_ not in told and item.rank < _RECORD]
    return grouped(shown or [(item, _name(id_)) for id_, item in sorted(quiet.items())])


def _news(change: Transition) -> tuple[_Item, tuple[str, str]]:
    """The item of a change that has a word, and the name in it."""
    fact, gone, word = change.fact, change.now is None, change.word
    rank = _REPORT if change.object.kind == "AdapterReport" else _RANKS.get(word, _OTHER)
    if fact.sort == "remedy":
        return _Item(rank, "", f"{fact.name} {'lifted from' if gone else 'applied to'} ", "cluster"), _name(
            change.object
        )
    if fact.sort == "traffic":
        again = " again" if gone else ""
        return _Item(rank, again, f"{'' if gone else 'no '}traffic to ", "cluster"), ("", fact.name.removeprefix("to "))
    if change.object.kind == "Fleet" and fact.sort == "condition":
        return _Item(rank, f"{'fleet' if fact.name == 'Frozen' else 'budget'} {word}"), ("", "")
    return _Item(rank, f" {word}", noun=_noun(change.object)), _name(change.object)


def _less(change: Transition) -> _Item | None:
    """The item of a change without a word; None for bookkeeping."""
    fact, gone, kind = change.fact, change.now is None, change.object.kind
    if kind == "Lease":
        return None
    rank = _RECORD if kind in _RECORDS or fact.sort == "generation" else _QUIET
    item = _Item(rank, "", noun=_noun(change.object))
    match fact.sort:
        case "note" | "pending":
            return None
        case "condition":
            name = fact.name.removeprefix("ManagedClusterCondition").rpartition("/")[2]
            if change.reason_only:
                value = fact.word or f"{name} {fact.text}"
                return item._replace(after=f" {value}: {change.note}")
            return item._replace(before=f"{name} gone from " if gone else f"{name} {fact.text} on ")
        case "taint":
            return item._replace(after=" untainted" if gone else " tainted")
        case "held":
            return item._replace(rank=_HELD, before="effects on ", after=" no longer held" if gone else " held")
        case "agent ref":
            return item._replace(after=f" {'no longer ' if gone else ''}reporting through a branch")
        case "report":
            return item._replace(after=" no longer reported" if gone else " reported")
        case "remedy":
            return item._replace(before=f"{fact.name} on ", after=" for another reason")
        case "clusters":
            return item._replace(after=f": {fact.text}")
        case "file":
            return item._replace(after=" updated")
        case "label":
            return item._replace(after=" relabelled")
        case "annotation":
            return item._replace(after=" annotated")
        case "edited":
            return item._replace(after=" edited")
        case "":
            return item._replace(after=" gone" if gone else " new")
        case "generation":
            return item._replace(before="spec of ", after=" changed")
        case "set":
            return item._replace(after=" in no set" if gone else f" in set {fact.text}")
        case "bucket" | "power state" if not gone:
            return item._replace(after=f" {fact.text}")
        case "field":
            end = "changed" if change.was and change.now else "gone" if gone else "set"
            return item._replace(before=f"{fact.name.rpartition('.')[2]} of ", after=f" {end}")
        case _:
            return item._replace(before=f"{fact.label} of ", after=" gone" if gone else f" now {fact.text}".rstrip())


def _moves(changes: Sequence[Transition]) -> Iterator[tuple[ObjectId, _Item]]:
    """What happened to Placements: their clusters, or only which Placements if there are many."""
    joined, left = dict[ObjectId, set[str]](), dict[ObjectId, set[str]]()
    for change in changes:
        if change.fact.sort == "cluster":
            to, away = (joined, left) if change.was is None else (left, joined)
            if change.fact.name in away.get(change.object, ()):
                away[change.object].remove(change.fact.name)  # a later pass takes it back
            else:
                to.setdefault(change.object, set()).add(change.fact.name)
    ids = sorted(id_ for id_ in joined.keys() | left.keys() if joined.get(id_) or left.get(id_))
    many = len(ids) > _MOST_NAMES
    for id_ in ids:
        names = sorted(joined.get(id_) or left[id_])
        clusters = _said(_Item(0, "", noun="cluster"), [("", name) for name in names])
        if not joined.get(id_):
            text = " left clusters" if many else f" left {clusters}"
        elif left.get(id_):
            text = " moved" if many else f" moved to {clusters}"
        else:
            text = " placed on more clusters" if many else f" placed on {clusters}"
        yield id_, _Item(_RANKS["rescheduled"], text, noun="placement")


def _noun(id_: ObjectId) -> str:
    return _MORE_NOUNS.get(id_.kind, id_.kind)


def _name(id_: ObjectId) -> tuple[str, str]:
    """The namespace and the name of an object; what belongs to a cluster is called `cluster/name`."""
    beside = id_.namespace and kind_of(id_) in OF_CLUSTERS
    return id_.namespace, f"{id_.namespace}/{id_.name}" if beside else id_.name
