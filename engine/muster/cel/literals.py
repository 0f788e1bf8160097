"""The values of CEL literals: numbers in range, strings and bytes with their escapes.

The grammar accepts anything after a backslash. This module checks it, so that each error has its own place.
"""

from muster.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt
from muster.regex import Regex, RegexMatch

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = Regex(
    r"\\(?:(?P<simple>[abfnrtv\\'\"`?])|[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<u4>[0-9a-fA-F]{4})"
    r"|U(?P<u8>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2})|(?P<bad>[\s\S]?))"
)


class LiteralError(ValueError):
    """The literal has no value; `at` is the offset of the mistake within the token."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def integer(text: str) -> int:
    """Return the int64 of a decimal or hexadecimal literal with or without sign."""
    return _ranged(text, INT_MIN, INT_MAX, "int")


def unsigned(text: str) -> UInt:
    """Return the uint64 of a literal with the suffix `u`."""
    return UInt(_ranged(text[:-1], 0, UINT_MAX, "uint"))


def _ranged(text: str, low: int, high: int, kind: str) -> int:
    # Python refuses to parse very long numbers; more than 40 digits are out of range anyway.
    digits = text.lstrip("-")
    hexadecimal = digits[:2] in ("0x", "0X")
    significant = digits[2 if hexadecimal else 0 :].lstrip("0") or "0"
    value = int(significant[:41], 16 if hexadecimal else 10) * (-1 if text.startswith("-") else 1)
    if not low <= value <= high or len(significant) > 40:
        raise LiteralError(f"{shortened(text)} does not fit into {kind}")
    return value


def double(text: str) -> float:
    """Return the double of a floating point literal; infinite if out of range, as in IEEE 754."""
    return float(text)


def string(token: str) -> str:
    """Return the text of a string token with its quotes and prefix."""
    body, start, raw = _body(token)
    if raw or "\\" not in body:
        return body

    def replace(match: RegexMatch[str]) -> str:
        code = _escape(match, start)
        if isinstance(code, str):
            return code
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise LiteralError(f"{match[0]} is not a Unicode character", start + match.start())
        return chr(code)

    return _ESCAPE.replace(body, replace)


def bytes_(token: str) -> bytes:
    """Return the octets of a bytes token: text as UTF-8, `\\x` and octal escapes as single octets."""
    body, start, raw = _body(token[1:])
    if raw:
        return body.encode()
    parts, position = bytearray(), 0
    for match in _ESCAPE.finditer(body):
        parts += body[position : match.start()].encode()
        position = match.end()
        code = _escape(match, start + 1)
        if isinstance(code, str):
            parts += code.encode()
        elif match["hex"] or match["octal"]:
            parts.append(code)
        else:
            raise LiteralError(f"{match[0]} is a character, not an octet", start + 1 + match.start())
    return bytes(parts + body[position:].encode())


def _body(token: str) -> tuple[str, int, bool]:
    raw = token[0] in "rR"
    start = 1 if raw else 0
    quotes = 3 if token[start : start + 3] in ('"""', "'''") and len(token) >= start + 6 else 1
    return token[start + quotes : -quotes], start + quotes, raw


def _escape(match: RegexMatch[str], start: int) -> str | int:
    if match["simple"]:
        return _SIMPLE[match["simple"]]
    for group in ("hex", "u4", "u8"):
        if match[group]:
            return int(match[group], 16)
    if match["octal"]:
        return int(match["octal"], 8)
    raise LiteralError(f"{shortened(match[0])} is not an escape sequence", start + match.start())


def shortened(text: str) -> str:
    """Return a text in at most 40 characters."""
    return text if len(text) <= 40 else f"{text[:37]}..."
