"""The operators and functions of CEL, on what expressions can be. One that is not here is unknown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from muster.answers.proving import logic
from muster.answers.proving.logic import Formula, Term, both, choice, either, every, negation, same, some, total, within
from muster.answers.proving.reading import duration, timestamp
from muster.answers.proving.values import (
    FAILURE,
    Atom,
    Bool,
    Cases,
    Int,
    Keyed,
    Lazy,
    Listed,
    Null,
    Opaque,
    Optional,
    Result,
    Span,
    Text,
    Time,
    Written,
    failing,
    given,
    guarded,
    merged,
    paired,
    surely,
)
from muster.answers.proving.world import FIRST, LAST, World
from muster.cel.values import INT_MAX, INT_MIN

#: What grows by itself is cut off: elements of lists that are added, characters and pieces of texts, cases of two
#: operands, numbers that are multiplied.
_MOST_ITEMS, _LONGEST, _MOST_PIECES, _MOST_PAIRS, _HIGHEST_DEGREE = 64, 10_000, 64, 400, 4
#: Functions of so many texts that never fail and give a text.
_OF_TEXTS: Final = {"lowerAscii": 1, "upperAscii": 1, "trim": 1, "reverse": 1, "replace": 3}
_ORDERS: Final = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_ARITHMETIC: Final = frozenset(("_+_", "_-_", "_*_", "_/_", "_%_"))
_TEXT_TESTS: Final[Mapping[str, Callable[[Term, Term], Formula]]] = {
    "startsWith": logic.begins, "endsWith": logic.ends, "contains": logic.holds_text,
}  # fmt: skip


class Functions:
    """Applies functions; what it does not know comes from a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    # -- what is not known --------------------------------------------------------------------------------------

    def unknown(self, arguments: Sequence[Result]) -> Result:
        """What may fail, and may be anything."""
        return Result(either(failing(arguments), self.world.truth()), ((True, Opaque()),))

    def some_truth(self) -> Result:
        """What may fail, and is true or false."""
        return Result(self.world.truth(), ((True, Bool(self.world.truth())),))

    def some_text(self, *fails: Formula) -> Result:
        """Any text, where it does not fail."""
        return Result(some(fails), ((True, Text(self.world.text())),))

    def some_of(self, rest: Term) -> Term:
        """A number up to another one."""
        if logic.is_known(rest) and rest == 0:
            return 0
        number = self.world.number()
        self.world.fact(within(0, number, rest))
        return number

    @staticmethod
    def more(rest: Term) -> Formula:
        """Whether there are further elements."""
        return logic.before(0, rest, strictly=True)

    @staticmethod
    def equal_numbers(left: Term, right: Term) -> Formula:
        """Whether two numbers are equal."""
        return same(left, right)

    @staticmethod
    def in_range(low: Term, number: Term, high: Term) -> Formula:
        """Whether a number is in a range, its end not included."""
        return both(logic.before(low, number, strictly=False), logic.before(number, high, strictly=True))

    def truth(self, result: Result) -> tuple[Formula, Formula]:
        """Return whether a result fails as a condition, else whether it is true."""
        fails, holds = [result.fails], []
        for guard, atom in result.cases:
            if isinstance(atom, Bool):
                holds.append(both(guard, atom.term))
            elif isinstance(atom, Opaque):
                fails.append(both(guard, self.world.truth()))
                holds.append(both(guard, self.world.truth()))
            else:
                fails.append(guard)
        return some(fails), some(holds)

    # -- calls --------------------------------------------------------------------------------------------------

    def own(self, name: str, arguments: Sequence[Result]) -> Result:
        """A function that muster adds: `status(conditions, type)`."""
        if name != "status" or len(arguments) != 2:
            return self.unknown(arguments)
        return self._pairs(arguments[0], arguments[1], self._status)

    def _status(self, conditions: Atom, type_: Atom) -> Result:
        if not isinstance(conditions, Keyed) or not isinstance(type_, Text) or not isinstance(type_.term, str):
            return self.unknown([])
        present, condition = conditions.entry(type_.term)
        parts: list[tuple[Formula, Result]] = [(negation(present), surely(Text("Unknown")))]
        for guard, atom in guarded(present, condition):
            if not isinstance(atom, Keyed):
                parts.append((guard, self.some_text(self.world.truth())))
                continue
            there, value = atom.entry("status")
            texts = tuple((inner, text) for inner, text in value if isinstance(text, Text))
            is_text = both(there, some(inner for inner, _ in texts))
            odd = both(there, some(inner for inner, text in value if isinstance(text, (Opaque, Written))))
            parts.append((both(guard, is_text), given(texts)))
            parts.append((both(guard, odd, negation(is_text)), self.some_text()))
            parts.append((both(guard, negation(either(is_text, odd))), surely(Text("Unknown"))))
        return merged(parts)

    def call(self, name: str, arguments: Sequence[Result], *, member: bool) -> Result:
        """What a function or an operator gives."""
        if len(arguments) == 1:
            one = _UNARY.get(name)
            if one is not None:
                return self._each(arguments[0], lambda atom: one(self, atom))
        if len(arguments) == 2:
            two = self._binary(name)
            if two is not None:
                return self._pairs(arguments[0], arguments[1], two)
        if name == "optional.none" and not arguments:
            return surely(Optional(present=False, cases=()))
        if member and _OF_TEXTS.get(name) == len(arguments) and all(map(_is_text, arguments)):
            return self.some_text(failing(arguments))
        if (
            member
            and name == "join"
            and _are_texts(arguments[0])
            and len(arguments) < 3
            and all(map(_is_text, arguments[1:]))
        ):
            return self.some_text(failing(arguments))
        return self.unknown(arguments)

    def _binary(self, name: str) -> Callable[[Atom, Atom], Result] | None:
        if name in ("_==_", "_!=_"):
            return lambda left, right: surely(Bool(self._equality(name, left, right)))
        if name in _ORDERS:
            return lambda left, right: self._order(name, left, right)
        if name in _ARITHMETIC:
            return lambda left, right: self._arithmetic(name, left, right)
        if name in _TEXT_TESTS:
            return lambda left, right: self._test(_TEXT_TESTS[name], left, right)
        return {"@in": self._contains, "orValue": self._or_value, "or": self._or}.get(name)

    def _each(self, argument: Result, apply: Callable[[Atom], Result]) -> Result:
        found = merged((guard, apply(atom)) for guard, atom in argument.cases)
        return Result(either(argument.fails, found.fails), found.cases)

    def _pairs(self, left: Result, right: Result, apply: Callable[[Atom, Atom], Result]) -> Result:
        if len(left.cases) * len(right.cases) > _MOST_PAIRS:
            return self.unknown([left, right])
        pairs = [(both(g, h), a, b) for g, a in left.cases for h, b in right.cases]
        found = merged((guard, apply(a, b)) for guard, a, b in pairs if guard is not False)
        return Result(either(left.fails, right.fails, found.fails), found.cases)

    # -- equality and order -------------------------------------------------------------------------------------

    def _equality(self, name: str, left: Atom, right: Atom) -> Formula:
        equal = self.equal(left, right)
        return equal if name == "_==_" else negation(equal)

    def equal(self, left: Atom, right: Atom) -> Formula:
        """Whether two values are equal; values of different types are not."""
        if (terms := paired(left, right)) is not None:
            return same(*terms)
        match left, right:
            case (Opaque(), _) | (_, Opaque()):
                return self.world.truth()
            case Null(), Null():
                return True
            case ((Written() | Text()), (Written() | Text())):
                return self.world.truth()
            case Listed(), Listed():
                return self._equal_lists(left, right)
            case ((Keyed() | Lazy()), (Keyed() | Lazy())):
                return self.world.truth()
            case Optional(), Optional():
                return self.world.truth()
            case _:
                return False

    def _equal_lists(self, left: Listed, right: Listed) -> Formula:
        if not right.items and logic.is_known(right.rest):
            return same(_size(left), 0)
        if not left.items and logic.is_known(left.rest):
            return same(_size(right), 0)
        whole = all(guard is True for guard, _ in (*left.items, *right.items))
        if whole and logic.is_known(left.rest) and logic.is_known(right.rest):
            if len(left.items) != len(right.items):
                return False
            return every(self.equal_cases(a, b) for (_, a), (_, b) in zip(left.items, right.items, strict=True))
        return self.world.truth()

    def equal_cases(self, left: Cases, right: Cases) -> Formula:
        """Whether two values are equal, each of which may be of several types."""
        return some(both(g, h, self.equal(a, b)) for g, a in left for h, b in right)

    def _order(self, name: str, left: Atom, right: Atom) -> Result:
        if name in ("_>_", "_>=_"):
            left, right = right, left
        strictly = name in ("_<_", "_>_")
        if isinstance(left, Bool) and isinstance(right, Bool):
            less = both(negation(left.term), right.term)
            return surely(Bool(less if strictly else either(less, same(left.term, right.term))))
        if (terms := paired(left, right)) is not None:
            return surely(Bool(logic.before(*terms, strictly=strictly)))
        match left, right:
            case ((Written() | Text()), (Written() | Text())):
                return surely(Bool(self.world.truth()))
            case (Opaque(), _) | (_, Opaque()):
                return self.some_truth()
            case _:
                return FAILURE

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def _arithmetic(self, name: str, left: Atom, right: Atom) -> Result:
        match left, right:
            case (Opaque(), _) | (_, Opaque()):
                return self.unknown([])
            case Int(), Int():
                return self._integers(name, left, right)
            case ((Text() | Written()), (Text() | Written())) if name == "_+_":
                return self._joined(left, right)
            case Listed(), Listed() if name == "_+_":
                if not logic.is_known(left.rest) or len(left.items) + len(right.items) > _MOST_ITEMS:
                    return self.unknown([])  # what is further would come between
                return surely(Listed((*left.items, *right.items), right.rest))
            case Time(), Time() if name == "_-_":
                return _fitting(Span(left.term - right.term), INT_MIN, INT_MAX)
            case Time(), Span() if name in ("_+_", "_-_"):
                return _fitting(Time(left.term + right.term if name == "_+_" else left.term - right.term), FIRST, LAST)
            case Span(), Time() if name == "_+_":
                return _fitting(Time(left.term + right.term), FIRST, LAST)
            case Span(), Span() if name in ("_+_", "_-_"):
                sum_ = left.term + right.term if name == "_+_" else left.term - right.term
                return _fitting(Span(sum_), INT_MIN, INT_MAX)
            case _:
                return FAILURE

    def _integers(self, name: str, one: Int, other: Int) -> Result:
        left, right = one.term, other.term
        degree = max(one.degree, other.degree)
        if name in ("_+_", "_-_"):
            return _fitting(Int(left + right if name == "_+_" else left - right, degree), INT_MIN, INT_MAX)
        degree = one.degree * (not logic.is_known(left)) + other.degree * (not logic.is_known(right))
        if degree > _HIGHEST_DEGREE:
            return self.unknown([])
        if name == "_*_":
            return _fitting(Int(left * right, degree), INT_MIN, INT_MAX)
        zero, cut = same(right, 0), logic.quotient(left, right)
        if name == "_/_":
            found = _fitting(Int(cut, degree), INT_MIN, INT_MAX)
            return Result(either(zero, found.fails), found.cases)
        overflow = both(same(left, INT_MIN), same(right, -1))
        return Result(either(zero, overflow), ((True, Int(left - right * cut, degree)),))

    def _joined(self, left: Atom, right: Atom) -> Result:
        if not isinstance(left, Text) or not isinstance(right, Text):
            return self.some_text()
        pieces = left.pieces + right.pieces
        if pieces > _MOST_PIECES or sum(len(one.term) for one in (left, right) if isinstance(one.term, str)) > _LONGEST:
            return self.some_text()
        term = logic.joined(left.term, right.term)
        if left.number is not None and isinstance(right.term, str):
            return surely(Text(term, left.number, left.unit + right.term, pieces))
        return surely(Text(term, pieces=pieces))

    # -- texts, lists and optionals -----------------------------------------------------------------------------

    def _test(self, test: Callable[[Term, Term], Formula], left: Atom, right: Atom) -> Result:
        match left, right:
            case Text(), Text():
                return surely(Bool(test(left.term, right.term)))
            case ((Written() | Text()), (Written() | Text())):
                return surely(Bool(self.world.truth()))
            case (Opaque(), _) | (_, Opaque()):
                return self.some_truth()
            case _:
                return FAILURE

    def _contains(self, item: Atom, container: Atom) -> Result:
        match container, item:
            case Listed(), _:
                among = some(both(guard, self.equal_cases(((True, item),), cases)) for guard, cases in container.items)
                beyond = both(self.more(container.rest), self.world.truth())
                return surely(Bool(either(among, beyond)))
            case (Keyed(), Text(term=str())):
                return surely(Bool(container.entry(item.term)[0]))
            case ((Keyed() | Lazy() | Opaque()), _):
                return self.some_truth()
            case _:
                return FAILURE

    def _or_value(self, optional: Atom, otherwise: Atom) -> Result:
        if not isinstance(optional, Optional):
            return self.unknown([]) if isinstance(optional, Opaque) else FAILURE
        return merged([(optional.present, given(optional.cases)), (negation(optional.present), surely(otherwise))])

    def _or(self, optional: Atom, otherwise: Atom) -> Result:
        if not isinstance(optional, Optional) or not isinstance(otherwise, Optional):
            return self.unknown([])
        cases = (*guarded(optional.present, optional.cases), *guarded(negation(optional.present), otherwise.cases))
        return surely(Optional(either(optional.present, otherwise.present), cases))

    def size(self, atom: Atom) -> Result:
        """`size(x)`"""
        match atom:
            case Listed():
                return surely(Int(_size(atom)))
            case Text():
                return surely(Int(logic.length(atom.term)))
            case Written() | Keyed() | Lazy() | Opaque():
                number = self.world.number()
                self.world.fact(within(0, number, INT_MAX))
                return Result(self.world.truth() if isinstance(atom, Opaque) else False, ((True, Int(number)),))
            case _:
                return FAILURE

    def extreme(self, atom: Atom, *, most: bool) -> Result:
        """`list.max()` and `list.min()`, of numbers."""
        if not isinstance(atom, Listed) or (not logic.is_known(atom.rest) and not atom.items):
            return self.unknown([])
        numbers: list[tuple[Formula, Term]] = []
        more = self.more(atom.rest)
        for guard, cases in (*atom.items, *([atom.another()] if more is not False else [])):
            if len(cases) != 1 or not isinstance(cases[0][1], Int):
                return self.unknown([])
            numbers.append((guard, cases[0][1].term))
        found = self.world.number()
        self.world.fact(within(INT_MIN, found, INT_MAX))
        # It is one of them, and none that is known is beyond it.
        is_one = some(both(guard, same(number, found)) for guard, number in numbers)
        ends = every(
            logic.implies(guard, logic.before(*((number, found) if most else (found, number)), strictly=False))
            for guard, number in numbers[: len(atom.items)]
        )
        some_there = either(more, *(guard for guard, _ in numbers))
        self.world.fact(logic.implies(some_there, both(ends, is_one)))
        return Result(negation(some_there), ((True, Int(found)),))

    def written(self, atom: Atom) -> Result:
        """`string(x)`"""
        match atom:
            case Text() | Written():
                return surely(atom)
            case Bool():
                if logic.is_known(atom.term):
                    return surely(Text("true" if atom.term else "false"))
                return merged([(atom.term, surely(Text("true"))), (negation(atom.term), surely(Text("false")))])
            case Int():
                return surely(Text(logic.decimal(atom.term), atom.term))
            case Time() | Span():
                return self.some_text()
            case Opaque():
                return self.some_text(self.world.truth())
            case _:
                return FAILURE

    def number(self, atom: Atom) -> Result:
        """`int(x)`"""
        match atom:
            case Int():
                return surely(atom)
            case Time():
                floor = atom.term // 10**9 if logic.is_known(atom.term) else atom.term / 10**9
                return surely(Int(floor))
            case Span():
                return _fitting(Int(atom.term), INT_MIN, INT_MAX)
            case Text() | Written() | Opaque():
                number = self.world.number()
                self.world.fact(within(INT_MIN, number, INT_MAX))
                return Result(self.world.truth(), ((True, Int(number)),))
            case _:
                return FAILURE

    def opposite(self, atom: Atom) -> Result:
        """`!x`"""
        if isinstance(atom, Bool):
            return surely(Bool(negation(atom.term)))
        return self.some_truth() if isinstance(atom, Opaque) else FAILURE

    def negative(self, atom: Atom) -> Result:
        """`-x`"""
        if isinstance(atom, Int):
            return _fitting(Int(-atom.term, atom.degree), INT_MIN, INT_MAX)
        return self.unknown([]) if isinstance(atom, Opaque) else FAILURE

    def has_value(self, atom: Atom) -> Result:
        """`optional.hasValue()`"""
        if isinstance(atom, Optional):
            return surely(Bool(atom.present))
        return self.some_truth() if isinstance(atom, Opaque) else FAILURE

    def value(self, atom: Atom) -> Result:
        """`optional.value()`"""
        if isinstance(atom, Optional):
            return Result(negation(atom.present), atom.cases)
        return self.unknown([]) if isinstance(atom, Opaque) else FAILURE


