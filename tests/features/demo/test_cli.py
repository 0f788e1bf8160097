"""`muster demo`: one kind of cluster at a time; `make demo` and the wheel's test run it whole."""

from pathlib import Path

import pytest

from tests.support.git import git_environ
from tests.support.in_process import muster


@pytest.mark.parametrize(
    ("option", "shown", "other"),
    [((), "prod-ap-2", "member-us-1"), (("--show", "karmada"), "member-us-1", "prod-ap-2")],
)
def test_one_kind_of_cluster(tmp_path: Path, option: tuple[str, ...], shown: str, other: str) -> None:
    code, out, err = muster("demo", *option, "--dir", str(tmp_path), environ=git_environ(tmp_path), cwd=tmp_path)
    assert code == 0, err
    table = out.partition("The fleet now")[2].partition("What to try next")[0]
    assert (f"\n{shown} " in table, other in out) == (True, False)
    pages = [path.name for path in (tmp_path / "page").rglob("*.html")]
    assert "index.html" in pages
