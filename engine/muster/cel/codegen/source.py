"""Writing the source: lines, blocks, names, constants, and what is known of a value before it is there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

UNKNOWN: Final = ""
"""The kind of a value whose class is only known when it is there."""


class _Nothing:
    pass


NOTHING: Final = _Nothing()
"""Stands for: this value is no constant."""


@dataclass(frozen=True, slots=True)
class Value:
    """A Python expression that gives a CEL value.

    `kind` names its class where it is certain: `bool`, `int`, `uint`, `double`, `string`, `bytes`, `null`, `list`,
    `map`, `timestamp`, `duration`; `likely` where a schema says so, which data may contradict. `fails` says that
    evaluating it may raise; `simple`, that it is a name or a constant, free to be repeated. `difference` has
    the operands where the value is one timestamp less another.
    """

    text: str
    kind: str = UNKNOWN
    fails: bool = True
    simple: bool = False
    constant: Any = NOTHING
    likely: str = UNKNOWN
    difference: "tuple[Value, Value] | None" = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known already."""
        return self.constant is not NOTHING

    def could_be(self, kind: str) -> bool:
        """Return whether it is worth a fast path to expect this kind."""
        return kind in (self.kind or self.likely or kind,)


@dataclass(slots=True)
class Writer:
    """Collects the lines of one function, and the objects that it refers to."""

    lines: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    _depth: int = 1
    _names: int = 0

    def emit(self, line: str) -> None:
        """Add a line to the current block."""
        self.lines.append("    " * self._depth + line)

    def extend(self, lines: list[str], depth: int) -> None:
        """Add lines that were captured at `depth` to the current block."""
        shift = "    " * (self._depth - depth)
        self.lines += [shift + line for line in lines] if shift else lines

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Open a block under a head such as `if x:`."""
        self.emit(head)
        self._depth += 1
        yield
        self._depth -= 1

    def block_of(self, head: str, line: str) -> None:
        """Add a block of one line."""
        with self.block(head):
            self.emit(line)

    @contextmanager
    def captured(self) -> Iterator[list[str]]:
        """Collect the lines that are emitted inside, instead of adding them."""
        outer, self.lines = self.lines, []
        yield self.lines
        self.lines = outer

    @property
    def depth(self) -> int:
        """How deep the current block is."""
        return self._depth

    def name(self) -> str:
        """Return a new local name."""
        self._names += 1
        return f"t{self._names}"

    def constant(self, value: Any) -> str:
        """Return the name under which the function finds an object."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name
