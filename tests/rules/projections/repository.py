"""A fleet with Projections, and what they write."""

import json
from pathlib import Path
from typing import Any

import yaml

import muster
from tests.rules.placements.repository import START, Repository

FOLDER = "derived/projections"


class ProjectionRepository(Repository):
    """A fleet in a directory, with Projections."""

    def projection(self, name: str, **spec: Any) -> str:
        """Write a Projection: `each="clusters"` is `forEach`."""
        spec = {"forEach": spec.pop("each"), **spec}
        body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Projection", "metadata": {"name": name}, "spec": spec}
        self.write(f"projection-{name}.yaml", yaml.safe_dump(body, sort_keys=False))
        return f"projection-{name}.yaml"

    def files(self, seconds: int = 0) -> dict[str, str]:
        """What Projections have written after a run, by path below their folder."""
        self.findings = [f"{found.code} {found}" for found in self.evaluate(seconds).run.findings]
        folder = self.root / FOLDER
        return {
            str(file.relative_to(folder)): file.read_text() for file in sorted(folder.glob("*/**/*")) if file.is_file()
        }

    def settle(self) -> None:
        """Evaluate until rest: a pool takes several passes."""
        while found := muster.evaluate(self.root, START).files:
            for name, text in found.items():
                self.write(name, text)

    def documents(self) -> dict[str, Any]:
        """The same, parsed."""
        return {
            path: json.loads(text) if path.endswith(".json") else yaml.safe_load(text)
            for path, text in self.files().items()
        }


def fleet(root: Path) -> ProjectionRepository:
    """Three clusters in two regions, and a Placement for two of them."""
    found = ProjectionRepository(root)
    for name, region in (("a", "eu"), ("b", "eu"), ("c", "us")):
        found.cluster(name, labels={"region": region})
    found.placement("web", {"numberOfClusters": 2})
    return found
