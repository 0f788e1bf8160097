"""Comprehensions as loops.

A loop pays for all its rounds at its start. `all` and `exists` absorb the errors of their rounds; the
other macros do not.
"""

from collections.abc import Callable, Mapping

from muster.cel.codegen.logic import Captured, Logic
from muster.cel.codegen.source import Value, Writer
from muster.cel.runtime import access
from muster.cel.types import DOUBLE, DURATION, TIMESTAMP, Type


class Macros:
    """Writes the loops of one function."""

    def __init__(self, writer: Writer, logic: Logic) -> None:
        self.writer = writer
        self.logic = logic

    def items(self, source: Value, *, two: bool) -> str:
        """Write the items of the loop to a name: a list, of pairs if there are two variables."""
        writer = self.writer
        name = writer.name()
        writer.emit(f"{name} = {source.text}")
        if two:
            writer.emit(f"{name} = pairs({name})")
        elif source.kind != "list":
            writer.block_of(f"if {name}.__class__ is not list:", f"{name} = keys({name})")
        return name

    def charge(self, items: str, weight: int, site: int) -> None:
        """Write the payment for all rounds."""
        self.writer.emit(f"m[0] -= len({items}) * {weight}")
        self.writer.block_of("if m[0] < 0:", f"over({site})")

    @staticmethod
    def read_kind(kind: Type | None) -> str:
        """Return the kind of a loop variable that is parsed as a time or duration."""
        if kind == TIMESTAMP:
            return "timestamp"
        return "duration" if kind == DURATION else ""

    def write(
        self, macro: str, items: str, names: list[str], kinds: tuple[Type | None, ...], parts: list[Captured]
    ) -> Value:
        """Write the loop, and return its value."""
        head = f"for {', '.join(names)} in {items}:"
        reads = [line for name, kind in zip(names, kinds, strict=True) if kind for line in self._read(name, kind)]
        if macro in ("all", "exists"):
            return self._quantifier(head, reads, parts[0], decisive=macro == "exists")
        if macro in ("exists_one", "existsOne"):
            return self._exists_one(head, reads, parts[0])
        if macro == "filter":
            return self._filter(head, reads, names[0], parts[0])
        return self._build(macro, head, reads, names, parts)

    def _read(self, name: str, kind: Type) -> list[str]:
        if kind == TIMESTAMP:
            return [f"{name} = TIMES[{name}]"]
        if kind == DURATION:
            return [f"{name} = SPANS[{name}]"]
        if kind == DOUBLE:
            return [f"if {name}.__class__ is int:", f"    {name} = as_double({name})"]
        reader = self.writer.constant(lambda meter, data: access.convert(meter, 0, data, kind, "the element"))
        return [f"{name} = {reader}(m, {name})"]

    def _quantifier(self, head: str, reads: list[str], part: Captured, *, decisive: bool) -> Value:
        writer = self.writer
        result = writer.name()
        writer.emit(f"{result} = {not decisive}")
        lines, value, _ = part
        fallible = bool(lines or reads or value.fails)
        with writer.block(head):
            if fallible:
                with self.logic.absorbing(f"{result} = FAILED"):
                    self._round(reads, part, result, decisive=decisive)
            else:
                self._round(reads, part, result, decisive=decisive)
        if fallible or value.kind != "bool":
            writer.block_of(f"if {result} is FAILED:", "raise OperationError")
        return Value(result, "bool", fails=False, simple=True)

    def _round(self, reads: list[str], part: Captured, result: str, *, decisive: bool) -> None:
        writer = self.writer
        for line in reads:
            writer.emit(line)
        text = self.logic.place(part)
        if part[1].kind == "bool":
            with writer.block(f"if {text}:" if decisive else f"if not {text}:"):
                writer.emit(f"{result} = {decisive}")
                writer.emit("break")
            return
        name = writer.name()
        writer.emit(f"{name} = {text}")
        with writer.block(f"if {name} is {decisive}:"):
            writer.emit(f"{result} = {decisive}")
            writer.emit("break")
        writer.block_of(f"if {name} is not {not decisive}:", f"{result} = FAILED")

    def _test(self, part: Captured) -> str:
        """Write the lines of a filter, and return its test, which fails if it is not a bool."""
        text = self.logic.place(part)
        if part[1].kind == "bool":
            return text
        name = self.writer.name()
        return f"(True if ({name} := {text}) is True else False if {name} is False else fail())"

    def _exists_one(self, head: str, reads: list[str], part: Captured) -> Value:
        count = self.writer.name()
        self._for_passing(head, reads, part, f"{count} = 0", f"{count} += 1")
        return Value(f"({count} == 1)", "bool", fails=False)

    def _filter(self, head: str, reads: list[str], name: str, part: Captured) -> Value:
        result = self.writer.name()
        self._for_passing(head, reads, part, f"{result} = []", f"{result}.append({name})")
        return Value(result, "list", fails=False, simple=True)

    def _for_passing(self, head: str, reads: list[str], part: Captured, before: str, body: str) -> None:
        """Write a loop that runs `body` for items that pass a test."""
        self.writer.emit(before)
        with self.writer.block(head):
            for line in reads:
                self.writer.emit(line)
            self.writer.block_of(f"if {self._test(part)}:", body)

    def _build(self, macro: str, head: str, reads: list[str], names: list[str], parts: list[Captured]) -> Value:
        writer = self.writer
        result = writer.name()
        writer.emit(f"{result} = []")
        add = _ADD[macro]
        with writer.block(head):
            for line in reads:
                writer.emit(line)
            if len(parts) == 2:
                with writer.block(f"if {self._test(parts[0])}:"):
                    writer.emit(add(result, names[0], self.logic.place(parts[1])))
            else:
                writer.emit(add(result, names[0], self.logic.place(parts[0])))
        if macro in ("map", "transformList"):
            return Value(result, "list", fails=False, simple=True)
        return Value(f"build_map({result})")


_ADD: Mapping[str, Callable[[str, str, str], str]] = {
    "map": lambda result, _key, text: f"{result}.append({text})",
    "transformList": lambda result, _key, text: f"{result}.append({text})",
    "transformMap": lambda result, key, text: f"{result}.append(({key}, {text}))",
    "transformMapEntry": lambda result, _key, text: f"{result}.extend(entries_of({text}))",
}
