"""Options that several commands share.

Every command imports this module. What evaluates a fleet takes a large part of a second to import, so functions import
it only if they need it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.data.ids import ObjectId
from muster.data.kinds import UnknownKind
from muster.data.times import parse_duration, parse_time, try_span, try_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.git.clock import wall_clock

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading
    from muster.data.finding import Finding
    from muster.rules.policies.lazy import Witness
    from muster.run.incremental import Wanted
    from muster.run.run import Run
    from muster.run.shards.workers import Workers

_F = TypeVar("_F", bound=Callable[..., Any])
FILE: Final = click.Path(path_type=Path, dir_okay=False)
FILE_THERE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)
#: Of an instant that may be given: so far from the end of the calendar that no duration leads past it.
_LAST_YEAR: Final = 9000


class InstantType(click.ParamType[datetime]):
    """An RFC 3339 time, or `now` for the present."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant in UTC, in whole seconds."""
        if isinstance(value, datetime):
            return value
        if value == "now":
            return present()
        try:
            instant = parse_time(str(value)).replace(microsecond=0)
            if instant.year > _LAST_YEAR:
                self.fail(f"{value!r} is after the year {_LAST_YEAR}.", param, ctx)
            return instant
        except (ValueError, OverflowError):
            like = f"{value}T00:00:00Z" if try_time(f"{value}T00:00:00Z") else "2026-01-01T00:00:00Z"
            self.fail(f"{value!r} is not a time such as {like}, or 'now'.", param, ctx)


class ParsedType(click.ParamType[object]):
    """A parameter that a function parses; its ValueError becomes the message."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the parsed value."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class TextType(click.ParamType[str]):
    """A text that begins with no `=`: kubectl takes `-n=shop` for `-n shop`, and `-n=` alone for a text `=`."""

    name = "text"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        return str(value).removeprefix("=") or str(value)


class DurationType(click.ParamType[timedelta]):
    """A duration in Go's syntax, or with days as muster prints them (`1d12h`), at least `least`; `such_as` are the
    examples in the message."""

    name = "duration"

    def __init__(self, least: timedelta = timedelta(0), such_as: str = "90s, 30m, 2h or 7d") -> None:
        self._least, self._such_as = least, such_as

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return the duration."""
        span = value if isinstance(value, timedelta) else try_span(str(value))
        if span is None or span < self._least:
            self.fail(f"{value!r} is not a duration such as {self._such_as}.", param, ctx)
        return span


def _is_number(text: str) -> bool:
    whole, point, fraction = text.partition(".")
    return whole.isdecimal() and (fraction.isdecimal() if point else True)


def seconds_of(text: str, *, least: float = 0.0) -> float:
    """Parse a duration such as `30s`, `1m30s` or `0.2s`; a bare number counts seconds. ValueError."""
    try:
        seconds = float(text) if _is_number(text) else parse_duration(text).total_seconds()
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 30s or 1m30s") from None
    if seconds < least:
        raise ValueError(f"{text!r} is negative" if seconds < 0 else f"{text!r} is less than {least:g}s")
    return seconds


#: A duration, or a number of seconds. Parameters get seconds.
SECONDS: Final = ParsedType("duration", seconds_of)
#: The same for the time between two looks.
INTERVAL: Final = ParsedType("duration", partial(seconds_of, least=0.1))
#: `--interval` of commands that follow a remote.
follow_interval_option = click.option(
    "--interval",
    type=INTERVAL,
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="With --remote: how often to fetch.",
)


def present() -> datetime:
    """Return the present, in UTC and whole seconds."""
    return wall_clock().replace(microsecond=0)


repo_option = click.option(
    "--repo",
    type=FOLDER,
    default=".",
    metavar="DIR",
    help="The fleet repository, or a directory inside it.  [default: .]",
)
now_option = click.option(
    "--now", type=InstantType(), default="now", show_default=True, help="Evaluate at this time: 2026-01-01T12:00:00Z."
)
sink_option = click.option(
    "--sink-dir",
    type=FOLDER,
    metavar="DIR",
    help="Allow the fleet's file sinks to write below this directory.  [default: they fail]",
)


def snapshot_options(function: _F) -> _F:
    """`--rev REV` and `--worktree`: what to read."""
    worktree = click.option("--worktree", is_flag=True, help="Read the files in the work tree, committed or not.")
    return rev_option(worktree(function))


rev_option = click.option("--rev", metavar="REV", help="Read this revision.  [default: HEAD]")
state_option = click.option(
    "--state",
    type=FILE,
    metavar="FILE",
    envvar="MUSTER_STATE",
    show_envvar=True,
    help="Keep the state for the next run in this file.  [default: in the cache]",
)


def _workers(_ctx: click.Context, _param: click.Parameter, value: str | None) -> "Workers":
    from muster.run.shards.workers import ONE_PER_CORE, workers_of

    try:
        return ONE_PER_CORE if value is None else workers_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


workers_option = click.option(
    "--workers",
    callback=_workers,
    metavar="N|dask://HOST:PORT",
    help="Evaluate a whole fleet in this many processes, or on a Dask cluster (an address or a scheduler file).  "
    "[default: one for each core, if the fleet is large]",
)
offline_option = click.option("--offline", is_flag=True, help="Use the local agents' refs: fetch none.")


