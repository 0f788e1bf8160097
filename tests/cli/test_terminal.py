"""What people see on terminals of 80, 120 and 200 columns: a real one, and files that were read by people."""

import re

import pytest

from tests.support.git import Repo
from tests.support.terminal import GOLDEN, LINES, WIDTHS, example_in, plain, printed


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return example_in(tmp_path_factory.mktemp("terminal"))


@pytest.mark.parametrize("columns", WIDTHS)
def test_what_verbs_print_on_a_terminal(repo: Repo, columns: int) -> None:
    said = printed(repo, columns, LINES)
    lines = plain(said).splitlines()
    assert plain(said) == (GOLDEN / f"{columns}.txt").read_text(encoding="utf-8")
    assert "\x1b[33mUnknown" in said, "how things stand has a colour"
    wide = False
    for line in lines:
        wide = line.endswith("-o wide") if line.startswith("$") else wide
        assert wide or len(line) <= columns or re.search(r"\d effects are held", line), line


def test_nobody_has_to_see_colours(repo: Repo) -> None:
    assert "\x1b" not in printed(repo, 80, LINES[:1], {"NO_COLOR": "1"})
