"""The section about scores: its policy decides, its Placement follows, its test passes and its expressions compile."""

import re
from pathlib import Path

import yaml

from tests.rules.scores.test_stage import ScoredFleet
from tests.support.commandline import Run
from tests.support.git import new_repository

PAGE = Path(__file__).parents[2] / "docs" / "ocm.md"


def test_what_the_page_shows_does_what_it_says(tmp_path: Path, muster: Run) -> None:
    _, _, below = PAGE.read_text(encoding="utf-8").partition("\n## Scores\n")
    text, _, _ = below.partition("\n## ")
    policy, placement, test = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    repo = new_repository(tmp_path / "fleet")
    fleet = ScoredFleet(repo.path)
    fleet.write("placement.yaml", placement)
    fleet.write("policies/cost.yaml", policy)
    fleet.write("policies/cost.test.yaml", test)
    assert fleet.at(0).findings == []
    assert fleet.score("a")["scores"] == [{"name": "price", "value": 30}]
    assert fleet.chosen() == "b"
    code, out, _ = muster("test", "--repo", str(fleet.root), "--coverage")
    assert (code, "1 passed" in out or "passed" in out) == (0, True), out
    files = (file for file in sorted(fleet.root.rglob("*.yaml")))
    repo.commit({str(file.relative_to(fleet.root)): file.read_bytes() for file in files})
    at = ("--repo", str(fleet.root), "--now", "2026-01-01T00:00:00Z")
    code, out, _ = muster("explain", "AddOnPlacementScore/a/cost", *at)
    assert code == 0
    assert "ScorePolicy/cost" in out
    assert "expression: 30\n" in out
    assert "read     self.metadata.labels.region = 'eu'\n" in out
    expressions = re.findall(r"^\|[^|]+\| `(.+)` \|$", text, re.MULTILINE)
    assert len(expressions) == 3
    for number, expression in enumerate(expressions):
        fleet.policy(
            f"p{number}", score=f"s{number}", expression=expression, params={"gramsPerKWh": {"eu": 100, "us": 380}}
        )
    errors = [found.message for found in fleet.at(1).findings if found.code != "MUS401"]
    assert errors == []
    assert {one["name"]: one["value"] for one in fleet.score("a")["scores"]}["s1"] == -10
