"""What counts as a lease's duration."""

from typing import Any

import pytest

from muster.agents.hub.view import bounded


@pytest.mark.parametrize(
    ("seconds", "obeyed"),
    [(1, 1), (60, 60), (10**9, 86400), (0, None), (-5, None), ("60", None), (True, None), (None, None), (2.5, None)],
)
def test_what_is_no_duration_is_not_obeyed(seconds: Any, obeyed: int | None) -> None:
    assert bounded(seconds) == obeyed
