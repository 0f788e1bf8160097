"""Importing: the files that a dump of a live hub becomes in a repository, and writing them.

Nothing is committed: people review the files first, and commit them like any others.

The Secrets that pools need stay on the hub, and muster does not see them. A pool makes no clusters while a Secret that
it names is missing (`muster.rules.pools.inventory`). So those that the hub did not miss are named in a part of the
Fleet of its own.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_POOL, FLEET
from muster.data.locations import SUFFIXES
from muster.data.snapshot import Skipped, Snapshot
from muster.data.source import Part, SourceFile
from muster.data.tree import dig, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.dataclass import dataclass
from muster.features.importing import filing
from muster.features.importing.dump import DUMP_BYTES, Dump, read_dump
from muster.features.importing.messages import inside, no_place, unseen_secrets
from muster.features.importing.movein import MoveIn, move_in
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.fleet.messages import skipped
from muster.git.errors import RepositoryError
from muster.git.store.paths import IGNORE_FILE, MAX_IGNORE_BYTES, Ignored
from muster.git.store.process import Git, without_location
from muster.rules.pools.inventory import secrets_of

STDIN: Final = "-"


def dump_files(names: Iterable[str], stdin: BinaryIO, findings: list[Finding]) -> Iterator[SourceFile]:
    """Yield the files of a dump, each once; what cannot be read goes to `findings`.

    A file that is named is read whatever it is called, a pipe too; in a folder those are read whose names say that
    they may hold objects, and no link is followed.
    """
    seen: set[str] = set()
    for name in names:
        if name == STDIN:
            data = stdin.read(DUMP_BYTES + 1)
            yield _file("stdin.json" if data.lstrip()[:1] == b"{" else "stdin", data)
            continue
        for path in _below(Path(name), findings):
            if (real := os.path.realpath(path)) in seen:
                continue
            seen.add(real)
            try:
                with path.open("rb") as file:
                    data = file.read(DUMP_BYTES + 1)
            except OSError as error:
                findings.append(skipped(Skipped(str(path), "unreadable", error.strerror or str(error))))
                continue
            yield _file(str(path), data)


def _file(label: str, data: bytes) -> SourceFile:
    return SourceFile(label, sha256(data).hexdigest(), lambda: data)


def _below(path: Path, findings: list[Finding]) -> Iterator[Path]:
    """The path itself, or the data files in the folder that it is, sorted."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or not name.endswith(SUFFIXES):
                continue
            mode = file.lstat().st_mode
            if stat.S_ISLNK(mode):
                findings.append(skipped(Skipped(str(file), "symlink", str(file.readlink()))))
            elif stat.S_ISREG(mode):
                yield file


def paths_below(root: Path, sources: Iterable[SourceFile]) -> frozenset[str]:
    """Return the files of a dump that lie below a folder, as paths from there."""
    top = root.resolve()
    resolved = (Path(source.path).resolve() for source in sources)
    return frozenset(path.relative_to(top).as_posix() for path in resolved if path.is_relative_to(top))


PATH: Final = "pools/secrets.yaml"
_HEADER: Final = "Secrets on the hub that pools need. muster reads no Secrets, so this list says which ones exist."


def needed(fleet: Fleet, parts: Iterable[Part]) -> list[str]:
    """Return the Secrets, as `Secret/namespace/name`, that imported pools name and the Fleet does not."""
    settings = fleet.settings.get("pools", "externalDependencies")
    listed = set(settings) if isinstance(settings, list) else set[object]()
    dependencies = {
        f"Secret/{part.id.namespace}/{dig(part.body, 'spec', *path)}"
        for part in parts
        if CLUSTER_POOL.has(part.id) and not _misses(part)
        for _, path in secrets_of(mapping_at(part.body, "spec"))
    }
    return sorted(dependencies - listed)


def _misses(part: Part) -> bool:
    """Whether the hub said that something is missing."""
    conditions = mappings_at(part.body, "status", "conditions")
    return any((c.get("type"), c.get("status")) == ("MissingDependencies", "True") for c in conditions)


