"""Text of others takes time in proportion to its length: every family of hostile text, in long texts."""

import pytest

from tests.fuzz.growth import families, grows_too_fast
from tests.fuzz.readers import READERS

_LENGTH, _FLOOR_SECONDS = 1 << 17, 0.5


@pytest.mark.parametrize("name", READERS)
def test_takes_time_in_proportion_to_the_text(name: str) -> None:
    found = (grows_too_fast(READERS[name], family, _LENGTH, _FLOOR_SECONDS) for family in families())
    assert not list(filter(None, found))
