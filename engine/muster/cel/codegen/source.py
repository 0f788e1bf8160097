"""Write source code: lines, blocks, names, constants, and what is known of values at compile time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Final

from muster.dataclass import dataclass

UNKNOWN: Final = ""
"""The kind of a value whose class is only known at run time."""


class _NotConstant:
    pass


NOT_CONSTANT: Final = _NotConstant()
"""The `constant` of a value that is not constant."""


@dataclass(frozen=True, slots=True)
class Value:
    """A Python expression that gives a CEL value.

    `kind` is its class if it is certain: `bool`, `int`, `uint`, `double`, `string`, `bytes`, `null`, `list`, `map`,
    `timestamp`, `duration`; `likely` is its class according to a schema, which data may contradict. `fails` is true if
    evaluating it may raise, `simple` if it is a name or a constant, which may be repeated. `difference` has both
    operands if the value is a difference of timestamps.
    """

    text: str
    kind: str = UNKNOWN
    fails: bool = True
    simple: bool = False
    constant: Any = NOT_CONSTANT
    likely: str = UNKNOWN
    difference: "tuple[Value, Value] | None" = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known at compile time."""
        return self.constant is not NOT_CONSTANT

    def could_be(self, kind: str) -> bool:
        """Return whether a fast path for this kind is worth it."""
        return kind in (self.kind or self.likely or kind,)


@dataclass(slots=True)
class Writer:
    """Collects the lines of one function, and the objects that it uses."""

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
        """Open a block with a head such as `if x:`."""
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
        """Collect the lines that are emitted inside, without adding them."""
        outer, self.lines = self.lines, []
        yield self.lines
        self.lines = outer

    @property
    def depth(self) -> int:
        """The depth of the current block."""
        return self._depth

    def name(self) -> str:
        """Return a new local name."""
        self._names += 1
        return f"t{self._names}"

    def constant(self, value: Any) -> str:
        """Return the name of an object inside the function."""
        for name, constant in self.constants.items():
            if constant is value:
                return name
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name
