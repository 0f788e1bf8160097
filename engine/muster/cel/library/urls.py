"""URLs, as Kubernetes' library reads them: absolute ones, or absolute paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, linear, metered, plain
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, shown


@dataclass(frozen=True, slots=True)
class URL:
    """CEL's `kubernetes.URL`."""

    text: str
    parts: SplitResult
    cel_type: ClassVar[str] = "kubernetes.URL"


def parse(text: str) -> URL:
    """Return the URL that a text spells. Raises EvaluationError."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # a port that is no number shows only when it is asked for
    except ValueError as error:
        raise EvaluationError(f"{shown(text)} is not a URL: {error}") from None
    plain_text = not any(character.isspace() or ord(character) < 32 for character in text)
    if not plain_text or not (text.startswith("/") or (parts.scheme and (parts.netloc or parts.path))):
        raise EvaluationError(f"{shown(text)} is not a URL such as https://example.com/path")
    return URL(text, parts)


def url(text: Any) -> URL:
    """`url(text)`"""
    if text.__class__ is str:
        return parse(text)
    raise no_overload("url", text)


def is_url(text: Any) -> bool:
    """`isURL(text)`"""
    if text.__class__ is not str:
        raise no_overload("isURL", text)
    try:
        parse(text)
    except EvaluationError:
        return False
    return True


def _parts(function: str, value: Any) -> SplitResult:
    if isinstance(value, URL):
        return value.parts
    raise no_overload(function, value)


def host(value: Any) -> str:
    """`url.getHost()`: name and port."""
    return _parts("getHost", value).netloc.rpartition("@")[2]


def hostname(value: Any) -> str:
    """`url.getHostname()`: the name, without brackets."""
    text = host(value)
    if text.startswith("["):
        return text[1 : text.find("]")]
    return text.partition(":")[0]


def port(value: Any) -> str:
    """`url.getPort()`: '' where there is none."""
    number = _parts("getPort", value).port
    return "" if number is None else str(number)


def path(meter: Meter, site: int, value: Any) -> str:
    """`url.getEscapedPath()`"""
    text = _parts("getEscapedPath", value).path
    spend(meter, site, len(text))
    return quote(text, safe="/%:@!$&'()*+,;=~-._")


def query(meter: Meter, site: int, value: Any) -> dict[str, list[str]]:
    """`url.getQuery()`: the values of each parameter."""
    text = _parts("getQuery", value).query
    spend(meter, site, len(text) + PARAMETER * (1 + text.count("&")))
    return parse_qs(text, keep_blank_values=True)


PARAMETER = 40
"""Units of one parameter of a query."""

FUNCTIONS: Mapping[str, Function] = {
    "url": linear(url, 1, weight=100, stride=1),
    "isURL": linear(is_url, 1, weight=100, stride=1),
}
METHODS: Mapping[str, Function] = {
    "getScheme": plain(lambda value: _parts("getScheme", value).scheme, 1),
    "getHost": plain(host, 1, weight=8),
    "getHostname": plain(hostname, 1, weight=12),
    "getPort": plain(port, 1, weight=30),
    "getEscapedPath": metered(path, 1, weight=40),
    "getQuery": metered(query, 1, weight=40),
}
