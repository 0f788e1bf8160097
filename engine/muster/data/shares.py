"""Percentages in specs: `25%`, `12.5%`."""

from fractions import Fraction

_MOST_DIGITS = 18  # before and behind the point: what a float or an int64 carries


def parse_share(text: str) -> Fraction | None:
    """Return a percentage as a fraction of one; None for any other text."""
    number = text.removesuffix("%")
    whole, point, fraction = number.removeprefix("-").partition(".")
    sound = number != text and _are_digits(whole) and (_are_digits(fraction) if point else True)
    return Fraction(number) / 100 if sound else None


def _are_digits(text: str) -> bool:
    return 0 < len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal()
