"""Equality and order of what expressions can be."""

from muster.features.lint.proving import logic
from muster.features.lint.proving.doubt import some_answer
from muster.features.lint.proving.logic import Formula, both, either, every, negation, same, some
from muster.features.lint.proving.values import (
    Atom,
    Bool,
    Cases,
    Keyed,
    Lazy,
    Listed,
    Null,
    Opaque,
    Optional,
    Result,
    Text,
    Written,
    paired,
    size_of,
    surely,
)
from muster.features.lint.proving.world import World


def equal(world: World, left: Atom, right: Atom) -> Formula:
    """Whether two values are equal; values of different types are not."""
    if (terms := paired(left, right)) is not None:
        return same(*terms)
    match left, right:
        case Null(), Null():
            return True
        case Listed(), Listed():
            return _equal_lists(world, left, right)
        case (
            (Opaque(), _) | (_, Opaque())
            | ((Written() | Text()), (Written() | Text()))
            | ((Keyed() | Lazy()), (Keyed() | Lazy()))
            | (Optional(), Optional())
        ):  # fmt: skip
            return world.truth()
        case _:
            return False


def _equal_lists(world: World, left: Listed, right: Listed) -> Formula:
    if not right.items and logic.is_known(right.rest):
        return same(size_of(left), 0)
    if not left.items and logic.is_known(left.rest):
        return same(size_of(right), 0)
    whole = all(guard is True for guard, _ in (*left.items, *right.items))
    if whole and logic.is_known(left.rest) and logic.is_known(right.rest):
        if len(left.items) != len(right.items):
            return False
        return every(equal_cases(world, a, b) for (_, a), (_, b) in zip(left.items, right.items, strict=True))
    return world.truth()


def equal_cases(world: World, left: Cases, right: Cases) -> Formula:
    """Whether two values are equal, each of which may be of several types."""
    return some(both(g, h, equal(world, a, b)) for g, a in left for h, b in right)


def order(name: str, world: World, left: Atom, right: Atom) -> Result:
    """What `<`, `<=`, `>` or `>=` gives."""
    if name in ("_>_", "_>=_"):
        left, right = right, left
    strictly = name in ("_<_", "_>_")
    if isinstance(left, Bool) and isinstance(right, Bool):
        less = both(negation(left.term), right.term)
        return surely(Bool(less if strictly else either(less, same(left.term, right.term))))
    if (terms := paired(left, right)) is not None:
        return surely(Bool(logic.before(*terms, strictly=strictly)))
    return some_answer(world, left, right)
