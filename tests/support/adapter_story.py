"""Half an hour of the example's node pools: three become ready, one of them breaks, and two get another spec.

The last version of every file is what the example fleet holds; the earlier ones follow from it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from muster.model.times import parse_time

POOLS = "clusters/eu/prod-eu-1/"


def adapter_files(example: Path) -> list[Path]:
    """The files of the story."""
    return [path for folder in ("nodepools", "reports") for path in sorted((example / POOLS / folder).glob("*.yaml"))]


def adapter_story(example: Path) -> Iterator[tuple[datetime, Mapping[str, str]]]:
    """Yield each commit before noon: when, and its files."""
    last = {path.relative_to(example).as_posix(): path.read_text(encoding="utf-8") for path in adapter_files(example)}
    first = {path: _at_first(text) for path, text in last.items()}
    workers, broken = f"{POOLS}nodepools/workers.yaml", f"{POOLS}reports/gpu.hypershift.yaml"
    yield parse_time("2026-01-01T11:30:00Z"), {**first, workers: last[workers]}
    unavailable = first[broken].replace('Available, status: "True"', 'Available, status: "False"')
    yield parse_time("2026-01-01T11:45:00Z"), {broken: unavailable.replace("T11:28:00Z", "T11:45:00Z")}
    yield parse_time("2026-01-01T11:50:00Z"), {path: last[path] for path in last if "nodepools/" in path}


def _at_first(text: str) -> str:
    """A file as it was when everything was well, at generation 1."""
    text = re.sub(r"replicas: \d+", "replicas: 1", text)
    text = re.sub(r"observed_generation: \d+", "observed_generation: 1", text)
    text = re.sub(r"T11:\d\d:\d\dZ", "T11:28:00Z", text)
    return re.sub(r'Available, status: "\w+"(, reason: \w+)?', 'Available, status: "True"', text)
