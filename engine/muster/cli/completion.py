"""Shell completion of objects: kinds, and the names of the fleet's objects.

A person waits for it at every keystroke, so nothing is evaluated and no file is parsed. Names come from the paths of
derived files, which git lists; for objects without a derived file, from the lines of files that look like an object's.
Objects that are only in the work tree, or on agents' refs, are not offered. After any error nothing is offered.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.data.codes import CODES
from muster.data.kinds import ALL, CLUSTERS, Kind, UnknownKind, kind_words, kinds_named
from muster.data.locations import FOLDER, is_projected
from muster.data.names import did_you_mean, few
from muster.regex import Regex

if TYPE_CHECKING:
    from muster.git.store.process import Git

#: The lines of a file that identify an object.
_LINES: Final = r"^(kind:|metadata:|  name:|  namespace:|---)"
_VALUE: Final = r"""\s*["']?([^\s"',{}]+)"""
_KIND: Final = Regex(rf"kind:{_VALUE}")
_NAME: Final = Regex(rf"(?:\s|\{{)name:{_VALUE}")
_NAMESPACE: Final = Regex(rf"(?:\s|\{{)namespace:{_VALUE}")


def targets(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete `KIND[/NAME]`: kinds, and after a slash the names of objects."""
    kind, slash, prefix = incomplete.partition("/")
    if not slash:
        return [name for name in kind_words() if name.startswith(incomplete.casefold())]
    return [f"{kind}/{name}" for name in _names(ctx, kind) if name.startswith(prefix)]


def names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of an object of the kind before it."""
    return [name for name in _names(ctx, str(ctx.params.get("target"))) if name.startswith(incomplete)]


def clusters(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a cluster."""
    return [name for name in _names(ctx, "clusters") if name.startswith(incomplete)]


def claims(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a claim, without its namespace, which is an option."""
    return _without_namespace(ctx, "clusterclaims", incomplete)


def pools(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a pool, without its namespace."""
    return _without_namespace(ctx, "clusterpools", incomplete)


def _without_namespace(ctx: click.Context, plural: str, incomplete: str) -> list[str]:
    names = {name.rpartition("/")[2] for name in _names(ctx, plural)}
    return sorted(name for name in names if name.startswith(incomplete))


def namespaces(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the namespace of objects of the kind before it."""
    # An option without its value ends parsing, so the kind may be among the remaining arguments.
    kind = str(ctx.args[0] if ctx.args else ctx.params.get("target")).partition("/")[0]
    namespaces_there = {name.rpartition("/")[0] for name in _names(ctx, kind)}
    return sorted(name for name in namespaces_there if name and name.startswith(incomplete))


def unknown_object(target: str, problem: str = "there is no") -> click.UsageError:
    """Return an error about the missing object `KIND/[NAMESPACE/]NAME`, with the nearest name that exists.

    An object that the commit has under this name is gone at the instant of the run: no other is suggested instead.
    """
    kind, _, name = target.partition("/")
    names = _names(click.get_current_context(), kind)
    ended = [other for other in names if other == name or other.endswith(f"/{name}")]
    hint = f"it is in the commit, and ends before this time: {few(ended)}" if ended else did_you_mean(name, names)
    return click.UsageError(f"{problem} {target}; {hint}".rstrip("; "))


def with_kinds(target: str, names: Sequence[str] = ()) -> list[str]:
    """Return what a person named as `KIND/NAME`: a kind and `names` of its objects, or only names.

    A name without a kind means a cluster, else the only object with it. What it cannot mean stays as it is.
    click.UsageError if it means several objects.
    """
    if names and "/" in target:
        if not all("/" in name for name in names):
            raise click.UsageError(f"{target} names one object: write KIND/NAME for each, or KIND NAME NAME.")
        return [target, *names]
    if "/" in target or _is_kind(target):
        return [f"{target}/{name}" for name in names] or [target]
    return [_with_kind(click.get_current_context(), name) for name in (target, *names)]


def with_namespace(target: str) -> str:
    """Return `KIND/NAMESPACE/NAME` for `KIND/NAME` if exactly one object has that name; others as they are."""
    kind, _, name = target.partition("/")
    if "/" in name or name in (names := _names(click.get_current_context(), kind)):
        return target
    candidates = [candidate for candidate in names if candidate.endswith(f"/{name}")]
    if len(candidates) > 1:
        raise click.UsageError(f"{target} is one of {few(candidates)}: name one.")
    return f"{kind}/{candidates[0]}" if candidates else target


def _is_kind(name: str) -> bool:
    try:
        return bool(kinds_named(name))
    except UnknownKind:
        return False


def _with_kind(ctx: click.Context, name: str) -> str:
    if name in _names(ctx, "clusters"):
        return f"clusters/{name}"
    objects = ((kind, full_name) for kind in _derived_kinds(ctx) for full_name in _names(ctx, kind.schema))
    targets = [f"{kind.schema}/{full_name}" for kind, full_name in objects if full_name.rpartition("/")[2] == name]
    if len(targets) > 1:
        raise click.UsageError(f"{name} is one of {few(targets)}: name one.")
    if not targets and not did_you_mean(name, kind_words()) and (hint := did_you_mean(name, _names(ctx, "clusters"))):
        raise click.UsageError(f"no cluster and no kind is called {name!r}; {hint}")
    return targets[0] if targets else name


def _derived_kinds(ctx: click.Context) -> Iterator[Kind]:
    from muster.git.repository import open_repository

    with suppress(Exception):
        git = open_repository(ctx.params.get("repo") or Path(), os.environ).git
        listing = git.output("ls-tree", "-z", "--name-only", "--full-tree", "HEAD", FOLDER)
        folders = {os.fsdecode(path).rpartition("/")[2] for path in listing.split(b"\0") if path}
        yield from (kind for kind in ALL if kind.folder in folders)


def codes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the code of a finding."""
    return sorted(code for code in CODES if code.startswith(incomplete.upper()))


def _names(ctx: click.Context, kind: str) -> list[str]:
    """The names of the objects of a kind, `NAMESPACE/NAME` for namespaced ones; sorted."""
    from muster.git.repository import open_repository  # every command imports this module, and few complete names

    with suppress(Exception):  # an error message would break the line that a person is typing
        git = open_repository(ctx.params.get("repo") or Path(), os.environ).git
        return sorted({name for kind in kinds_named(kind) for name in _of_kind(git, kind)})
    return []


def _of_kind(git: "Git", kind: Kind) -> set[str]:
    listing = git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", f"{FOLDER}{kind.folder}/")
    files = (path for path in os.fsdecode(listing).split("\0") if path and not is_projected(path))
    paths = [path.removesuffix(".yaml").split("/") for path in files]
    names = {"/".join(path[-2:] if kind.namespaced else path[-1:]) for path in paths}
    if not names or kind not in CLUSTERS:
        names.update(_written(git, kind, everywhere=False))
    return names or set(_written(git, kind, everywhere=True))


def _written(git: "Git", kind: Kind, *, everywhere: bool) -> Iterator[str]:
    """Objects in input files: in all of them, or only outside of `clusters/`."""
    exclusions = [f":(top,exclude){FOLDER}", *(() if everywhere else (":(top,exclude)clusters",))]
    result = git.run(
        "grep", "-z", "-I", "-E", "--full-name", _LINES, "HEAD", "--", ":(top)*.yaml", ":(top)*.yml", *exclusions
    )
    file, lines = "", list[str]()
    for entry in os.fsdecode(result.stdout).split("\n"):
        path, _, line = entry.partition("\0")
        if path != file or line.startswith("---"):
            yield from _object(lines, kind)
            file, lines = path, []
        lines.append(line)
    yield from _object(lines, kind)


def _object(lines: list[str], kind: Kind) -> Iterator[str]:
    text = "\n".join(lines)
    declared, name, namespace = _KIND.search(text), _NAME.search(text), _NAMESPACE.search(text)
    if declared is not None and name is not None and declared[1] == kind.name:
        yield f"{namespace[1]}/{name[1]}" if namespace is not None and kind.namespaced else name[1]
