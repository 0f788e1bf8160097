"""What `muster get`, `explain`, `forecast`, `history`, `plan` and `replay` print as JSON, for programs.

Each method makes the document that its verb prints of the same commit, agents' refs and instant, by what the verb
calls. All of them only read.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import click

from muster.cli.options import wanted
from muster.cli.query import QueryScope
from muster.cli.reading import FleetReading, evaluate_reading, settle_reading
from muster.cli.select import id_matcher, object_ids, select
from muster.data.ids import ObjectId
from muster.data.kinds import UnknownKind
from muster.data.times import later
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.run.shards.workers import ONE_PER_CORE

#: How far a forecast may look ahead.
MAX_SPAN = timedelta(days=30)


class NotAnswerable(ValueError):  # noqa: N818 - no error of muster's
    """The question is malformed: an unknown kind, selector or field."""


class NoSuchObject(LookupError):  # noqa: N818 - no error of muster's
    """There is no such object."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers about a fleet as it was read, at an instant."""

    reading: FleetReading
    now: datetime

    def objects(
        self, kind: str, namespace: str | None = None, labels: str | None = None, fields: str | None = None
    ) -> Sequence[Tree]:
        """Return the objects of `muster get KIND`. NotAnswerable."""
        _check_word(kind)
        try:
            query = QueryScope(namespace, all_namespaces=False, labels=labels, fields=fields).query([kind])
            run = evaluate_reading(self.reading, self.now, wanted(kind), rested=True)
        except click.UsageError as error:
            raise NotAnswerable(error.message) from error
        return query.of(run).objects

    def object(self, kind: str, name: str, namespace: str = "") -> Tree:
        """Return the object of `muster get KIND/NAME`. NotAnswerable and NoSuchObject."""
        target, is_named = _named(kind, name, namespace)
        run = evaluate_reading(self.reading, self.now, wanted(target), rested=True)
        bodies = select(run, target)
        if len(bodies) == 1:
            return bodies[0]
        raise _one_of(target, [id_ for id_ in run.fleet.objects if is_named(id_)])

    def explanation(self, kind: str, name: str, namespace: str = "", field: str = "") -> Tree:
        """Return what `muster explain KIND/NAME FIELD` says. NotAnswerable and NoSuchObject."""
        from muster.features.explain.blame import blame_in
        from muster.features.explain.explain import NothingDecided, explain
        from muster.features.explain.text import explanation_document
        from muster.rules.policies.lazy import Witness

        target, is_named = _named(kind, name, namespace)
        witness = Witness(is_named)
        run = evaluate_reading(self.reading, self.now, wanted(target), witness)
        ids = sorted(id_ for id_ in {*run.fleet.objects, *run.fleet.decided} if is_named(id_))
        if len(ids) != 1:
            raise _one_of(target, ids)
        try:
            explanation = explain(run, witness, ids[0], field)
        except NothingDecided as error:
            raise NotAnswerable(str(error)) from error
        return explanation_document(explanation, blame_in(self.reading, self.now))

    def forecast(self, span: timedelta) -> Tree:
        """Return what `muster forecast --for SPAN` says. NotAnswerable for a span that is too long."""
        from muster.features.forecast.forecast import forecast, moment_document
        from muster.features.whatif.options import Supposed

        if not timedelta() < span <= MAX_SPAN:
            raise NotAnswerable(f"look ahead for more than nothing, and at most {MAX_SPAN.days} days")
        start = self.reading.instant(self.now).now
        with Supposed.tried(self.reading, None) as trial:
            moments = forecast(trial, start, start + span, None, pulses=False, ends=lambda: False)
            return [moment_document(moment) for moment in moments]

    def history(self, kind: str, name: str, namespace: str = "", since: timedelta = MAX_SPAN) -> Tree:
        """Return what `muster history KIND/NAME --since SINCE` says. NotAnswerable and NoSuchObject."""
        from muster.features.history.history import history_document, history_of

        target, _ = _named(kind, name, namespace)
        start = later(self.now, -since)
        repository, commit = self.reading.repository, self.reading.base
        if start is None or repository is None or commit is None:
            raise NotAnswerable("there is no such history")
        try:
            ids = object_ids(target)
        except UnknownKind as error:  # also: in a namespace that its kind does not have
            raise NotAnswerable(str(error)) from error
        history = history_of(repository, commit, ids, start, self.now)
        if history is None:
            raise NoSuchObject(f"no commit derives {target}")
        return history_document(history)

    def replay(self, commits: str, stopped: Callable[[], bool]) -> Tree:
        """Return what `muster replay A..B` says, as far as it comes until `stopped`. NotAnswerable."""
        from muster.features.replay.answers import repeat, repeated_document
        from muster.features.replay.past import ends_of

        if (repository := self.reading.repository) is None:
            raise NotAnswerable("there is no history")
        try:
            start, end = ends_of(repository, commits)
        except ValueError as error:
            raise NotAnswerable(str(error)) from error
        return repeated_document(repeat(repository, start, end, stopped))

    def plan(self) -> Tree:
        """Return what `muster plan` says."""
        from muster.features.plan.plan import plan_document, result_document

        instant = self.reading.instant(self.now)
        settled = settle_reading(self.reading, instant.now, ONE_PER_CORE)
        settled = replace(settled, faults=settled.faults | instant.findings)
        return {**plan_document(settled), **result_document(settled)}


def _check_word(text: str) -> None:
    if not text or "/" in text:
        raise NotAnswerable(f"{text!r} is not a kind")


def _named(kind: str, name: str, namespace: str) -> tuple[str, Callable[[ObjectId], bool]]:
    """`KIND/[NAMESPACE/]NAME`, and the test for its ids."""
    _check_word(kind)
    if not name or "/" in name or "/" in namespace:
        raise NotAnswerable("name one object")
    target = "/".join(filter(None, (kind, namespace, name)))
    try:
        return target, id_matcher(target)
    except UnknownKind as error:
        raise NotAnswerable(str(error)) from error


def _one_of(target: str, ids: Sequence[ObjectId]) -> Exception:
    if ids:
        return NotAnswerable(f"{target} is one of {', '.join(map(str, sorted(ids)))}: name one")
    return NoSuchObject(f"there is no {target}")
