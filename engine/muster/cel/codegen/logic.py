"""`&&`, `||`, `?:`, and the absorption of errors.

An operand that fails has the value FAILED, which becomes an error again only if no other operand decides. Since Python
3.11 a `try` costs nothing if nothing raises in it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from muster.cel.codegen.source import Value, Writer

Captured = tuple[list[str], Value, int]
"""The lines that must come before a part, the part itself, and the depth of the lines."""


class Logic:
    """Writes operators that do not always evaluate all operands."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    @contextmanager
    def absorbing(self, on_failure: str) -> Iterator[None]:
        """Open a block that runs `on_failure` if it fails."""
        with self.writer.block("try:"):
            yield
        self.writer.block_of("except BudgetExceeded:", "raise")
        self.writer.block_of("except ABSORBED:", on_failure)

    def place(self, part: Captured) -> str:
        """Write the lines of a part at this place, and return its text."""
        lines, value, depth = part
        self.writer.extend(lines, depth)
        return value.text

    def chain(self, parts: list[Captured], *, decisive: bool) -> Value:
        """Write `a && b && c`, which False decides, or `a || b || c`, which True decides."""
        fallible = [value.fails or value.kind != "bool" for _, value, _ in parts]
        if not any(lines for lines, _, _ in parts) and not any(fallible[:-1]) and parts[-1][1].kind == "bool":
            text = (" or " if decisive else " and ").join(value.text for _, value, _ in parts)
            return Value(f"({text})", "bool", fallible[-1])
        if len(parts) == 2:
            return self._pair(parts[0], parts[1], decisive=decisive)
        return self._sequence(parts, decisive=decisive)

    def _pair(self, first: Captured, second: Captured, *, decisive: bool) -> Value:
        writer = self.writer
        result = writer.name()
        neutral = str(not decisive)
        certain = first[1].kind == "bool" and not first[1].fails
        self._operand(first, result)
        if certain:
            with writer.block(f"if {'not ' if decisive else ''}{result}:"):
                writer.emit(f"{result} = {self.place(second)}")
                if second[1].kind != "bool":
                    writer.block_of(f"if {result} is not True and {result} is not False:", "raise OperationError")
            return Value(result, "bool", fails=False, simple=True)
        before = writer.name()
        with writer.block(f"if {result} is not {decisive}:"):
            writer.emit(f"{before} = {result}")
            writer.emit(f"{result} = {self.place(second)}")
            junk = "" if second[1].kind == "bool" else f" or {result} is not {neutral}"
            test = f"{before} is not {neutral}{junk}"
            writer.block_of(f"if ({test}) and {result} is not {decisive}:", "raise OperationError")
        return Value(result, "bool", fails=False, simple=True)

    def _operand(self, part: Captured, result: str) -> None:
        """Write `result = part`, absorbing its errors if it can fail."""
        if part[1].fails or part[0]:
            with self.absorbing(f"{result} = FAILED"):
                text = self.place(part)
                self.writer.emit(f"{result} = {text}")
        else:
            self.writer.emit(f"{result} = {part[1].text}")

    def _sequence(self, parts: list[Captured], *, decisive: bool) -> Value:
        """Write three or more operands one after the other, each behind a test that nothing has decided yet."""
        writer = self.writer
        result, state = writer.name(), writer.name()
        neutral = str(not decisive)
        writer.emit(f"{state} = {neutral}")
        for position, part in enumerate(parts):
            last = position == len(parts) - 1
            with writer.block(f"if {state} is not {decisive}:" if position else "if True:"):
                if last:
                    writer.emit(f"{result} = {self.place(part)}")
                else:
                    self._operand(part, result)
                writer.block_of(f"if {result} is not {neutral}:", f"{state} = {result}")
        writer.block_of(f"if {state} is not True and {state} is not False:", "raise OperationError")
        return Value(state, "bool", fails=False, simple=True)

    def choice(self, condition: Value, then: Captured, otherwise: Captured) -> Value:
        """Write `condition ? then : otherwise`."""
        writer = self.writer
        a, b = then[1], otherwise[1]
        kind = a.kind if a.kind == b.kind else ""
        certain = condition.kind == "bool"
        fails = condition.fails or a.fails or b.fails or not certain
        if not then[0] and not otherwise[0]:
            if certain:
                return Value(f"({a.text} if {condition.text} else {b.text})", kind, fails)
            name = writer.name()
            rest = f"{b.text} if {name} is False else fail()"
            return Value(f"({a.text} if ({name} := {condition.text}) is True else {rest})", kind, fails)
        result, tested = writer.name(), writer.name()
        writer.emit(f"{tested} = {condition.text}")
        with writer.block(f"if {tested} is True:"):
            writer.emit(f"{result} = {self.place(then)}")
        with writer.block(f"elif {tested} is False:"):
            writer.emit(f"{result} = {self.place(otherwise)}")
        writer.block_of("else:", "raise OperationError")
        return Value(result, kind, fails=False, simple=True)
