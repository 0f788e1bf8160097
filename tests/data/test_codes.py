"""The register of findings: each code once, explained, and expected by some test."""

import re
from pathlib import Path

from muster.data.codes import Code

TESTS = Path(__file__).parents[1]


def test_every_code_means_one_thing_and_says_what() -> None:
    assert all(re.fullmatch(r"MUS\d{3}", code) for code in Code)
    headings = [code.heading for code in Code]
    assert sorted(headings) == sorted(set(headings))
    assert [code for code in Code if not code.explanation.endswith((".", "`"))] == []
    assert len(Code.__members__) == len(Code), "two names of one code"


def test_every_code_is_expected_by_some_test() -> None:
    """A finding that no test has seen may never be told, or of something else."""
    own = {Path(__file__), *(TESTS / "support").rglob("*")}
    files = (path for suffix in ("py", "yaml") for path in TESTS.rglob(f"*.{suffix}") if path not in own)
    seen = {code for path in files for code in re.findall(r"MUS\d{3}", path.read_text(encoding="utf-8"))}
    assert sorted(set(Code) - seen) == []
