"""Grounds: on what each Remedy stands that acts on a cluster, so that silence takes nothing off.

An action stands while a match of its Remedy holds, and while nothing new is known of a condition for which it held
(`muster.rules.conditions.doubt`). What is remembered of that lies in `status.muster.grounds` and changes at transitions
only: per Remedy a digest of what it matches and of the clusters that it names, the conditions that it matched, and
whether an expression held. A Remedy with the same digest is the same one, whatever its name and its actions are now.
With another digest it is another Remedy, which decides anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Path
from muster.data.ids import ObjectId
from muster.data.tree import Tree, mappings_at
from muster.fleet.view import View
from muster.rules.conditions.doubt import Doubt
from muster.rules.context import ObjectBroadcast
from muster.rules.generations import spec_digest
from muster.rules.remedies.policy import Remedy

GROUNDS: Path = ("status", "muster", "grounds")
ORIGINS: Path = ("status", "muster", "remedies")

#: An action and the name of the Remedy that asks for it.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a Remedy acts: the types of the conditions that it matches, and whether an expression of it holds.

    `matches` None: a run that kept no such record applied it, and any of its matches may have been why.
    """

    digest: str
    matches: frozenset[str] | None = frozenset()
    expression: bool = False

    @property
    def stands(self) -> bool:
        """Whether there is any."""
        return self.expression or bool(self.matches)

    def entry(self, remedy: str) -> Tree:
        """The ground as it stands in the derived part."""
        entry: Tree = {"remedy": remedy, "digest": self.digest}
        if self.matches:
            entry["conditions"] = sorted(self.matches)
        if self.expression:
            entry["expression"] = True
        return entry


def grounds_before(body: Tree) -> Mapping[str, Ground]:
    """The grounds in the derived part of a cluster, by the name of the Remedy. What is none is left out."""
    found = {}
    for entry in mappings_at(body, *map(str, GROUNDS)):
        name, digest, types = entry.get("remedy"), entry.get("digest"), entry.get("conditions", [])
        if isinstance(name, str) and isinstance(digest, str) and isinstance(types, list):
            matches = frozenset(type_ for type_ in types if isinstance(type_, str))
            found[name] = Ground(digest, matches, entry.get("expression") is True)
    return found


def entries(grounds: Mapping[str, Ground], acting: Iterable[str]) -> list[Tree]:
    """The grounds of the Remedies that act, as they stand in the derived part."""
    return [grounds[name].entry(name) for name in sorted(set(acting)) if name in grounds]


def digest_of(remedy: Remedy) -> str:
    """A digest of when a Remedy acts, and on which clusters; the order of what it lists does not count."""
    entries = mappings_at(remedy.source.spec, "decisionMatches")
    clusters = sorted(remedy.clusters) if remedy.clusters is not None else None
    return spec_digest({"clusters": clusters, "matches": sorted({spec_digest(entry) for entry in entries})})


def matched(remedy: Remedy, statuses: Mapping[str, str]) -> Iterator[str]:
    """Yield the types of the conditions that match."""
    for match in remedy.matches:
        if match.type in statuses and match.holds(statuses[match.type]):
            yield match.type


def in_doubt(remedy: Remedy, before: Ground | None, doubt: Doubt) -> frozenset[str]:
    """The types that matched when there was last news of them, and of which nothing new is known.

    A Remedy that names the status Unknown of a type says itself what silence means to it.
    """
    if before is None:
        return frozenset()
    types = frozenset(match.type for match in remedy.matches) if before.matches is None else before.matches
    return frozenset(type_ for type_ in types if doubt.covers(type_) and not remedy.of_silence(type_))


def pairs_before(view: View, id_: ObjectId) -> list[Pair]:
    """The actions of the last run, each with its Remedy."""
    known = mappings_at(view.previous.get(id_), *map(str, ORIGINS))
    return sorted((str(entry.get("action")), str(entry.get("remedy"))) for entry in known)


@dataclass(frozen=True, slots=True)
class RequestedActions(ObjectBroadcast):
    """What Remedies request on a cluster: actions, each with its Remedy, and on what each Remedy stands, until when.

    `standing`: the actions of the last run that Remedies could still ask for, whatever the conditions say now.
    `doubtful`: the types of the conditions of which nothing new is known and that alone keep a Remedy standing.
    `at_once`: the actions of Remedies that wait for no condition. A person asks for them, so budgets do not hold them.
    """

    pairs: frozenset[Pair] = frozenset()
    grounds: Mapping[str, Ground] = field(default_factory=dict)
    standing: frozenset[Pair] = frozenset()
    doubtful: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    horizon: datetime | None = None

    @property
    def disrupts(self) -> bool:
        """Whether any action is requested."""
        return bool(self.pairs)
