"""Half an hour of the example's adapters: clusters and node pools become ready, some break, and some get another spec.

The last version of every file is what the example fleet holds; the earlier ones follow from it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from muster.data.times import parse_time

POOLS = "clusters/eu/prod-eu-1/"
#: Clusters whose spec changed at ten to twelve.
CHANGED = ("clusters/us/prod-us-1/cluster.yaml", "clusters/ap/prod-ap-1/cluster.yaml")


def adapter_files(example: Path) -> list[Path]:
    """The files that only come with the story."""
    return sorted([*(example / POOLS / "nodepools").glob("*.yaml"), *example.glob("clusters/*/*/reports/*.yaml")])


def earlier_specs(example: Path) -> Mapping[str, str]:
    """The clusters whose spec changes, as they were before."""
    texts = {path: (example / path).read_text(encoding="utf-8") for path in CHANGED}
    return {path: text.replace("https://api.", "https://old.") for path, text in texts.items()}


def adapter_story(example: Path) -> Iterator[tuple[datetime, Mapping[str, str]]]:
    """Yield each commit before noon: when, and its files."""
    last = {path.relative_to(example).as_posix(): path.read_text(encoding="utf-8") for path in adapter_files(example)}
    first = {path: _at_first(text) for path, text in last.items()}
    workers = f"{POOLS}nodepools/workers.yaml"
    broken = (f"{POOLS}reports/gpu.hypershift.yaml", "clusters/ap/prod-ap-1/reports/dns.yaml")
    # The node pools come first: what was said before an object came to be does not count for it.
    pools = {path: text for path, text in {**first, workers: last[workers]}.items() if "nodepools/" in path}
    yield parse_time("2026-01-01T11:27:00Z"), pools
    yield parse_time("2026-01-01T11:30:00Z"), {path: text for path, text in first.items() if path not in pools}
    yield parse_time("2026-01-01T11:45:00Z"), {path: _broken(first[path]) for path in broken}
    changed = {path: (example / path).read_text(encoding="utf-8") for path in CHANGED}
    pools = {path: last[path] for path in last if "nodepools/" in path}
    yield parse_time("2026-01-01T11:50:00Z"), {**changed, **pools}


def _broken(text: str) -> str:
    """A report that says, a quarter before twelve, that something is not available."""
    return text.replace('Available, status: "True"', 'Available, status: "False"').replace("T11:28:00Z", "T11:45:00Z")


def _at_first(text: str) -> str:
    """A file as it was when everything was well, before the spec changed."""
    text = re.sub(r"observed_generation: \d+", "observed_generation: 1", text)
    text = re.sub(r"replicas: \d+", "replicas: 1", text)
    text = re.sub(r"T11:\d\d:\d\dZ", "T11:28:00Z", text)
    return re.sub(r'Available, status: "\w+"(, reason: \w+)?', 'Available, status: "True"', text)
