"""Importing: what a dump of a live hub becomes in a repository, and writing that.

Nothing is committed: whoever imports looks at the files first, and commits them as any others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from muster.data.finding import Finding
from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.features.importing import filing, pool_secrets
from muster.features.importing.dump import Dump, read_dump
from muster.features.importing.dumps import paths_below
from muster.features.importing.messages import inside, no_place, unseen_secrets
from muster.features.importing.movein import MoveIn, move_in
from muster.fleet.assemble import assemble
from muster.git.ignoring import ignored_by_git
from muster.git.paths import IGNORE_FILE, MAX_IGNORE_BYTES, Ignored


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
    root: Path, snapshot: Snapshot, sources: Iterable[SourceFile], environ: Mapping[str, str], *,
    replacing: bool = False, present: datetime | None = None,
) -> Import:  # fmt: skip
    """Return what an import into the work tree at `root`, of which `snapshot` is the present state, would do. The dump
    was taken before `present`.

    git, where it is used, runs with `environ`.
    """
    files = list(sources)
    dump, fleet = read_dump(files, present), assemble(snapshot)
    read = {part.source.path for obj in fleet.objects.values() for part in obj.parts if not part.source.ref}
    own = paths_below(root, files) & read
    ignored, by_git = _ignored(root), set[str]()

    def obstacle(path: str) -> str:
        if path in ignored:
            return f"{IGNORE_FILE} names {path}"
        return f"git ignores {path}" if path in by_git else filing.obstacle(root, path)

    moved = move_in(fleet, dump, obstacle, own_paths=own, replacing=replacing)
    while more := ignored_by_git(root, moved.created, environ) - by_git:
        by_git |= more  # there may be another place for it
        moved = move_in(fleet, dump, obstacle, own_paths=own, replacing=replacing)
    if secrets := pool_secrets.needed(fleet, (dump.objects[id_] for id_ in moved.imported)):
        text = pool_secrets.fleet_part(fleet, secrets)
        if text is None or obstacle(pool_secrets.PATH):
            moved.findings.append(unseen_secrets(secrets))
        else:
            moved.created[pool_secrets.PATH] = text
    return Import(dump, moved, [*map(inside, sorted(own)), *dump.findings, *moved.findings])


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
