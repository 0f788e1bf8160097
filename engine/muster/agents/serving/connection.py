"""One connection: requests are read and answered one after the other, each within a time limit."""

import asyncio
import traceback
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import Final, Protocol, TypeVar

from muster.agents.serving.messages import HeadError, HttpRequest, Response, read_head, response

#: Time limits for the TLS handshake and for each head (from the connection or the last response on), for each body, and
#: for each response.
HEAD_SECONDS: Final = 15.0
BODY_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 60.0
#: The longest head.
HEAD_BYTES: Final = 16 << 10
#: After the last response, the server still receives for this long, and this much: a client whose connection is reset
#: while it sends may never read the response.
_LAST_SECONDS: Final = 1.0
_LAST_BYTES: Final = 1 << 20
_END: Final = b"\r\n\r\n"

T = TypeVar("T")


class HttpSite(Protocol):
    """What a server serves."""

    def probe(self, request: HttpRequest) -> Response | None:
        """Answer a health probe; None for any other request. Must return at once."""

    def admitted(self, request: HttpRequest) -> Response | int:
        """Return the accepted length of the body, in bytes, or a refusal. Called before any of the body is read."""

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer an admitted request."""


class RequestQueue(Protocol):
    """Where requests wait to be answered."""

    @property
    def site(self) -> HttpSite:
        """What the server serves."""

    def is_full(self) -> bool:
        """Is the number of requests in progress at its limit?"""

    async def ask(self, call: Callable[[], T]) -> T:
        """Run a call that may take a while, and return its result."""


class Connection:
    """One connection from an `address`. It is `idle` while it waits for the client, since the instant `since`."""

    def __init__(self, desk: RequestQueue, address: str) -> None:
        self.address, self.idle, self.since = address, True, asyncio.get_running_loop().time()
        self._desk = desk

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer requests until either side ends the connection. OSError or EOFError if the client is gone, or too
        slow."""
        writer.transport.set_write_buffer_limits(high=0)  # `drain` returns once everything is sent
        tls = writer.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        while await self._exchange(reader, writer, certificate):
            self.idle, self.since = True, asyncio.get_running_loop().time()
        self.idle = True
        with suppress(OSError):
            async with asyncio.timeout(_LAST_SECONDS):
                if writer.can_write_eof():
                    writer.write_eof()
                left = _LAST_BYTES
                while left > 0 and (piece := await reader.read(HEAD_BYTES)):
                    left -= len(piece)

    async def _exchange(self, reader: StreamReader, writer: StreamWriter, certificate: bytes | None) -> bool:
        """Read one request and answer it. Returns False after the last one: after every error, and after every body
        that was not read, because it would be taken for the next request."""
        request, is_read = None, False
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(_END)
            request = read_head(head).with_certificate(certificate)
        except LimitOverrunError:
            answer = _error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long")
        except HeadError as error:
            answer = _error(error.status, str(error))
        else:
            answer, is_read = await self._answer(request, reader, writer)
        is_last = (
            request is None or request.is_last or not is_read
            or answer.status >= HTTPStatus.BAD_REQUEST or answer.stream is not None
        )  # fmt: skip
        try:
            await _send(writer, answer, is_last=is_last, is_head=request is not None and request.method == "HEAD")
        finally:
            answer.done()
        return not is_last

    async def _answer(
        self, request: HttpRequest, reader: StreamReader, writer: StreamWriter
    ) -> tuple[Response, bool]:  # fmt: skip
        """The response, and whether the request was read completely."""
        site, has_body = self._desk.site, request.length > 0
        probed = site.probe(request) if request.method in ("GET", "HEAD") else None
        if probed is not None:
            return probed, not has_body
        if self._desk.is_full():
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests in progress"), not has_body
        self.idle = False
        admitted = await self._call(lambda: site.admitted(request))
        if isinstance(admitted, Response):
            return admitted, not has_body
        if not admitted:
            return await self._call(lambda: site.answer(request, b"")), not has_body
        if request.length > admitted:
            return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {admitted} bytes"), False
        if request.headers.get("expect", "").lower() == "100-continue":
            await _write(writer, b"HTTP/1.1 100 Continue\r\n\r\n")
        self.idle, self.since = True, asyncio.get_running_loop().time()
        async with asyncio.timeout(BODY_SECONDS):
            body = await reader.readexactly(request.length)
        self.idle = False
        return await self._call(lambda: site.answer(request, body)), True

    async def _call(self, call: Callable[[], T]) -> T | Response:
        """Call the site. An exception costs one request and is logged."""
        try:
            return await self._desk.ask(call)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            return response(HTTPStatus.INTERNAL_SERVER_ERROR)


def _error(status: HTTPStatus, why: str) -> Response:
    return response(status, f"{why}\n".encode(), Content_Type="text/plain; charset=utf-8")


async def _send(writer: StreamWriter, answer: Response, *, is_last: bool, is_head: bool) -> None:
    await _write(writer, answer.head(is_last=is_last) + (b"" if is_head else answer.body))
    stream = answer.stream
    while stream is not None and not is_head and (piece := await in_thread(lambda: next(stream, b""))):
        await _write(writer, piece)


async def _write(writer: StreamWriter, data: bytes) -> None:
    writer.write(data)
    async with asyncio.timeout(_ANSWER_SECONDS):
        await writer.drain()


async def in_thread(call: Callable[[], T]) -> T:
    """Run a call in a thread of its own, and return its result. The thread does not keep the process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only if T includes it

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, failure)

    Thread(target=run, daemon=True, name="muster-answer").start()
    return await future
