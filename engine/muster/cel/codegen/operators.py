"""Operators: a fast path for what is known of the operands, and a general helper for everything else.

CEL's operators differ from Python's in a few places only: `True == 1`, overflow, order between types. A fast path is
for operands for which both agree. The test in front of it is as cheap as possible for what is known.
"""

from collections.abc import Callable, Mapping

from muster.cel.codegen.source import Value, Writer
from muster.cel.values import INT_MAX, INT_MIN

_CLASSES = {"int": "int", "string": "str", "double": "float", "timestamp": "datetime", "bool": "bool", "list": "list"}
_ORDERS: Mapping[str, tuple[str, str]] = {
    "_<_": ("<", "less"),
    "_<=_": ("<=", "less_equal"),
    "_>_": (">", "greater"),
    "_>=_": (">=", "greater_equal"),
}
_ELAPSED: Mapping[str, str] = {
    "<": "elapsed_less",
    "<=": "elapsed_at_most",
    ">": "elapsed_more",
    ">=": "elapsed_at_least",
}
_MIRRORED = str.maketrans("<>", "><")
_SUMS: Mapping[str, tuple[str, str]] = {"_+_": ("+", "add"), "_-_": ("-", "subtract"), "_*_": ("*", "multiply")}
_EXACT = 2**53
_FREE_LENGTH = 1024
"""Comparing texts below this length is free."""


