"""The generated pages are what `make docs` would write now."""

import pytest

from muster.data.codes import Code
from tests.support.docs import DOCS, KINDS, PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def test_the_pages_of_kinds_are_current() -> None:
    written = {f"kinds/{path.name}": path.read_text(encoding="utf-8") for path in (DOCS / "kinds").glob("*.md")}
    assert written == KINDS, "run `make docs`"


def test_every_code_is_given_somewhere() -> None:
    engine = DOCS.parent / "engine" / "muster"
    given = "".join(path.read_text(encoding="utf-8") for path in engine.rglob("*.py") if path.name != "codes.py")
    assert [code for code in Code if f"Code.{code.name}" not in given] == []
