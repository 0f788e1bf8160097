"""What a shell offers for the object that a verb is asked about: kinds, and the names of the fleet's objects.

A person waits for it at every press of a key, so nothing is evaluated and no file is parsed: names are those of derived
files, which git lists, and of what nothing is derived of, those in the lines of files that look like an object's. What
is only in the work tree, or on agents' refs, is not offered. Whatever goes wrong, nothing is offered.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from muster.data.kinds import Kind
    from muster.git.process import Git

#: The lines of a file by which an object is known.
_LINES: Final = r"^(kind:|metadata:|  name:|  namespace:|---)"
_VALUE: Final = r"""\s*["']?([^\s"',{}]+)"""
_KIND: Final = re.compile(rf"kind:{_VALUE}")
_NAME: Final = re.compile(rf"(?:\s|\{{)name:{_VALUE}")
_NAMESPACE: Final = re.compile(rf"(?:\s|\{{)namespace:{_VALUE}")


def targets(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """What `KIND[/NAME]` may become: kinds, and behind a slash the names of objects."""
    from muster.data.kinds import words

    word, slash, begun = incomplete.partition("/")
    if not slash:
        return [one for one in words() if one.startswith(incomplete.casefold())]
    return [f"{word}/{name}" for name in _names(ctx, word) if name.startswith(begun)]


def names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of objects of the kind that stands before them."""
    return [name for name in _names(ctx, str(ctx.params.get("target"))) if name.startswith(incomplete)]


def clusters(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of clusters."""
    return [name for name in _names(ctx, "clusters") if name.startswith(incomplete)]


def claims(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of claims, without the namespace, which is an option's to say."""
    return _without_namespace(ctx, "clusterclaims", incomplete)


def pools(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of pools, as `claims` those of claims."""
    return _without_namespace(ctx, "clusterpools", incomplete)


def _without_namespace(ctx: click.Context, plural: str, incomplete: str) -> list[str]:
    names = {name.rpartition("/")[2] for name in _names(ctx, plural)}
    return sorted(name for name in names if name.startswith(incomplete))


def namespaces(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The namespaces in which objects of the kind lie that stands before them."""
    # An option without its value ends parsing, so that the kind is among what is left over.
    word = str(ctx.args[0] if ctx.args else ctx.params.get("target")).partition("/")[0]
    found = {name.rpartition("/")[0] for name in _names(ctx, word)}
    return sorted(name for name in found if name and name.startswith(incomplete))


def no_such(target: str, told: str = "there is no") -> click.UsageError:
    """That there is no object `KIND/[NAMESPACE/]NAME`, with the nearest name that there is."""
    from muster.data.names import did_you_mean

    word, _, name = target.partition("/")
    hint = did_you_mean(name, _names(click.get_current_context(), word))
    return click.UsageError(f"{told} {target}. {hint}".strip())


def codes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The codes of findings."""
    from muster.data.codes import CODES

    return sorted(code for code in CODES if code.startswith(incomplete.upper()))


def _names(ctx: click.Context, word: str) -> list[str]:
    """The names of the objects that a word for a kind means, where they lie in a namespace with that; sorted."""
    from muster.data.kinds import kinds_named
    from muster.git.repository import open_repository

    with suppress(Exception):  # a person is typing: there is no place to complain
        git = open_repository(ctx.params.get("repo") or Path(), os.environ).git
        return sorted({name for kind in kinds_named(word) for name in _of_kind(git, kind)})
    return []


def _of_kind(git: "Git", kind: "Kind") -> set[str]:
    from muster.data.kinds import CLUSTERS
    from muster.data.locations import FOLDER

    listing = git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", f"{FOLDER}{kind.plural}/")
    paths = [path.removesuffix(".yaml").split("/") for path in os.fsdecode(listing).split("\0") if path]
    found = {"/".join(path[-2:] if kind.namespaced else path[-1:]) for path in paths}
    if not found or kind not in CLUSTERS:
        found.update(_written(git, kind, everywhere=False))
    return found or set(_written(git, kind, everywhere=True))


def _written(git: "Git", kind: "Kind", *, everywhere: bool) -> Iterator[str]:
    """Objects that files tell of: all of them, or those beside the clusters."""
    from muster.data.locations import FOLDER

    apart = [f":(top,exclude){FOLDER}", *(() if everywhere else (":(top,exclude)clusters",))]
    done = git.run("grep", "-z", "-I", "-E", "--full-name", _LINES, "HEAD", "--", ":(top)*.yaml", ":(top)*.yml", *apart)
    file, lines = "", list[str]()
    for entry in os.fsdecode(done.stdout).split("\n"):
        path, _, line = entry.partition("\0")
        if path != file or line.startswith("---"):
            yield from _object(lines, kind)
            file, lines = path, []
        lines.append(line)
    yield from _object(lines, kind)


def _object(lines: list[str], kind: "Kind") -> Iterator[str]:
    text = "\n".join(lines)
    said, name, namespace = _KIND.search(text), _NAME.search(text), _NAMESPACE.search(text)
    if said is not None and name is not None and said[1] == kind.name:
        yield f"{namespace[1]}/{name[1]}" if namespace is not None and kind.namespaced else name[1]
