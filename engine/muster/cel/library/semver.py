"""Semantic versions, and the comparisons that versions and quantities share."""

from collections.abc import Callable
from string import ascii_letters, digits
from typing import Any, ClassVar

from muster.cel.errors import EvaluationError
from muster.cel.library.quantity import Quantity
from muster.cel.library.registry import Library
from muster.cel.runtime.describe import no_overload, shown
from muster.dataclass import dataclass

LIBRARY = Library("versions, and comparisons of versions and of quantities")

_MOST_DIGITS, _MOST_LETTERS, _MOST_WORDS, _MOST_TAIL = 19, 64, 21, 200
_IN_WORDS = f"{digits}{ascii_letters}-"


@dataclass(frozen=True, slots=True)
class Semver:
    """CEL's `kubernetes.Semver`. Comparisons and equality ignore build metadata."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    cel_type: ClassVar[str] = "kubernetes.Semver"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        prerelease = f"-{'.'.join(self.prerelease)}" if self.prerelease else ""
        return f"semver('{self.major}.{self.minor}.{self.patch}{prerelease}')"

    @property
    def rank(self) -> tuple[Any, ...]:
        """The sort key of versions: prereleases come before their release, numbers before words."""
        identifiers = tuple(
            (0, int(identifier), "") if identifier.isdecimal() else (1, 0, identifier) for identifier in self.prerelease
        )
        return (self.major, self.minor, self.patch, not identifiers, identifiers)


def parse(text: str, *, normalize: bool = False) -> Semver:
    """Return the version of a text; `normalize` accepts `v1.2` and `01.2.3`. Raises EvaluationError."""
    version, plus, build = (_normalized(text) if normalize else text).partition("+")
    core, dash, before = version.partition("-")
    numbers = core.split(".", 3)
    prerelease, metadata = before.split(".", _MOST_WORDS) if dash else [], build.split(".", _MOST_WORDS) if plus else []
    sound = len(numbers) == 3 and all(map(_is_number, numbers)) and max(len(prerelease), len(metadata)) <= _MOST_WORDS
    if (
        not sound
        or not all(map(_is_word, prerelease))
        or not all(part and not part.strip(_IN_WORDS) for part in metadata)
    ):
        raise EvaluationError(f"{shown(text)} is not a semantic version such as 1.2.3")
    major, minor, patch = map(int, numbers)
    return Semver(major, minor, patch, tuple(prerelease))


def _is_number(text: str) -> bool:
    return _are_digits(text) and (text == "0" or text[0] != "0")


def _are_digits(text: str) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal()


def _is_word(text: str) -> bool:
    """Is this an identifier of a prerelease: a number, or at most 64 digits and then at most 65 others?"""
    rest = text.lstrip(digits)
    short = len(text) - len(rest) <= _MOST_LETTERS >= len(rest) - 1
    return _is_number(text) or (rest != "" and short and not text.strip(_IN_WORDS))


def _normalized(text: str) -> str:
    rest = text.removeprefix("v")
    core = rest.replace("+", "-").partition("-")[0]
    parts, tail = core.split(".", 3), rest[len(core) :]
    if len(parts) > 3 or not all(map(_are_digits, parts)) or len(tail) > _MOST_TAIL + 1 or "\n" in tail:
        return text
    return ".".join(str(int(part)) for part in [*parts, "0", "0"][:3]) + tail


@LIBRARY.linear(
    "string_to_semver       semver  (string) -> kubernetes.Semver",
    "string_bool_to_semver  semver  (string, bool) -> kubernetes.Semver",
    weight=100,
)
def semver(text: Any, *normalize: Any) -> Semver:
    """`semver(text)`, `semver(text, normalize)`: parses a text such as `1.2.3`; with normalize, also `v1.2`."""
    if text.__class__ is str and all(flag.__class__ is bool for flag in normalize):
        return parse(text, normalize=any(normalize))
    raise no_overload("semver", text, *normalize)


@LIBRARY.linear(
    "is_semver_string       isSemver  (string) -> bool",
    "is_semver_string_bool  isSemver  (string, bool) -> bool",
    weight=100,
)
def is_semver(text: Any, *normalize: Any) -> bool:
    """`isSemver(text)`, `isSemver(text, normalize)`: whether the text is a version."""
    try:
        semver(text, *normalize)
    except EvaluationError:
        if text.__class__ is str and all(flag.__class__ is bool for flag in normalize):
            return False
        raise
    return True


def _number(name: str) -> None:
    def call(value: Any) -> int:
        if isinstance(value, Semver):
            return int(getattr(value, name))
        raise no_overload(name, value)

    doc = f"`version.{name}()`: the {name} number."
    LIBRARY.plain(f"semver_{name} {name} kubernetes.Semver.() -> int", weight=4, doc=doc)(call)


def _compare(function: str, left: Any, right: Any) -> int:
    a: Any
    b: Any
    if isinstance(left, Semver) and isinstance(right, Semver):
        a, b = left.rank, right.rank
    elif isinstance(left, Quantity) and isinstance(right, Quantity):
        a, b = left.amount, right.amount
    else:
        raise no_overload(function, left, right)
    return int(a > b) - int(a < b)


def _comparison(name: str, id_: str, result: str, doc: str, outcome: Callable[[int], Any]) -> None:
    types = (("quantity", "kubernetes.Quantity"), ("semver", "kubernetes.Semver"))
    lines = (f"{type_prefix}_{id_} {name} {type_}.({type_}) -> {result}" for type_prefix, type_ in types)
    LIBRARY.plain(*lines, weight=60, doc=f"`a.{name}(b)`: {doc}")(lambda a, b: outcome(_compare(name, a, b)))


_number("major")
_number("minor")
_number("patch")
_comparison("compareTo", "compare_to", "int", "-1, 0 or 1.", lambda order: order)
_comparison("isGreaterThan", "is_greater_than", "bool", "whether the first is greater.", lambda order: order > 0)
_comparison("isLessThan", "is_less_than", "bool", "whether the first is less.", lambda order: order < 0)
