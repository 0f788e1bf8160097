"""What a Fleet may set the parameters of a built-in policy to: another value of the same sort.

Built-in policies are proved never to fail for any value that is allowed here.
"""

from datetime import timedelta
from typing import Final

from muster.data.times import parse_duration
from muster.data.tree import Tree

#: The least and the most that a number may be: how many durations of a lease a cluster may be silent, for example.
LEAST: Final = 1
MOST: Final = 100
#: The longest that a duration may be: a year.
LONGEST: Final = timedelta(days=366)


def is_duration(value: Tree) -> bool:
    """Whether a value spells a duration, such as `30s`."""
    try:
        return isinstance(value, str) and parse_duration(value) is not None
    except ValueError:
        return False


def wanted(own: Tree, given: Tree) -> str:
    """Return what a parameter must be whose own value is `own`; empty where `given` is that."""
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
