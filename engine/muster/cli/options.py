"""Options that several verbs share."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli.completion import no_such
from muster.data.times import parse_time, try_duration
from muster.data.tree import Tree
from muster.git.clock import wall_clock

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.data.finding import Finding
    from muster.data.ids import ObjectId
    from muster.run.incremental import Wanted
    from muster.run.run import Run
    from muster.run.workers import Workers

_F = TypeVar("_F", bound=Callable[..., Any])
FILE: Final = click.Path(path_type=Path, dir_okay=False)
FILE_THERE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)


class InstantType(click.ParamType[datetime]):
    """An RFC 3339 time; `now` is the present."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant in UTC, whole seconds."""
        if isinstance(value, datetime):
            return value
        if value == "now":
            return present()
        try:
            return parse_time(str(value)).replace(microsecond=0)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time such as 2026-01-01T00:00:00Z, or 'now'.", param, ctx)


class ParsedType(click.ParamType[object]):
    """What is made of a text, by what says in a ValueError why it cannot be."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return it."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class DurationType(click.ParamType[timedelta]):
    """A duration as Go writes it, no shorter than `least`; `such_as` is what a message names."""

    name = "duration"

    def __init__(self, least: timedelta = timedelta(0), such_as: str = "30m, 90s or 2h") -> None:
        self._least, self._such_as = least, such_as

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return the span."""
        span = value if isinstance(value, timedelta) else try_duration(value)
        if span is None or span < self._least:
            self.fail(f"{value!r} is not a duration such as {self._such_as}.", param, ctx)
        return span


def present() -> datetime:
    """The present, UTC, in whole seconds."""
    return wall_clock().replace(microsecond=0)


def repo_option(function: _F) -> _F:
    """`--repo DIR`."""
    return click.option(
        "--repo",
        type=FOLDER,
        default=".",
        show_default="the current directory",
        help="The fleet repository, or a directory inside it.",
    )(function)


def now_option(function: _F) -> _F:
    """`--now T`."""
    return click.option(
        "--now", type=InstantType(), default="now", show_default=True, help="Decide as of this instant (RFC 3339)."
    )(function)


def sink_option(function: _F) -> _F:
    """`--sink-dir DIR`: the only place where a fleet's file sinks may write."""
    return click.option(
        "--sink-dir", type=FOLDER, metavar="DIR",
        help="Let the fleet's file sinks write below this directory.  [default: they refuse]",
    )(function)  # fmt: skip


def snapshot_options(function: _F) -> _F:
    """`--rev REV` and `--worktree`: what is read."""
    function = click.option("--worktree", is_flag=True, help="Read the files as they are, committed or not.")(function)
    return rev_option(function)


def rev_option(function: _F) -> _F:
    """`--rev REV`."""
    return click.option("--rev", metavar="REV", help="Read this revision.  [default: HEAD]")(function)


def state_option(function: _F) -> _F:
    """`--state FILE`: where to keep what the next run need not look at again."""
    return click.option(
        "--state", type=FILE, metavar="FILE", envvar="MUSTER_STATE",
        show_envvar=True, help="Keep here what the next run need not look at again.  [default: in the cache]",
    )(function)  # fmt: skip


def workers_option(function: _F) -> _F:
    """`--workers N`: who decides a whole fleet."""
    return click.option(
        "--workers", callback=_workers, metavar="N|dask://HOST:PORT",
        help="Decide a whole fleet in so many processes, or on a Dask cluster (also by its scheduler's file).  "
        "[default: as many as there are cores, once the fleet is large]",
    )(function)  # fmt: skip


def _workers(_ctx: click.Context, _param: click.Parameter, value: str | None) -> "Workers":
    from muster.cli.cache import cache_directory
    from muster.run.workers import Workers, workers_of

    cache = cache_directory(os.environ)
    try:
        return Workers(cache=cache) if value is None else replace(workers_of(value), cache=cache)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def offline_option(function: _F) -> _F:
    """`--offline`: ask no remote for news of agents."""
    return click.option("--offline", is_flag=True, help="Ask no remote for agents' refs: what is here counts.")(
        function
    )


def agents_gone_option(function: _F) -> _F:
    """`--agents-gone`: refs that are missing everywhere are gone."""
    return click.option(
        "--agents-gone",
        is_flag=True,
        help="Agents whose refs no repository has any more have retired: they are silent.",
    )(function)


@dataclass(frozen=True, slots=True)
class Source:
    """What is read, and as of when."""

    repo: Path
    rev: str | None
    worktree: bool
    offline: bool
    now: datetime

    def reading(self) -> "FleetReading":
        """Return it, with the agents' refs as fresh as somebody who only asks wants them."""
        from muster.cli.listening import READER
        from muster.cli.reading import reading_of, tell_uncommitted

        found = reading_of(self.repo, self.rev, worktree=self.worktree, ears=replace(READER, ask=not self.offline))
        if not (self.rev or self.worktree):
            tell_uncommitted(found)
        return found

    def evaluated(self, wanted: "Wanted | None" = None) -> "tuple[FleetReading, Run]":
        """Evaluate it, as `run_of` does."""
        from muster.cli.progress import working
        from muster.cli.reading import run_of

        with working("evaluating the fleet"):
            reading = self.reading()
            return reading, run_of(reading, self.now, wanted)


