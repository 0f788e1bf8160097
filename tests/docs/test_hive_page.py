"""docs/hive.md quotes what muster says on the example's morning, word by word."""

import re
from pathlib import Path

import pytest

from tests.docs.hive_story import played

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "hive.md").read_text(encoding="utf-8")
QUOTES = dict(re.findall(r"^```text ([^\n]+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
LEFT_OUT = "…"


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    return played()


@pytest.mark.parametrize("name", QUOTES)
def test_a_quote_is_what_muster_says(name: str, told: dict[str, str]) -> None:
    said, position = told[name].splitlines(), 0
    for line in QUOTES[name].splitlines():
        if line == LEFT_OUT:
            continue
        assert line in said[position:], line
        position = said.index(line, position) + 1


def test_the_page_tells_the_assignment_the_replacement_and_the_end() -> None:
    assert {"08:00", "09:21", "09:35", "11:00", "the pool at noon", "the claims at noon"} == set(QUOTES)
