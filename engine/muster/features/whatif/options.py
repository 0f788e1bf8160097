"""The what-if options `--lose`, `--report`, `--edit` and `--policy`, for verbs that evaluate without writing."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli import options
from muster.cli.completion import unknown_object, with_kinds
from muster.cli.options import FILE_THERE
from muster.data.ids import ObjectId
from muster.data.names import did_you_mean
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.features.whatif.rehearsal import Rehearsal
    from muster.features.whatif.supposing import Supposition

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Supposed:
    """The suppositions on the command line."""

    lose: tuple[str, ...] = ()
    report: tuple[tuple[str, str], ...] = ()
    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        """Is anything supposed?"""
        return bool(self.lose or self.report or self.files)

    @staticmethod
    @contextmanager
    def tried(reading: "FleetReading", state: Path | None) -> "Iterator[Rehearsal]":
        """Yield a rehearsal of the fleet. RepositoryError if it is not read from a commit."""
        from muster.cli.cache import state_path
        from muster.features.whatif.rehearsal import rehearsal
        from muster.git.errors import RepositoryError
        from muster.git.repository import current_branch

        repository, commit, heard = reading.repository, reading.base, reading.heard
        if repository is None or commit is None or heard is None or commit != reading.snapshot.commit:
            raise RepositoryError(
                "suppositions are made on top of a commit", "leave --worktree out, or use --edit FILE"
            )
        branch = current_branch(repository)
        kept = state_path(os.environ, repository, branch, state) if branch else None
        memory = None if reading.past is None else reading.past.memory
        with rehearsal(repository, commit, heard, kept, memory, reading.require_heard) as trial:
            yield trial

    @contextmanager
    def over(self, reading: "FleetReading", state: Path | None, now: datetime) -> "Iterator[FleetReading]":
        """Yield the fleet with the suppositions, or as it is without any."""
        if not self:
            yield reading
            return
        from muster.git.open import open_commit

        with self.tried(reading, state) as trial:
            self.suppose(trial, now)
            snapshot = open_commit(trial.repository, trial.commit, trial.heard)
            yield replace(reading, snapshot=snapshot, repository=trial.repository, base=trial.commit, heard=trial.heard)

    def suppose(self, trial: "Rehearsal", now: datetime) -> tuple[str, ...]:
        """Apply the suppositions to a rehearsal. Returns the lost clusters. click.UsageError."""
        if not self:
            return ()
        from muster.features.whatif.supposing import NotSupposable, Supposition
        from muster.fleet.assemble import assemble

        supposition = Supposition(assemble(trial.snapshot))
        with options.usage_errors(NotSupposable):
            lost = self._all(supposition, now, trial.origin.worktree)
        trial.suppose(supposition.edits)
        return lost

    def _all(self, supposition: "Supposition", now: datetime, root: Path | None) -> tuple[str, ...]:
        from muster.rules.policies.selectors import LabelSelector
        from muster.rules.remedies.policy import STATUSES

        lost: list[str] = []
        for file in self.files:
            _put(supposition, file, root)
        for target, text in self.report:
            type_, equals, status = text.rpartition("=")
            if not equals or not type_:
                raise click.UsageError(f"{text!r} is not TYPE=STATUS, such as Ready=False.")
            if status not in STATUSES:
                hint = did_you_mean(status, STATUSES) or f"write {', '.join(STATUSES)}"
                raise click.UsageError(f"--report: a condition cannot be {status!r}; {hint}")
            supposition.report(_one(supposition, target), type_, status, now)
        for text in self.lose:
            try:
                selector = LabelSelector.written(text)
            except ValueError as error:
                raise click.UsageError(f"--lose: {error}") from error
            lost.extend(supposition.lose(selector, now))
        return tuple(lost)


def _put(supposition: "Supposition", file: Path, root: Path | None) -> None:
    """Replace a file of the branch; a file from elsewhere replaces the parts of its objects."""
    data = file.read_bytes()
    inside = root is not None and file.resolve().is_relative_to(root.resolve())
    path = file.resolve().relative_to(root.resolve()).as_posix() if root is not None and inside else ""
    if path and supposition.has(path):
        supposition.edit(path, data)
    else:
        supposition.put(file.name, data)


def _one(supposition: "Supposition", target: str) -> ObjectId:
    (target,) = with_kinds(target)
    is_named = options.object_matcher(target)
    named = sorted(id_ for id_ in supposition.fleet.objects if is_named(id_))
    if len(named) != 1:
        raise click.UsageError(f"{target} is more than one object.") if named else unknown_object(target)
    return named[0]


def _supposed(lose: Any, report: Any, edit: Any, policy: Any) -> Supposed:
    return Supposed(lose, report, (*edit, *policy))


def supposed_options(function: _F) -> _F:
    """The four options, as one parameter `supposed`."""
    joined = options.combine_options(function, "supposed", _supposed, "lose", "report", "edit", "policy")
    for option in (
        click.option(
            "--policy", type=FILE_THERE, multiple=True, metavar="FILE", help="Suppose this policy is in force."
        ),
        click.option(
            "--edit",
            type=FILE_THERE,
            multiple=True,
            metavar="FILE",
            help="Suppose this file is committed. A file from elsewhere replaces the parts of its objects.",
        ),
        click.option(
            "--report",
            type=(str, str),
            multiple=True,
            metavar="KIND/NAME TYPE=STATUS",
            help="Suppose this condition is reported.",
        ),
        click.option(
            "--lose",
            multiple=True,
            metavar="LABELS",
            help="Suppose the agents of the clusters with these labels are silent: region=eu.",
        ),
    ):
        joined = option(joined)
    return joined
