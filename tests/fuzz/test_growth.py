"""Text of others takes time in proportion to its length: a part of the families of hostile text, in short texts."""

import re

import pytest

from tests.fuzz.growth import Family, grows_too_fast, some_families
from tests.fuzz.readers import READERS

_LENGTH, _FLOOR_SECONDS = 1 << 13, 0.03


@pytest.mark.parametrize(("number", "name"), list(enumerate(READERS)))
def test_takes_time_in_proportion_to_the_text(number: int, name: str) -> None:
    found = (grows_too_fast(READERS[name], family, _LENGTH, _FLOOR_SECONDS) for family in some_families(number))
    assert not list(filter(None, found))


def test_a_reader_that_takes_more_is_found() -> None:
    trailer = re.compile("x(.*?) *$")
    assert grows_too_fast(lambda text: trailer.match(f"x{text}x"), Family("", " ", ""), _LENGTH, _FLOOR_SECONDS)
    assert not grows_too_fast(lambda text: text.split(" "), Family("", " ", ""), _LENGTH, _FLOOR_SECONDS)