def source_options(function: _F) -> _F:
    """`--repo`, `--rev`, `--worktree`, `--offline` and `--now`, as one parameter `source`."""
    joined = as_one(function, "source", Source, "repo", "rev", "worktree", "offline", "now")
    return repo_option(snapshot_options(offline_option(now_option(joined))))


def as_one(function: _F, name: str, make: Callable[..., object], *options: str) -> _F:
    """Return a command that is given some of its options as one value."""

    @wraps(function)
    def joined(*args: Any, **given: Any) -> Any:
        value = make(**{option: given.pop(option) for option in options})
        return function(*args, **given, **{name: value})

    return joined  # type: ignore[return-value]


class _Form(click.Choice[str]):
    """One of some output formats; `-o=json` is `-o json`, as for kubectl."""

    def __init__(self, formats: Sequence[str], *, templates: bool) -> None:
        super().__init__(formats)
        self._templates = templates

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """The formats, and that of templates."""
        usual = super().get_metavar(param, ctx)
        return f"{usual[:-1]}|{JSONPATH}TEMPLATE]" if usual and self._templates else usual

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the format."""
        text = str(value).removeprefix("=")
        if self._templates and text.startswith(JSONPATH):
            return text
        return super().convert(text, param, ctx)


#: How the format begins that is a template, as kubectl reads it.
JSONPATH = "jsonpath="


def output_option(*formats: str, templates: bool = False) -> Callable[[_F], _F]:
    """`-o FORMAT`, the first being the default; with `templates` also `-o jsonpath=TEMPLATE`."""
    form = _Form(formats, templates=templates)
    return click.option("-o", "--output", type=form, default=formats[0], show_default=True, help="Output format.")


@contextmanager
def usage_errors(*errors: type[Exception]) -> Iterator[None]:
    """Have what is wrong with what was typed be a click.UsageError."""
    try:
        yield
    except errors as error:
        raise click.UsageError(str(error)) from error


def one_object(target: str) -> "Callable[[ObjectId], bool]":
    """What tells the object that `KIND/[NAMESPACE/]NAME` names. click.UsageError where it names no kind or object."""
    from muster.cli.select import ids_named
    from muster.data.kinds import UnknownKind

    with usage_errors(UnknownKind):
        is_named = ids_named(target)
    if "/" not in target:
        raise click.UsageError(f"name one object, as in {target}/NAME.")
    return is_named


def the_one(run: "Run", target: str, is_named: "Callable[[ObjectId], bool]") -> "ObjectId":
    """The object of a run that `target` names. click.UsageError where there is none, or more than one."""
    named = sorted(id_ for id_ in {*run.fleet.objects, *run.fleet.decided} if is_named(id_))
    if len(named) != 1:
        if not named:
            raise no_such(target)
        raise click.UsageError(f"{target} is one of {', '.join(map(str, named))}: name one.")
    return named[0]


def wanted(*targets: str) -> "Wanted | None":
    """What has to be looked at for the objects that these name; None for all. click.UsageError where one names no
    kind."""
    from muster.cli.select import wanted
    from muster.data.kinds import UnknownKind
    from muster.run.incremental import Wanted

    with usage_errors(UnknownKind):
        found = [one for target in targets if (one := wanted(target)) is not None]
    if len(found) < len(targets):
        return None
    return Wanted(frozenset().union(*(one.names for one in found)), any(one.wide for one in found))


def report_option(function: _F) -> _F:
    """`-o FORMAT` of findings: text, or one of `muster.cli.reports`, which is not loaded for its names alone."""
    return output_option("text", "json", "sarif", "junit", "github", "gitlab", "markdown")(function)


def findings_option(function: _F) -> _F:
    """`--findings FORMAT=FILE`, as often as there are readers."""
    return click.option(
        "--findings", multiple=True, type=ParsedType("format=file", _form_and_file), metavar="FORMAT=FILE",
        help="Write what is wrong to this file, too ('-': standard output), as json, sarif, junit, github, gitlab or "
        "markdown.  Repeatable.",
    )(function)  # fmt: skip


def _form_and_file(text: str) -> tuple[str, str]:
    from muster.cli.reports import REPORTS

    form, _, target = text.partition("=")
    if form not in REPORTS or not target:
        raise ValueError(f"{text!r} is not FORMAT=FILE, with a format of {', '.join(sorted(REPORTS))}")
    return form, target


def write_findings(findings: "Sequence[Finding]", form: str, target: str) -> None:
    """Write findings as `--findings` says. click.UsageError where that cannot be."""
    from muster.cli.reports import REPORTS

    try:
        with click.open_file(target, "w", encoding="utf-8") as file:
            file.write(REPORTS[form](findings))
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}") from error


def selected(run: "Run", target: str | None) -> list[Tree]:
    """The objects that `target` names. click.UsageError where it names no kind, or nothing at all."""
    from muster.cli.select import select
    from muster.data.kinds import UnknownKind

    with usage_errors(UnknownKind):
        found = select(run, target)
    if target and "/" in target and not found:
        raise no_such(target)
    return found
