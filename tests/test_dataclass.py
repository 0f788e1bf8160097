"""The dataclass decorator: what it makes is what the standard library makes."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from muster.dataclass import dataclass as ours

_FLAVOURS: dict[str, dict[str, bool]] = {
    "plain": {},
    "frozen": {"frozen": True},
    "slots": {"slots": True},
    "frozen with slots": {"frozen": True, "slots": True},
    "by identity": {"frozen": True, "slots": True, "eq": False},
    "ordered": {"frozen": True, "slots": True, "order": True},
}


def _classes(decorate: Callable[..., Any], arguments: dict[str, bool]) -> tuple[Any, Any]:
    """Return a class with each sort of field, and one below it with its own methods."""

    class Base:
        """A class."""

        COUNT: ClassVar[int] = 3
        a: int
        b: str = "b"
        hidden: str = dataclasses.field(default="", repr=False, compare=False)
        unhashed: int = dataclasses.field(default=0, hash=False)
        many: tuple[int, ...] = dataclasses.field(default_factory=lambda: (1, 2))
        late: int = dataclasses.field(init=False, default=7)
        own: tuple[int, ...] = dataclasses.field(init=False, default_factory=tuple, compare=False)
        only: "int | None" = dataclasses.field(default=None, kw_only=True)

    Base.__qualname__ = "Base"
    base = decorate(**arguments)(Base)

    class Derived(base):  # type: ignore[misc, valid-type]
        c: float = 0.5

        def __post_init__(self) -> None:
            object.__setattr__(self, "own", (self.a,))

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Derived) and self.a == other.a

    return base, decorate(**arguments)(Derived)


def _answer(question: Callable[[], object]) -> object:
    """Return what a call returns, or the error that it raises."""
    try:
        return question()
    except Exception as error:  # noqa: BLE001 - whatever it raises is compared
        return type(error), str(error)


@pytest.mark.parametrize("flavour", _FLAVOURS)
def test_classes_answer_as_those_of_the_standard_library(flavour: str) -> None:
    arguments = _FLAVOURS[flavour]

    def answers(decorate: Callable[..., Any]) -> list[object]:
        base, derived = _classes(decorate, arguments)
        one, same, other = base(1), base(1, hidden="x"), base(2, "c", many=(), only=1)
        below = derived(1, c=2.0)
        return [
            repr(one),
            repr(other),
            repr(below),
            one == same,
            one == other,
            one != other,
            one == below,
            below == derived(1),
            one.hidden,
            one.late,
            below.own,
            below.many,
            _answer(lambda: hash(one) == hash(same)),
            _answer(lambda: hash(below)),
            _answer(lambda: one < other),
            _answer(lambda: setattr(one, "a", 5)),
            _answer(lambda: delattr(one, "b")),
            _answer(base),
            _answer(lambda: base(1, wrong=2)),
            _answer(lambda: base(1, "b", "", 0, (), 2)),
            [field.name for field in dataclasses.fields(derived)],
            repr(dataclasses.replace(other, b="d")),
            dataclasses.asdict(below),
            base.__match_args__,
            base.__doc__,
            getattr(base, "__slots__", None),
            hasattr(one, "__dict__"),
            copy.deepcopy(other) == other,
            copy.copy(below).own,
            base.COUNT,
        ]

    assert answers(ours) == answers(dataclasses.dataclass)


@ours(frozen=True, slots=True)
class Node:
    children: "list[Node]"
    name: str = ""


def test_a_frozen_instance_with_slots_can_be_pickled() -> None:
    tree = Node([Node([], "below")])
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_an_instance_that_holds_itself_has_a_repr() -> None:
    tree = Node([])
    tree.children.append(tree)
    assert repr(tree) == "Node(children=[...], name='')"


def test_the_first_instance_may_be_made_by_a_subclass() -> None:
    @ours
    class Base:
        a: int

    class Derived(Base):
        def __init__(self) -> None:
            super().__init__(a=4)

    assert (Derived().a, Base(5).a) == (4, 5)
