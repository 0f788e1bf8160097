"""Semantic versions, and the comparisons that versions and quantities share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from muster.cel.errors import EvaluationError
from muster.cel.library.quantity import Quantity
from muster.cel.library.registry import Function, linear, plain
from muster.cel.runtime.describe import no_overload, shown

_PART = r"(0|[1-9][0-9]{0,18})"
_WORD = r"(?:0|[1-9][0-9]{0,18}|[0-9]{0,64}[A-Za-z-][0-9A-Za-z-]{0,64})"
_VERSION = re.compile(
    rf"{_PART}\.{_PART}\.{_PART}(?:-({_WORD}(?:\.{_WORD}){{0,20}}))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+){{0,20}}))?",
    re.ASCII,
)
_LOOSE = re.compile(r"v?([0-9]{1,19})(?:\.([0-9]{1,19}))?(?:\.([0-9]{1,19}))?([-+].{0,200})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Semver:
    """CEL's `kubernetes.Semver`. Build metadata has no part in comparisons, and none in equality."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    cel_type: ClassVar[str] = "kubernetes.Semver"

    @property
    def rank(self) -> tuple[Any, ...]:
        """What versions are ordered by: a release is after its prereleases, numbers are before words."""
        words = tuple((0, int(word), "") if word.isdecimal() else (1, 0, word) for word in self.prerelease)
        return (self.major, self.minor, self.patch, not words, words)


def parse(text: str, *, normalize: bool = False) -> Semver:
    """Return the version that a text names; `normalize` lets `v1.2` and `01.2.3` pass. Raises EvaluationError."""
    match = _VERSION.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        raise EvaluationError(f"{shown(text)} is not a semantic version such as 1.2.3")
    major, minor, patch, prerelease, _ = match.groups()
    return Semver(int(major), int(minor), int(patch), tuple(prerelease.split(".")) if prerelease else ())


def _normalized(text: str) -> str:
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    numbers = ".".join(str(int(part or "0")) for part in match.groups()[:3])
    return numbers + (match[4] or "")


def semver(text: Any, *normalize: Any) -> Semver:
    """`semver(text)`, `semver(text, normalize)`"""
    if text.__class__ is str and all(flag.__class__ is bool for flag in normalize):
        return parse(text, normalize=any(normalize))
    raise no_overload("semver", text, *normalize)


def is_semver(text: Any, *normalize: Any) -> bool:
    """`isSemver(text)`, `isSemver(text, normalize)`"""
    try:
        semver(text, *normalize)
    except EvaluationError:
        if text.__class__ is str and all(flag.__class__ is bool for flag in normalize):
            return False
        raise
    return True


def _part(name: str) -> Function:
    def call(value: Any) -> int:
        if isinstance(value, Semver):
            return int(getattr(value, name))
        raise no_overload(name, value)

    return plain(call, 1)


def compare_to(left: Any, right: Any) -> int:
    """`a.compareTo(b)` of two versions or two quantities: -1, 0 or 1."""
    return _compare("compareTo", left, right)


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


FUNCTIONS: Mapping[str, Function] = {
    "semver": linear(semver, 1, 2, weight=100),
    "isSemver": linear(is_semver, 1, 2, weight=100),
}
METHODS: Mapping[str, Function] = {
    "major": _part("major"),
    "minor": _part("minor"),
    "patch": _part("patch"),
    "compareTo": plain(compare_to, 2, weight=60),
    "isGreaterThan": plain(lambda left, right: _compare("isGreaterThan", left, right) > 0, 2, weight=60),
    "isLessThan": plain(lambda left, right: _compare("isLessThan", left, right) < 0, 2, weight=60),
}