class Operators:
    """Writes the operators of one function."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def named(self, value: Value) -> tuple[str, str]:
        """Return (text that evaluates and names the value, its name). Use the text before the name."""
        if value.simple:
            return value.text, value.text
        name = self.writer.name()
        return f"({name} := {value.text})", name

    # -- equality -----------------------------------------------------------------------------------------------

    def equality(self, left: Value, right: Value, site: int, *, negated: bool) -> Value:
        """Write `==` and `!=`."""
        if left.is_constant and not right.is_constant:
            left, right = right, left
        fails = left.fails or right.fails
        text = self._literal_equality(left, right, negated=negated) if right.is_constant else None
        if text is None:
            text = self._general_equality(left, right, site, negated=negated)
        return Value(text, "bool", fails)

    def _literal_equality(self, left: Value, right: Value, *, negated: bool) -> str | None:
        """Return the comparison with a constant; None if Python's could differ."""
        constant = right.constant
        sign, identity = ("!=", "is not") if negated else ("==", "is")
        if constant is None or constant.__class__ is bool:
            return f"({left.text} {identity} {right.text})"
        if constant.__class__ is str and len(constant) < _FREE_LENGTH:
            return f"({left.text} {sign} {right.text})"
        if constant.__class__ is int and abs(constant) < _EXACT:
            if left.kind in ("int", "uint", "double") or constant not in (0, 1):
                return f"({left.text} {sign} {right.text})"
            first, name = self.named(left)
            boolean = "True" if constant else "False"
            if negated:
                return f"({first} != {constant} or {name} is {boolean})"
            return f"({first} == {constant} and {name} is not {boolean})"
        return None

    def _general_equality(self, left: Value, right: Value, site: int, *, negated: bool) -> str:
        sign, helper = ("!=", "different_at") if negated else ("==", "equal_at")
        if left.kind == right.kind and left.kind in ("int", "double", "bool"):
            return f"({left.text} {sign} {right.text})"
        if not (left.could_be("string") and right.could_be("string")):
            return f"{helper}(m, {site}, {left.text}, {right.text})"
        first, name = self.named(left)
        second, other = self.named(right)
        # Comparing long texts is paid for.
        test = f"{first}.__class__ is {second}.__class__ is str and len({name}) < {_FREE_LENGTH}"
        if left.could_be("int") and right.could_be("int"):
            test += f" or {name}.__class__ is {other}.__class__ is int"
        return f"({name} {sign} {other} if {test} else {helper}(m, {site}, {name}, {other}))"

    # -- order --------------------------------------------------------------------------------------------------

    def order(self, function: str, left: Value, right: Value, site: int) -> Value:
        """Write `<`, `<=`, `>`, `>=`."""
        sign, helper = _ORDERS[function]
        # If the other side is not a duration, the comparison fails anyway.
        if left.difference is not None and right.could_be("duration"):
            return self._elapsed(sign, left.difference, right, site)
        if right.difference is not None and left.could_be("duration"):
            return self._elapsed(sign.translate(_MIRRORED), right.difference, left, site)
        helper = f"{helper}(m, {site}, "
        if left.kind == right.kind and (left.kind in ("int", "double") or self._either_brief(left, right)):
            return Value(f"({left.text} {sign} {right.text})", "bool", left.fails or right.fails)
        kind = self._expected(left, right, ("int", "string", "double"))
        if kind is None:
            return Value(f"{helper}{left.text}, {right.text})", "bool")
        return Value(self._guarded(left, right, kind, sign, helper), "bool")

    @staticmethod
    def is_brief(value: Value) -> bool:
        """Return whether a value is a short constant text, so that comparing it with anything is cheap."""
        return value.is_constant and value.kind == "string" and len(value.constant) < _FREE_LENGTH

    def _either_brief(self, left: Value, right: Value) -> bool:
        return left.kind == right.kind == "string" and (self.is_brief(left) or self.is_brief(right))

    @staticmethod
    def _elapsed(sign: str, times: tuple[Value, Value], limit: Value, site: int) -> Value:
        """Compare the difference of two times with a duration, without computing it."""
        return Value(f"{_ELAPSED[sign]}(m, {site}, {times[0].text}, {times[1].text}, {limit.text})", "bool")

    @staticmethod
    def _expected(left: Value, right: Value, kinds: tuple[str, ...]) -> str | None:
        """Return the kind that both operands probably have: the first one if nothing is known."""
        for kind in kinds:
            if left.could_be(kind) and right.could_be(kind):
                return kind
        return None

    def _guarded(self, left: Value, right: Value, kind: str, sign: str, helper: str) -> str:
        """Return `a < b` behind a test of both classes, with the helper for everything else."""
        test, name, other = self._class_test(left, right, kind)
        if kind == "string" and not self._either_brief(left, right):
            test += f" and len({name}) < {_FREE_LENGTH}"
        return f"({name} {sign} {other} if {test} else {helper}{name}, {other}))"

    def _class_test(self, left: Value, right: Value, kind: str) -> tuple[str, str, str]:
        """Return (test that both have a kind, name of the left, name of the right). The test defines both names."""
        python = _CLASSES[kind]
        first, name = self.named(left)
        second, other = self.named(right)
        if left.simple and left.kind == kind:
            return f"{second}.__class__ is {python}", name, other
        if right.simple and right.kind == kind:
            return f"{first}.__class__ is {python}", name, other
        return f"{first}.__class__ is {second}.__class__ is {python}", name, other

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def arithmetic(self, function: str, left: Value, right: Value, site: int) -> Value:
        """Write `+`, `-`, `*`, `/`, `%`."""
        temporal = self._temporal(function, left, right, site)
        if temporal is not None:
            return temporal
        if function not in _SUMS:
            helper = "divide" if function == "_/_" else "modulo"
            return Value(f"{helper}({left.text}, {right.text})", self._result(left, right))
        sign, helper = _SUMS[function]
        prefix = "" if helper == "multiply" else f"m, {site}, "
        kind = self._expected(left, right, ("int", "double"))
        if kind == "double" and left.kind == right.kind == "double":
            return Value(f"({left.text} {sign} {right.text})", "double", left.fails or right.fails)
        if kind != "int":
            return Value(f"{helper}({prefix}{left.text}, {right.text})", self._result(left, right))
        return self._integers(left, right, sign, lambda a, b: f"{helper}({prefix}{a}, {b})")

    @staticmethod
    def _result(left: Value, right: Value) -> str:
        same = left.kind == right.kind and left.kind in ("int", "uint", "double", "string", "bytes", "list")
        return left.kind if same else ""

    def _integers(self, left: Value, right: Value, sign: str, helper: Callable[[str, str], str]) -> Value:
        """Write the operation on ints, checked for overflow."""
        total = self.writer.name()
        kind = "int" if left.kind == right.kind == "int" else ""
        if kind and left.simple and right.simple:
            test, name, other = "", left.text, right.text
        else:
            test, name, other = self._class_test(left, right, "int")
            test += " and "
        fits = f"{INT_MIN} <= ({total} := {name} {sign} {other}) <= {INT_MAX}"
        return Value(f"({total} if {test}{fits} else {helper(name, other)})", kind)

    @staticmethod
    def _temporal(function: str, left: Value, right: Value, site: int) -> Value | None:
        """Write arithmetic on values that are certainly times or durations."""
        helper, kind = {
            ("_-_", "timestamp", "timestamp"): ("difference", "duration"),
            ("_-_", "timestamp", "duration"): ("subtract_span", "timestamp"),
            ("_+_", "timestamp", "duration"): ("add_span", "timestamp"),
            ("_+_", "duration", "duration"): ("add_spans", "duration"),
            ("_-_", "duration", "duration"): ("subtract_spans", "duration"),
            # If the left operand is not a timestamp, the operation fails anyway.
            ("_-_", "", "timestamp"): ("difference", "duration"),
        }.get((function, left.kind, right.kind), ("", ""))
        times = (left, right) if helper == "difference" else None
        return Value(f"{helper}(m, {site}, {left.text}, {right.text})", kind, difference=times) if helper else None

    # -- membership ---------------------------------------------------------------------------------------------

    def membership(self, item: Value, container: Value, site: int) -> Value:
        """Write `in`."""
        text = item.kind == "string"
        if container.is_constant and isinstance(container.constant, list):
            if all(element.__class__ is str for element in container.constant):
                options = "".join(f"{element!a}, " for element in container.constant)
                return Value(f"({item.text} in ({options}))", "bool", item.fails)
        elif text and container.kind == "map":
            return Value(f"({item.text} in {container.text})", "bool", item.fails or container.fails)
        elif text and item.simple:
            first, name = self.named(container)
            test = f"{first}.__class__ is dict"
            helper = f"contains_at(m, {site}, {item.text}, {name})"
            return Value(f"({item.text} in {name} if {test} else {helper})", "bool")
        return Value(f"contains_at(m, {site}, {item.text}, {container.text})", "bool")
