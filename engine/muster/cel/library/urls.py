"""URLs, as Kubernetes' library reads them: absolute ones, or absolute paths."""

from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload, shown
from muster.cel.types import STRING
from muster.dataclass import dataclass

LIBRARY = Library("URLs")


@dataclass(frozen=True, slots=True)
class URL:
    """CEL's `kubernetes.URL`."""

    text: str
    parts: SplitResult
    cel_type: ClassVar[str] = "kubernetes.URL"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        return f"url({self.text!r})"


def parse(text: str) -> URL:
    """Return the URL of a text. Raises EvaluationError."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # only this raises for a port that is not a number
    except ValueError as error:
        raise EvaluationError(f"{shown(text)} is not a URL: {error}") from None
    plain_text = not any(character.isspace() or ord(character) < 32 for character in text)
    if not plain_text or not (text.startswith("/") or (parts.scheme and (parts.netloc or parts.path))):
        raise EvaluationError(f"{shown(text)} is not a URL such as https://example.com/path")
    return URL(text, parts)


@LIBRARY.linear("string_to_url  url  (string) -> kubernetes.URL", weight=100, stride=1)
def url(text: Any) -> URL:
    """`url(text)`: parses a text such as `https://example.com/path`."""
    if text.__class__ is str:
        return parse(text)
    raise no_overload("url", text)


@LIBRARY.linear("is_url_string  isURL  (string) -> bool", weight=100, stride=1)
def is_url(text: Any) -> bool:
    """`isURL(text)`: whether the text is a URL."""
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


@LIBRARY.plain("url_get_scheme  getScheme  kubernetes.URL.() -> string", weight=4)
def scheme(value: Any) -> str:
    """`url.getScheme()`: the scheme, such as `https`."""
    return _parts("getScheme", value).scheme


@LIBRARY.plain("url_get_host  getHost  kubernetes.URL.() -> string", weight=8)
def host(value: Any) -> str:
    """`url.getHost()`: the host with its port."""
    return _parts("getHost", value).netloc.rpartition("@")[2]


@LIBRARY.plain("url_get_hostname  getHostname  kubernetes.URL.() -> string", weight=12)
def hostname(value: Any) -> str:
    """`url.getHostname()`: the host without port and brackets."""
    text = host(value)
    if text.startswith("["):
        return text[1 : text.find("]")]
    return text.partition(":")[0]


@LIBRARY.plain("url_get_port  getPort  kubernetes.URL.() -> string", weight=30)
def port(value: Any) -> str:
    """`url.getPort()`: the port; '' if there is none."""
    number = _parts("getPort", value).port
    return "" if number is None else str(number)


@LIBRARY.metered(
    "url_get_escaped_path  getEscapedPath  kubernetes.URL.() -> string",
    weight=40,
    grows=lambda args: args.unbounded(STRING).length().or_nothing,
)
def path(meter: Meter, site: int, value: Any) -> str:
    """`url.getEscapedPath()`: the path, escaped."""
    text = _parts("getEscapedPath", value).path
    spend(meter, site, len(text))
    return quote(text, safe="/%:@!$&'()*+,;=~-._")


PARAMETER = 40
"""Units of one parameter of a query."""


@LIBRARY.metered(
    "url_get_query  getQuery  kubernetes.URL.() -> map(string,list(string))",
    weight=40,
    grows=lambda args: (args.unbounded(STRING).length() * (1 + PARAMETER) + PARAMETER).or_nothing,
)
def query(meter: Meter, site: int, value: Any) -> dict[str, list[str]]:
    """`url.getQuery()`: the values of each parameter."""
    text = _parts("getQuery", value).query
    spend(meter, site, len(text) + PARAMETER * (1 + text.count("&")))
    return parse_qs(text, keep_blank_values=True)
