"""Grounds: why each Remedy acts on a cluster, recorded so that silence ends no action.

An action stays while a match of its Remedy holds, and while a condition for which it held has no new input
(`muster.rules.conditions.stale_input`). The record is `status.muster.grounds` and changes at transitions only: per
Remedy a digest of its matches and clusters, the matched conditions, and whether an expression held. A Remedy with the
same digest is the same one, whatever its name and actions. With another digest it is another Remedy, which decides
anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Path
from muster.data.ids import ObjectId
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.view import View
from muster.rules.conditions.stale_input import StaleInput
from muster.rules.generations import spec_digest
from muster.rules.remedies.policy import Remedy
from muster.rules.stages import ObjectBroadcast

GROUNDS: Path = ("status", "muster", "grounds")
ORIGINS: Path = ("status", "muster", "remedies")

#: An action and its Remedy's name.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a Remedy acts: the condition types that it matches, and whether an expression holds.

    `matches` None: an earlier version without this record applied it, for an unknown match.
    """

    digest: str
    matches: frozenset[str] | None = frozenset()
    expression: bool = False

    @property
    def present(self) -> bool:
        """Is there any?"""
        return self.expression or bool(self.matches)

    def entry(self, remedy: str) -> Tree:
        """The form stored in the derived part."""
        entry: Tree = {"remedy": remedy, "digest": self.digest}
        if self.matches:
            entry["conditions"] = sorted(self.matches)
        if self.expression:
            entry["expression"] = True
        return entry


def grounds_before(body: Tree) -> Mapping[str, Ground]:
    """The grounds in a cluster's derived part, by the Remedy's name, without invalid entries."""
    found = {}
    for entry in mappings_at(body, *map(str, GROUNDS)):
        name, digest, types = entry.get("remedy"), entry.get("digest"), entry.get("conditions", [])
        if isinstance(name, str) and isinstance(digest, str) and isinstance(types, list):
            matches = frozenset(type_ for type_ in types if isinstance(type_, str))
            found[name] = Ground(digest, matches, entry.get("expression") is True)
    return found


def entries(grounds: Mapping[str, Ground], acting: Iterable[str]) -> list[Tree]:
    """The grounds of acting Remedies, in the form stored in the derived part."""
    return [grounds[name].entry(name) for name in sorted(set(acting)) if name in grounds]


def digest_of(remedy: Remedy) -> str:
    """A digest of when a Remedy acts, and on which clusters, independent of the order of its lists."""
    entries = mappings_at(remedy.source.spec, "decisionMatches")
    clusters = sorted(remedy.clusters) if remedy.clusters is not None else None
    return spec_digest({"clusters": clusters, "matches": sorted({spec_digest(entry) for entry in entries})})


def matched(remedy: Remedy, statuses: Mapping[str, str]) -> Iterator[str]:
    """Yield the types of the conditions that match."""
    for match in remedy.matches:
        if match.type in statuses and match.holds(statuses[match.type]):
            yield match.type


def stale_matches(remedy: Remedy, before: Ground | None, doubt: StaleInput) -> frozenset[str]:
    """The types that matched at their last input and have no new one.

    A Remedy that matches a type's status Unknown handles its silence itself.
    """
    if before is None:
        return frozenset()
    types = frozenset(match.type for match in remedy.matches) if before.matches is None else before.matches
    return frozenset(type_ for type_ in types if doubt.covers(type_) and not remedy.handles_silence(type_))


def pairs_before(view: View, id_: ObjectId) -> list[Pair]:
    """The actions of the last run with their Remedies."""
    known = mappings_at(view.previous.get(id_), *map(str, ORIGINS))
    return sorted((str(entry.get("action")), str(entry.get("remedy"))) for entry in known)


@dataclass(frozen=True, slots=True)
class RequestedActions(ObjectBroadcast):
    """The actions that Remedies request on a cluster, each with its Remedy, and the grounds of each Remedy, until when.

    `standing`: the last run's actions that Remedies could still request, whatever the conditions are now.
    `stale_types`: the condition types without new input that alone keep a Remedy acting. `at_once`: actions of Remedies
    without conditions: a person requests them, so budgets do not hold them.
    """

    pairs: frozenset[Pair] = frozenset()
    grounds: Mapping[str, Ground] = field(default_factory=dict)
    standing: frozenset[Pair] = frozenset()
    stale_types: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    horizon: datetime | None = None

    @property
    def disrupts(self) -> bool:
        """Is any action requested?"""
        return bool(self.pairs)
