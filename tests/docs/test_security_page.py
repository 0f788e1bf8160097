"""docs/security.md: the tests that it names exist, and are about what it says."""

import re
from collections.abc import Iterator

import pytest

from tests.support.docs import DOCS

ROOT = DOCS.parent


def rows() -> Iterator[tuple[str, list[str], set[str]]]:
    """Yield who a row is about, the tests that it names, and the codes of findings in it."""
    for line in (DOCS / "security.md").read_text(encoding="utf-8").splitlines():
        cells = line.split(" | ")
        if "`tests/" in line:
            yield cells[0].strip("| "), re.findall(r"`(tests/[^`]+)`", cells[3]), set(re.findall(r"MUS\d{3}", line))


def test_every_row_names_tests() -> None:
    assert len(list(rows())) > 8


@pytest.mark.parametrize(("who", "paths", "codes"), list(rows()))
def test_what_a_row_names_is_tested(who: str, paths: list[str], codes: set[str]) -> None:
    text = ""
    for path in paths:
        files = sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [ROOT / path]
        tests = [file.read_text(encoding="utf-8") for file in files]
        assert any("\ndef test_" in test or "\n    def test_" in test for test in tests), (who, path)
        text += "".join(tests)
    assert {code for code in codes if code not in text} == set(), who
