"""Grounds: why Remedies act on a cluster. With this record silence ends no action, and an edit only those it concerns.

An action stays while a match of a Remedy holds, and while a match that held is still there and its condition has no new
input (`muster.rules.conditions.stale_input`). The record is `status.muster.grounds`, per Remedy the matches that held.
A match is the same in whichever Remedy it is that selects the cluster and has the action: the Remedy's name, its other
matches, its other clusters and the order of its lists do not count.

Earlier versions recorded a digest of the Remedy with the condition types that matched, and whether an expression held.
Such a record holds for every match of these types, and for every expression, so an upgrade lifts nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Path
from muster.data.ids import ObjectId
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.view import View
from muster.rules.conditions.stale_input import StaleInput
from muster.rules.remedies.policy import ConditionMatch, ExpressionMatch, Remedy
from muster.rules.stages import ObjectTerm

GROUNDS: Path = ("status", "muster", "grounds")
ORIGINS: Path = ("status", "muster", "remedies")

#: An action and its Remedy's name.
Pair: TypeAlias = tuple[str, str]

_CONDITION, _OPERATOR, _STATUS, _EXPRESSION = "conditionType", "operator", "conditionStatus", "expression"


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a Remedy acts: the matches that hold, or did at their last input; expressions by their digests.

    `earlier`: the record as an earlier version wrote it, without the matches; empty if there was none at all.
    """

    matches: frozenset[ConditionMatch] = frozenset()
    expressions: frozenset[str] = frozenset()
    earlier: Tree = None

    @property
    def present(self) -> bool:
        """Did any match or expression hold?"""
        return bool(self.matches or self.expressions)

    @property
    def types(self) -> frozenset[str]:
        """The condition types that match."""
        return frozenset(match.type for match in self.matches)

    def covers(self, match: ConditionMatch) -> bool:
        """Did this match hold?"""
        if self.earlier is None:
            return match in self.matches
        return not self.earlier or match.type in _texts(self.earlier.get("conditions"))

    def covers_expression(self, expression: ExpressionMatch) -> bool:
        """Did this expression hold?"""
        if self.earlier is None:
            return expression.ground in self.expressions
        return not self.earlier or self.earlier.get("expression") is True

    def entry(self, remedy: str) -> Tree:
        """The form stored in the derived part."""
        if self.earlier:
            return {**self.earlier, "remedy": remedy}
        matches: list[Tree] = [
            {_CONDITION: match.type, _OPERATOR: match.operator, _STATUS: match.status}
            for match in sorted(self.matches, key=lambda match: (match.type, match.operator, match.status))
        ]
        matches.extend({_EXPRESSION: digest} for digest in sorted(self.expressions))
        return {"remedy": remedy, **({"matches": matches} if matches else {})}


def grounds_before(body: Tree) -> Mapping[str, Ground]:
    """The grounds in a cluster's derived part, by the Remedy's name, without invalid entries."""
    grounds = {}
    for entry in mappings_at(body, *map(str, GROUNDS)):
        name = entry.get("remedy")
        if isinstance(name, str):
            grounds[name] = Ground(earlier=entry) if isinstance(entry.get("digest"), str) else _read(entry)
    return grounds


def _read(entry: Tree) -> Ground:
    matches, expressions = set(), set()
    for match in mappings_at(entry, "matches"):
        type_, operator, status, digest = map(match.get, (_CONDITION, _OPERATOR, _STATUS, _EXPRESSION))
        if isinstance(digest, str):
            expressions.add(digest)
        elif isinstance(type_, str) and isinstance(status, str):
            matches.add(ConditionMatch(type_, operator == "Equal", status))
    return Ground(frozenset(matches), frozenset(expressions))


def _texts(value: Tree) -> frozenset[str]:
    return frozenset(text for text in value if isinstance(text, str)) if isinstance(value, list) else frozenset()


def entries(grounds: Mapping[str, Ground], acting: Iterable[str]) -> list[Tree]:
    """The grounds of acting Remedies, in the form stored in the derived part."""
    return [
        grounds[name].entry(name) for name in sorted(set(acting)) if name in grounds and grounds[name].earlier != {}
    ]


@dataclass(frozen=True, slots=True)
class EarlierActions:
    """The actions of a cluster in the last run: `pairs`: with their Remedies; `grounds`: by the Remedy's name; `gone`:
    the names of Remedies that are no longer there."""

    pairs: tuple[Pair, ...]
    grounds: Mapping[str, Ground]
    gone: frozenset[str]

    @classmethod
    def of(cls, view: View, id_: ObjectId, is_gone: Callable[[str], bool]) -> "EarlierActions":
        """Return the actions of a cluster in the last run. `is_gone`: does no Remedy have this name?"""
        pairs = tuple(pairs_before(view, id_))
        grounds = grounds_before(view.previous.get(id_)) if pairs else {}
        return cls(pairs, grounds, frozenset(name for _, name in pairs if is_gone(name)))

    def actions(self, remedy: Remedy) -> Mapping[str, Ground]:
        """The actions that a Remedy requested for matches that it still has, each with these matches."""
        return {action: ground for action in remedy.actions if (ground := self._ground(action, remedy)) is not None}

    def _ground(self, action: str, remedy: Remedy) -> Ground | None:
        matches, expressions = set[ConditionMatch](), set[str]()
        for name in {name for present, name in self.pairs if present == action}:
            ground = self.grounds.get(name, Ground(earlier={}))
            # A record of an earlier version does not say which match held, so it counts for its own Remedy only.
            if ground.earlier is not None and name != remedy.id.name and name not in self.gone:
                continue
            matches.update(match for match in remedy.matches if ground.covers(match))
            expressions.update(
                expression.ground for expression in remedy.expressions if ground.covers_expression(expression)
            )
        ground = Ground(frozenset(matches), frozenset(expressions))
        return ground if ground.present else None


def merged(grounds: Iterable[Ground]) -> Ground:
    """Return all matches of some grounds."""
    merging = list(grounds)
    return Ground(
        frozenset().union(*(ground.matches for ground in merging)),
        frozenset().union(*(ground.expressions for ground in merging)),
    )


def matched(remedy: Remedy, statuses: Mapping[str, str]) -> Iterator[ConditionMatch]:
    """Yield the matches of conditions that hold."""
    for match in remedy.matches:
        if match.type in statuses and match.holds(statuses[match.type]):
            yield match


def stale_matches(remedy: Remedy, before: Ground, doubt: StaleInput) -> frozenset[ConditionMatch]:
    """The matches that held at their last input and have no new one.

    A Remedy that matches a type's status Unknown handles its silence itself.
    """
    return frozenset(
        match for match in before.matches if doubt.covers(match.type) and not remedy.handles_silence(match.type)
    )


def pairs_before(view: View, id_: ObjectId) -> list[Pair]:
    """The actions of the last run with their Remedies."""
    entries = mappings_at(view.previous.get(id_), *map(str, ORIGINS))
    return sorted((str(entry.get("action")), str(entry.get("remedy"))) for entry in entries)


@dataclass(frozen=True, slots=True)
class RequestedActions(ObjectTerm):
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
