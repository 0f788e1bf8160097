"""docs/karmada.md quotes what muster says, word by word, and its YAML is sound."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

import muster
from muster.rules.effects.budget import parse_override
from tests.docs.karmada_story import story

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "karmada.md").read_text(encoding="utf-8")
QUOTES = dict(re.findall(r"^```text ([^\n]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LEFT_OUT = "…"


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    return story()


@pytest.mark.parametrize("name", QUOTES)
def test_a_quote_is_what_muster_says(name: str, told: dict[str, str]) -> None:
    said, quoted = told[name].splitlines(), QUOTES[name].splitlines()
    if LEFT_OUT not in quoted:
        assert quoted == said
        return
    position = 0
    for line in filter(lambda line: line != LEFT_OUT, quoted):
        assert line in said[position:], line
        position = said.index(line, position) + 1


def test_everything_that_is_played_is_quoted(told: dict[str, str]) -> None:
    assert set(QUOTES) == set(told)


def test_the_objects_of_the_page_are_sound(tmp_path: Path) -> None:
    whole = [block for block in BLOCKS if block.startswith("apiVersion")]
    assert len(whole) == 2
    for index, block in enumerate(whole):
        (tmp_path / f"{index}.yaml").write_text(block, encoding="utf-8")
    assert muster.evaluate(tmp_path, datetime(2026, 1, 1, tzinfo=UTC)).findings == []


def test_the_override_of_the_page_is_one() -> None:
    (block,) = (block for block in BLOCKS if "allow-disruption" in block)
    (text,) = yaml.safe_load(block)["metadata"]["annotations"].values()
    override = parse_override(text)
    assert override is not None
    assert override.reason == "the fire in eu is confirmed"
