"""Evaluate the tables of the function tests: expressions that are true, and expressions that fail."""

import pytest

from muster import cel


def holds(expression: str) -> bool:
    """Return whether the expression is true."""
    return cel.compile(expression).evaluate({}) is True


def has_no_value(expression: str) -> bool:
    """Return whether the expression fails with a message and a place."""
    with pytest.raises(cel.EvaluationError) as caught:
        cel.compile(expression).evaluate({})
    return bool(caught.value.message) and caught.value.offset is not None
