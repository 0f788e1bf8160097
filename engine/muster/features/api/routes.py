"""The API of a watch, below `/api/v1/`: GET requests of `openapi.json`, which schemathesis holds it to.

An answer is of the commit that the last run decided, and of its instant; the headers `Muster-Commit` and `Muster-Now`
say which. It is made once for each, and has an ETag. One answer is made at a time, as each may evaluate the fleet:
while several requests wait, others are refused.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final
from urllib.parse import parse_qsl, unquote

from muster.cli.documents import json_text, list_document
from muster.cli.listening import READER
from muster.cli.reading import FleetReading
from muster.data.names import is_subdomain
from muster.data.times import format_time, try_span
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.api.answers import MAX_SPAN, Answers, NoSuchObject, NotAnswerable
from muster.git.agents.listing import AgentRefs
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.snapshot import CommitSnapshot
from muster.net.serving.http11 import HttpRequest, Response, response

PREFIX: Final = "/api/v1/"
DOCUMENT: Final = "openapi.json"
_JSON: Final = "application/json"
#: Objects of a page: by default, and at most.
_PAGE, _LONGEST_PAGE = 500, 5000
#: Requests that wait or are answered; characters of a parameter; answers and their bytes that are kept.
_MOST_AT_ONCE, _LONGEST_VALUE, _MOST_KEPT, _MOST_BYTES = 8, 1024, 64, 32 << 20
_OBJECT: Final = ("namespace",)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last run decided about: its commit, agents' refs and instant."""

    repository: Repository
    commit: str
    heard: AgentRefs
    now: datetime


class BadRequest(ValueError):  # noqa: N818 - no error of muster's
    """A parameter is malformed."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked: the answer of a route to its names and parameters."""

    names: tuple[str, ...]
    values: Mapping[str, str]

    def span(self, name: str, default: timedelta) -> timedelta:
        text = self.values.get(name, "")
        span = try_span(text) if text else default
        if span is None or not timedelta() < span <= timedelta(days=3650):
            raise BadRequest(f"{name}: {text!r} is not a duration such as 90m or 8h")
        return span

    @property
    def named(self) -> tuple[str, str, str]:
        """Kind, name and namespace of an object."""
        kind, name = self.names
        return kind, name, self.values.get("namespace", "")


def _objects(answers: Answers, asked: _Question, commit: str) -> Tree:
    values = asked.values
    limit, first = _PAGE, 0
    if (text := values.get("limit")) is not None:
        if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= _LONGEST_PAGE):
            raise BadRequest(f"limit: {text!r} is not a number from 1 to {_LONGEST_PAGE}")
        limit = int(text)
    if (text := values.get("continue")) is not None:
        of, _, at = text.partition(":")
        if not (at.isascii() and at.isdigit() and len(at) < 10):
            raise BadRequest("continue: not of an earlier page")
        if of != commit:
            raise _Gone
        first = int(at)
    namespace = values.get("namespace") or None
    objects = answers.objects(asked.names[0], namespace, values.get("selector"), values.get("fieldSelector"))
    rest = len(objects) - first - limit
    more: dict[str, Tree] = {"continue": f"{commit}:{first + limit}", "remainingItemCount": rest} if rest > 0 else {}
    return list_document(objects[first : first + limit], **more)


class _Gone(Exception):  # noqa: N818 - no error: a newer commit is answered about
    """The page is of an earlier commit."""


def _history(answers: Answers, asked: _Question, _commit: str) -> Tree:
    return answers.history(*asked.named, asked.span("since", MAX_SPAN))


#: By the first word and the number of names after it: the parameters, and the answer.
_ROUTES: Final[Mapping[tuple[str, int], tuple[tuple[str, ...], Callable[[Answers, _Question, str], Tree]]]] = {
    ("objects", 1): (("namespace", "selector", "fieldSelector", "limit", "continue"), _objects),
    ("objects", 2): (_OBJECT, lambda answers, asked, _: answers.object(*asked.named)),
    ("explain", 2): (
        (*_OBJECT, "field"),
        lambda answers, asked, _: answers.explanation(*asked.named, asked.values.get("field", "")),
    ),
    ("history", 2): ((*_OBJECT, "since"), _history),
    ("forecast", 0): (("for",), lambda answers, asked, _: answers.forecast(asked.span("for", timedelta(hours=1)))),
    ("plan", 0): ((), lambda answers, _asked, _: answers.plan()),
}