def fleet_part(fleet: Fleet, names: list[str]) -> str | None:
    """Return a file that names Secrets to muster; None if the Fleet has a list, which one file alone can hold."""
    if fleet.settings.get("pools", "externalDependencies"):
        return None
    fleet_id = next((id_ for id_ in sorted(fleet.objects) if FLEET.has(id_)), None)
    id_: ObjectId = fleet_id or FLEET.id("fleet")
    return emit(FLEET.body({"name": id_.name}, spec={"pools": {"externalDependencies": names}}), header=_HEADER)


def ignored_by_git(root: Path, paths: Iterable[str], environ: Mapping[str, str]) -> frozenset[str]:
    """Return those of some paths below `root` that git would leave out; none where git has no say."""
    names = sorted(paths)
    if not names:
        return frozenset()
    stdin = b"".join(name.encode() + b"\0" for name in names)
    try:
        answer = Git(root, without_location(environ)).run("check-ignore", "-z", "--stdin", stdin=stdin)
    except RepositoryError:
        return frozenset()
    return frozenset(name.decode() for name in answer.stdout.split(b"\0") if name and not answer.status)


@dataclass(frozen=True, slots=True)
class Import:
    """What an import does, or has done: the dump as read, what moves in, and what is wrong."""

    dump: Dump
    moved: MoveIn
    findings: list[Finding] = field(default_factory=list)

    @property
    def newest(self) -> datetime | None:
        """The latest moment of which the dump speaks."""
        return self.dump.newest

    @property
    def paths(self) -> list[str]:
        """The files that are written, sorted."""
        return sorted((*self.moved.created, *self.moved.replaced))


def plan_import(
    root: Path,
    snapshot: Snapshot,
    sources: Iterable[SourceFile],
    environ: Mapping[str, str],
    *,
    replacing: bool = False,
    without_reports: bool = False,
    present: datetime | None = None,
) -> Import:
    """Return what an import into the work tree at `root`, of which `snapshot` is the present state, would do. The dump
    was taken before `present`.

    git, where it is used, runs with `environ`.
    """
    files = list(sources)
    dump, fleet = read_dump(files, present), assemble(snapshot)
    read = {part.source.path for obj in fleet.objects.values() for part in obj.parts if not part.source.ref}
    within = paths_below(root, files) & read
    ignored, by_git = _ignored(root), set[str]()

    def obstacle(path: str) -> str:
        if path in ignored:
            return f"{IGNORE_FILE} names {path}"
        return f"git ignores {path}" if path in by_git else filing.obstacle(root, path)

    options = {"replacing": replacing, "without_reports": without_reports}
    moved = move_in(fleet, dump, obstacle, own_paths=within, **options)
    while more := ignored_by_git(root, moved.created, environ) - by_git:
        by_git |= more  # there may be another place for it
        moved = move_in(fleet, dump, obstacle, own_paths=within, **options)
    if secrets := needed(fleet, (dump.objects[id_] for id_ in moved.imported)):
        text = fleet_part(fleet, secrets)
        if text is None or obstacle(PATH):
            moved.findings.append(unseen_secrets(secrets))
        else:
            moved.created[PATH] = text
    return Import(dump, moved, [*map(inside, sorted(within)), *dump.findings, *moved.findings])


def write_import(root: Path, planned: Import) -> Import:
    """Write the files of an import; return it with what could not be written among its findings."""
    failed: list[Finding] = []
    moved = planned.moved
    for texts, write in ((moved.created, filing.create), (moved.replaced, filing.replace)):
        for path, text in sorted(texts.items()):
            try:
                write(root, path, text)
            except OSError as error:
                failed.append(no_place(None, path, error.strerror or str(error)))
    return Import(planned.dump, moved, [*planned.findings, *failed]) if failed else planned


def _ignored(root: Path) -> Ignored:
    """What the work tree's `.musterignore` names."""
    try:
        with (root / IGNORE_FILE).open("rb") as file:
            return Ignored(file.read(MAX_IGNORE_BYTES))
    except OSError:
        return Ignored()