agents_gone_option = click.option(
    "--agents-gone",
    is_flag=True,
    help="Accept that agents' refs are gone from every repository: their clusters become silent.",
)


@dataclass(frozen=True, slots=True)
class Source:
    """What to read, and the instant of the evaluation; `asked` is the one that a person gave."""

    repo: Path
    rev: str | None
    worktree: bool
    offline: bool
    now: datetime
    asked: datetime | None = None

    def reading(self) -> "FleetReading":
        """Open it, with the agents' refs as fresh as a command needs that only reads."""
        from muster.cli.listening import READER
        from muster.cli.reading import open_reading
        from muster.cli.uncommitted import note_uncommitted

        reading = open_reading(
            self.repo, self.rev, worktree=self.worktree, freshness=replace(READER, ask=not self.offline), now=self.asked
        )
        if not (self.rev or self.worktree):
            note_uncommitted(reading.repository, "--worktree reads the files as they are")
        return reading

    def evaluated(
        self, wanted: "Wanted | None" = None, witness: "Witness | None" = None, *, rested: bool = False
    ) -> "tuple[FleetReading, Run]":
        """Open and evaluate it; see `evaluate_reading`."""
        from muster.cli.progress import working
        from muster.cli.reading import evaluate_reading

        with working("evaluating the fleet"):
            reading = self.reading()
            return reading, evaluate_reading(reading, self.now, wanted, witness, rested=rested)


def asked_instant(now: datetime) -> datetime | None:
    """Return the `--now` of this command if a person gave it, else None."""
    source = click.get_current_context().get_parameter_source("now")
    return None if source is click.core.ParameterSource.DEFAULT else now


def _source(repo: Path, rev: str | None, worktree: bool, offline: bool, now: datetime) -> Source:
    return Source(repo, rev, worktree, offline, instant_of_revision(repo, rev, now), asked_instant(now))


def instant_of_revision(repo: Path, rev: str | None, now: datetime) -> datetime:
    """Return the instant of this command's evaluation: that of `--now`, or for a past revision that of its last run."""
    if rev is None or asked_instant(now) is not None:
        return now
    from muster.git.record.past import instant_at

    return instant_at(repo, rev) or now


def source_options(function: _F) -> _F:
    """`--repo`, `--rev`, `--worktree`, `--offline` and `--now`, as one parameter `source`."""
    joined = combine_options(function, "source", _source, "repo", "rev", "worktree", "offline", "now")
    return repo_option(snapshot_options(offline_option(now_option(joined))))


def combine_options(function: _F, name: str, make: Callable[..., object], *options: str) -> _F:
    """Return a command that gets some of its options as one parameter."""

    @wraps(function)
    def joined(*args: Any, **passed: Any) -> Any:
        value = make(**{option: passed.pop(option) for option in options})
        return function(*args, **passed, **{name: value})

    return joined  # type: ignore[return-value]


class _OutputFormat(click.Choice[str]):
    """An output format; `-o=json` means `-o json`, as in kubectl."""

    def __init__(self, formats: Sequence[str], *, templates: bool) -> None:
        super().__init__(formats)
        self._templates = templates

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """The formats; the help text lists them if there are templates, too."""
        return "FORMAT" if self._templates else super().get_metavar(param, ctx)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the format."""
        text = str(value).removeprefix("=")
        if self._templates and text.startswith((JSONPATH, JSONPATH_AS_JSON, COLUMNS)):
            return text
        if self._templates and (
            prefix := next((form for form in (JSONPATH, JSONPATH_AS_JSON, COLUMNS) if form == f"{text}="), "")
        ):
            self.fail(f"write what to print, as in {_EXAMPLES[prefix]}", param, ctx)
        if instead := _INSTEAD.get(text.partition("=")[0]):
            jsonpath = f"; write {instead}" if self._templates else ""
            self.fail(
                f"{text.partition('=')[0]} is a format of kubectl that muster does not have{jsonpath}.", param, ctx
            )
        return super().convert(text, param, ctx)


#: The prefixes of a template and of columns, as in kubectl.
JSONPATH, JSONPATH_AS_JSON, COLUMNS = "jsonpath=", "jsonpath-as-json=", "custom-columns="
_EXAMPLES: Final = {
    JSONPATH: "jsonpath='{.items[*].metadata.name}'",
    JSONPATH_AS_JSON: "jsonpath-as-json='{.items[*].metadata.name}'",
    COLUMNS: "custom-columns=NAME:.metadata.name",
}
_FROM_FILE: Final = '-o jsonpath="$(cat FILE)"'
#: What to write instead of kubectl's other formats.
_INSTEAD: Final = {
    **dict.fromkeys(("go-template", "template"), f"-o {_EXAMPLES[JSONPATH]}"),
    **dict.fromkeys(("go-template-file", "templatefile", "jsonpath-file"), _FROM_FILE),
    "custom-columns-file": f"-o {_EXAMPLES[COLUMNS]}",
}
_TEMPLATES: Final = (f"{JSONPATH}TEMPLATE", f"{JSONPATH_AS_JSON}TEMPLATE", f"{COLUMNS}HEADER:PATH,...")


#: `--log-format FORMAT` of commands that run until they are stopped.
log_format_option = click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Write the log as lines of text, or of JSON with `time` and `message`.",
)


def output_option(*formats: str, templates: bool = False) -> Callable[[_F], _F]:
    """`-o FORMAT`, the first format being the default; with `templates` also `-o jsonpath=TEMPLATE` and
    `-o custom-columns=SPEC`."""
    form = _OutputFormat(formats, templates=templates)
    more = f": {', '.join((*formats, *_TEMPLATES))}" if templates else ""
    text = f"Output format{more}."
    return click.option("-o", "--output", type=form, default=formats[0], show_default=True, help=text)


def make_folder(path: Path) -> None:
    """Create a folder and its parents. click.UsageError if that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be created: {error.strerror}") from error


