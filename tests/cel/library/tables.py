"""How the tables of functions are read: expressions that hold, and expressions that have no value."""

import pytest

from muster import cel


def holds(expression: str) -> bool:
    """Whether it gives true."""
    return cel.compile(expression).evaluate({}) is True


def has_no_value(expression: str) -> bool:
    """Whether it fails, with words and with the place at which it does."""
    with pytest.raises(cel.EvaluationError) as caught:
        cel.compile(expression).evaluate({})
    return bool(caught.value.message) and caught.value.offset is not None
