"""Deadlines: what is left, and what is over."""

import pytest

from muster.net.deadline import Deadline


def test_what_is_left_never_grows() -> None:
    deadline = Deadline.after(60)
    first = deadline.remaining()
    assert 0 < deadline.remaining() <= first <= 60
    assert deadline.require() <= first
    assert not deadline.expired
    assert first < deadline.later(10).remaining() <= 70


def test_what_is_over_says_how_long_it_was() -> None:
    deadline = Deadline.after(1.5).later(-2)
    assert deadline.expired
    assert deadline.remaining() == 0
    with pytest.raises(TimeoutError, match=r"^no answer within 1\.5 seconds$"):
        deadline.require()
