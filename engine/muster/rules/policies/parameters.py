"""Allowed values of a built-in policy's parameters in the Fleet: other values of the same type.

Built-in policies are proved never to fail for an allowed value.
"""

from datetime import timedelta
from typing import Final

from muster.data.times import parse_duration
from muster.data.tree import Tree

#: The range of a number, for example of lease durations without a heartbeat.
LEAST: Final = 1
MOST: Final = 100
#: The longest duration: a year.
LONGEST: Final = timedelta(days=366)


def is_duration(value: Tree) -> bool:
    """Is the value a duration, such as `30s`?"""
    try:
        return isinstance(value, str) and parse_duration(value) is not None
    except ValueError:
        return False


def wanted(own: Tree, given: Tree) -> str:
    """Return what a parameter with the default `own` must be; empty if `given` is valid."""
    match own:
        case bool():
            return "" if isinstance(given, bool) else "true or false"
        case int():
            fits = isinstance(given, int) and not isinstance(given, bool) and LEAST <= given <= MOST
            return "" if fits else f"a whole number from {LEAST} to {MOST}"
        case list():
            return "" if isinstance(given, list) and all(isinstance(one, str) for one in given) else "a list of texts"
        case _ if is_duration(own):
            fits = is_duration(given) and timedelta() <= parse_duration(given) <= LONGEST
            return "" if fits else f"a duration such as {own}, of at most {LONGEST.days} days"
        case _:
            return "" if isinstance(given, str) else "a text"