_UNARY: Final[Mapping[str, Callable[[Functions, Atom], Result]]] = {
    "!_": Functions.opposite, "-_": Functions.negative, "size": Functions.size, "string": Functions.written,
    "int": Functions.number, "dyn": lambda _, atom: surely(atom),
    "timestamp": lambda functions, atom: timestamp(functions.world, atom),
    "duration": lambda functions, atom: duration(functions.world, atom),
    "max": lambda functions, atom: functions.extreme(atom, most=True),
    "min": lambda functions, atom: functions.extreme(atom, most=False),
    "hasValue": Functions.has_value, "value": Functions.value,
    "optional.of": lambda _, atom: surely(Optional(present=True, cases=((True, atom),))),
}  # fmt: skip


def _fitting(atom: Int | Time | Span, low: int, high: int) -> Result:
    if logic.is_known(atom.term) and not low <= atom.term <= high:
        return FAILURE  # and no number that grows without end
    return Result(negation(within(low, atom.term, high)), ((True, atom),))


def _size(listed: Listed) -> Term:
    return total([*(choice(guard, 1, 0) for guard, _ in listed.items), listed.rest])


def _is_text(result: Result) -> bool:
    return all(isinstance(atom, (Text, Written)) for _, atom in result.cases)


def _are_texts(result: Result) -> bool:
    """Whether it is a list of texts; the further elements of a list are like the known ones."""
    return all(
        isinstance(atom, Listed)
        and all(isinstance(one, (Text, Written)) for _, cases in atom.items for _, one in cases)
        for _, atom in result.cases
    )