@contextmanager
def usage_errors(*errors: type[Exception]) -> Iterator[None]:
    """Turn these errors of the block into click.UsageError."""
    try:
        yield
    except errors as error:
        raise click.UsageError(str(error)) from error


def object_matcher(target: str) -> Callable[[ObjectId], bool]:
    """Return a test for the id that `KIND/[NAMESPACE/]NAME` names. click.UsageError if it names no kind or no
    object."""
    from muster.cli.select import id_matcher

    with usage_errors(UnknownKind):
        is_named = id_matcher(target)
    if "/" not in target:
        raise click.UsageError(f"name one object, as in {target}/NAME.")
    return is_named


def find_one(run: "Run", target: str, is_named: Callable[[ObjectId], bool]) -> ObjectId:
    """Return the object of a run that `target` names. click.UsageError if there is none, or more than one."""
    return one_of({*run.fleet.objects, *run.fleet.decided}, target, is_named)


def one_of(ids: Iterable[ObjectId], target: str, is_named: Callable[[ObjectId], bool]) -> ObjectId:
    """Return the object that `target` names. click.UsageError if there is none, or more than one."""
    named = sorted(id_ for id_ in ids if is_named(id_))
    if len(named) > 1 and len(exact := [id_ for id_ in named if id_.kind == target.partition("/")[0]]) == 1:
        named = exact  # Cluster/a, though clusters are also ManagedClusters
    if len(named) != 1:
        if not named:
            from muster.cli.completion import unknown_object

            raise unknown_object(target)
        raise click.UsageError(f"{target} is one of {', '.join(map(str, named))}: name one.")
    return named[0]


def wanted(*targets: str) -> "Wanted | None":
    """Return what a run must evaluate for these objects; None for everything. click.UsageError for an unknown kind."""
    from muster.cli.select import wanted
    from muster.run.incremental import Wanted

    with usage_errors(UnknownKind):
        all_wanted = [wanted_objects for target in targets if (wanted_objects := wanted(target)) is not None]
    if len(all_wanted) < len(targets):
        return None
    return Wanted(
        frozenset().union(*(objects.names for objects in all_wanted)), any(objects.wide for objects in all_wanted)
    )


#: `-o FORMAT` for findings: text, or a format of `muster.cli.reports`, which is not imported just for the names.
report_option = output_option("text", "json", "sarif", "junit", "github", "gitlab", "markdown")


def _form_and_file(text: str) -> tuple[str, str]:
    from muster.cli.reports import REPORTS

    form, _, target = text.partition("=")
    if form not in REPORTS or not target:
        raise ValueError(f"{text!r} is not FORMAT=FILE, with a format of {', '.join(sorted(REPORTS))}")
    return form, target


#: `--findings FORMAT=FILE`, repeatable.
findings_option = click.option(
    "--findings",
    multiple=True,
    type=ParsedType("format=file", _form_and_file),
    metavar="FORMAT=FILE",
    help="Also write the findings to this file ('-': standard output), as json, sarif, junit, github, gitlab or "
    "markdown.  Repeatable.",
)


def _names(_ctx: click.Context, _param: click.Parameter, value: str) -> frozenset[str]:
    return frozenset(filter(None, (name.strip() for name in value.split(","))))


projections_option = click.option(
    "--projections",
    default="",
    metavar="NAME,...|all",
    callback=_names,
    help="Also the Kubernetes objects in the files of these Projections.",
)


def write_findings(findings: "Sequence[Finding]", form: str, target: str) -> None:
    """Write findings to a file in a format. click.UsageError if the file cannot be written."""
    from muster.cli.reports import REPORTS

    try:
        with click.open_file(target, "w", encoding="utf-8") as file:
            file.write(REPORTS[form](findings))
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}") from error


def selected(run: "Run", target: str | None) -> list[Tree]:
    """Return the objects that `target` names. click.UsageError if it names no kind, or a missing object."""
    from muster.cli.select import select

    with usage_errors(UnknownKind):
        objects = select(run, target)
    if target and "/" in target and not objects:
        from muster.cli.completion import unknown_object

        raise unknown_object(target)
    return objects
