"""The built-in policies: the objects of the bundle's `policies/`, read once per process."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from muster.data.ids import ObjectId
from muster.data.source import Layer, SourceFile
from muster.fleet.bundle import bundle_path
from muster.fleet.derived import content_id
from muster.fleet.files import read_file
from muster.fleet.objects import Object
from muster.fleet.reading import FilesRead

PREFIX = "builtin:"


@cache
def builtin_objects() -> Mapping[ObjectId, Object]:
    """Return the bundle's objects by id. RuntimeError if the bundle itself is damaged."""
    folder = bundle_path("policies")
    reading = FilesRead()
    for path in sorted(folder.rglob("*.yaml")):
        read_file(reading, _source(folder, path), Layer.BUILTIN)
    if reading.findings:
        raise RuntimeError(f"the built-in policies are damaged: {reading.findings[0].message}")
    return {part.id: Object(part.id, part.body, (part,)) for part in reading.parts}


def _source(folder: Path, path: Path) -> SourceFile:
    oid = content_id(path.read_bytes())
    return SourceFile(f"{PREFIX}{path.relative_to(folder).as_posix()}", oid, path.read_bytes)