class FleetApi:
    """Answers requests about what `seen` returns; None before the first run."""

    def __init__(self, seen: Callable[[], Seen | None], headers: Mapping[str, str]) -> None:
        self._seen, self._headers = seen, headers
        self._lock, self._room = Lock(), BoundedSemaphore(_MOST_AT_ONCE)
        self._kept = OrderedDict[tuple[str, str, str], bytes]()

    def answer(self, request: HttpRequest) -> Response:
        """Answer a GET or HEAD request below `PREFIX`."""
        rest = request.path.removeprefix(PREFIX)
        if rest == DOCUMENT:
            return self._cacheable(request, document(), {})
        try:
            question, answered = _route(rest, request.query)
        except BadRequest as error:
            return self._problem(HTTPStatus.BAD_REQUEST, str(error))
        if answered is None:
            return self._problem(HTTPStatus.NOT_FOUND, "no such path; see openapi.json")
        if (seen := self._seen()) is None:
            return self._problem(HTTPStatus.SERVICE_UNAVAILABLE, "no run has completed yet", Retry_After="1")
        if not self._room.acquire(blocking=False):
            return self._problem(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests wait", Retry_After="5")
        about = {"Muster_Commit": seen.commit, "Muster_Now": format_time(seen.now)}
        try:
            with self._lock:
                key = (seen.commit, about["Muster_Now"], request.target)
                body = self._kept.get(key)
                if body is None:
                    body = json_text(answered(_answers(seen), question, seen.commit)).encode("utf-8", "replace")
                    self._keep(key, body)
        except (NotAnswerable, BadRequest) as error:
            return self._problem(HTTPStatus.BAD_REQUEST, str(error))
        except NoSuchObject as error:
            return self._problem(HTTPStatus.NOT_FOUND, str(error.args[0]))
        except _Gone:
            return self._problem(HTTPStatus.GONE, "continue: the page is of an earlier commit; begin again")
        except RepositoryError as error:
            return self._problem(HTTPStatus.SERVICE_UNAVAILABLE, error.message, Retry_After="5")
        finally:
            self._room.release()
        return self._cacheable(request, body, about)

    def _keep(self, key: tuple[str, str, str], body: bytes) -> None:
        self._kept[key] = body
        while len(self._kept) > _MOST_KEPT or sum(map(len, self._kept.values())) > _MOST_BYTES:
            self._kept.popitem(last=False)

    def _cacheable(self, request: HttpRequest, body: bytes, about: Mapping[str, str]) -> Response:
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache_Control": "private, no-cache", **about, **self._headers}
        tags = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if tag in tags or "*" in tags:
            return response(HTTPStatus.NOT_MODIFIED, b"", **headers)
        return response(HTTPStatus.OK, body, Content_Type=_JSON, **headers)

    def _problem(self, status: HTTPStatus, message: str, **headers: str) -> Response:
        body = json_text({"error": message[:2000]}).encode("utf-8", "replace")
        return response(status, body, Content_Type=_JSON, Cache_Control="no-store", **self._headers, **headers)


def document() -> bytes:
    """Return the OpenAPI document."""
    return Path(__file__).with_name(DOCUMENT).read_bytes()


def _answers(seen: Seen) -> Answers:
    snapshot = CommitSnapshot(seen.repository, seen.commit, seen.heard.refs, seen.heard.agents)
    freshness = replace(READER, ask=False)
    return Answers(FleetReading(snapshot, freshness, seen.repository, seen.commit, seen.heard), seen.now)


def _route(rest: str, query: str) -> tuple[_Question, Callable[[Answers, _Question, str], Tree] | None]:
    """What a path and a query ask. BadRequest for text that is not UTF-8, and for parameters that there are not."""
    try:
        first, *names = (unquote(part, errors="strict") for part in rest.split("/"))
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict", max_num_fields=16)
    except ValueError as error:
        raise BadRequest("the path or the query is malformed") from error
    parameters, answered = _ROUTES.get((first, len(names)), ((), None))
    values = dict(pairs)
    if answered is not None:
        if wrong := [name for name in values if name not in parameters]:
            raise BadRequest(f"there is no parameter {wrong[0]!r}")
        if len(values) < len(pairs) or "" in values.values():
            raise BadRequest("a parameter is there twice, or empty")
        if not is_subdomain(values.get("namespace", "x")):
            raise BadRequest("namespace: not a name")
    if any(len(text) > _LONGEST_VALUE or "\0" in text for text in (*names, *values.values())):
        raise BadRequest("a name or parameter is too long, or has a NUL in it")
    return _Question(tuple(names), values), answered
