"""The page of what the tests ran with: it is of these parts, whose tests exist, and says what the results say."""

from pathlib import Path

import pytest

from tests.support import tested_with
from tests.support.tested_with import NEVER, PAGE, PARTS, ROOT

CASE = '<testcase classname="tests.e2e.test_gitea" name="x">{}</testcase>'


def test_it_lists_each_part_and_what_was_never_run() -> None:
    first = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines() if line[:2] == "| "]
    assert first == ["part", *(part.name for part in PARTS), "part", *(name for name, _ in NEVER)]
    assert not [path for part in PARTS for path in part.tests if not (ROOT / path).is_file()]


@pytest.mark.parametrize(
    ("inside", "result"),
    [("", "1 passed"), ("<skipped/>", "1 skipped"), ("<failure/>", "1 failed"), ("<error/>", "1 failed")],
)
def test_what_did_not_pass_has_no_version_and_no_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, result: str
) -> None:
    monkeypatch.setattr(tested_with, "PAGE", tmp_path / "page.md")
    case = CASE.format(inside)
    results = f'<testsuites><testsuite timestamp="2026-01-02T03:04:05">{case}</testsuite></testsuites>'
    (tmp_path / "tests.xml").write_text(results)
    tested_with.main(tmp_path / "tests.xml")
    (row,) = [line for line in (tmp_path / "page.md").read_text().splitlines() if "test_gitea" in line]
    assert row.endswith(f"| {result} |")
    assert ("2026-01-02" in row) is (result == "1 passed")
    assert "not in these results" in (tmp_path / "page.md").read_text()
