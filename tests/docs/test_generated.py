"""The generated pages are what `make docs` would write now."""

import pytest

from tests.support.docs import DOCS, PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"
