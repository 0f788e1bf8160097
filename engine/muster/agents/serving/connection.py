"""One connection: requests are read and answered, one after the other, each within its time."""

import asyncio
import traceback
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import Final, Protocol, TypeVar

from muster.agents.serving.messages import HeadError, HttpRequest, Response, read_head, response

#: How long a client has to greet, to say what it wants (from the connection or the last response on), to send the body
#: that it announced, and to take a response.
HEAD_SECONDS: Final = 15.0
BODY_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 60.0
#: A head is no longer.
HEAD_BYTES: Final = 16 << 10
#: What a client still sends after the last response is taken for so long, and so much of it: if it finds the
#: connection reset while it sends, it may never read the response.
_LAST_SECONDS: Final = 1.0
_LAST_BYTES: Final = 1 << 20
_END: Final = b"\r\n\r\n"

T = TypeVar("T")


class HttpSite(Protocol):
    """What is served."""

    def probe(self, request: HttpRequest) -> Response | None:
        """Answer whoever asks whether all is well; None for any other request. Returns at once."""

    def admitted(self, request: HttpRequest) -> Response | int:
        """Return how many bytes of a body are taken, or the refusal: before any of the body is read."""

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer a request that is admitted."""


class Desk(Protocol):
    """Where requests wait to be answered."""

    @property
    def site(self) -> HttpSite:
        """What is served."""

    def is_full(self) -> bool:
        """Whether so many requests are being answered that no further one can be."""

    async def ask(self, call: Callable[[], T]) -> T:
        """Return what a call returns that may take a while."""


class Connection:
    """One connection from an `address`. It is `idle` while the client has to say something, since `since`."""

    def __init__(self, desk: Desk, address: str) -> None:
        self.address, self.idle, self.since = address, True, asyncio.get_running_loop().time()
        self._desk = desk

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer until either side has had enough. OSError or EOFError where the client is gone, or too slow."""
        writer.transport.set_write_buffer_limits(high=0)  # `drain` returns once everything is sent
        shown = writer.get_extra_info("ssl_object")
        certificate = shown.getpeercert(binary_form=True) if shown is not None else None
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
        """Read a request and answer it. False where that is the last one: after every error, and every body that was
        not read, which would be taken for the next request."""
        request, is_read = None, False
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(_END)
            request = read_head(head).shown(certificate)
        except LimitOverrunError:
            answer = _refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long")
        except HeadError as error:
            answer = _refused(error.status, str(error))
        else:
            answer, is_read = await self._answered(request, reader, writer)
        is_last = (
            request is None or request.is_last or not is_read
            or answer.status >= HTTPStatus.BAD_REQUEST or answer.stream is not None
        )  # fmt: skip
        try:
            await _send(writer, answer, is_last=is_last, is_head=request is not None and request.method == "HEAD")
        finally:
            answer.done()
        return not is_last

    async def _answered(
        self, request: HttpRequest, reader: StreamReader, writer: StreamWriter
    ) -> tuple[Response, bool]:  # fmt: skip
        """The response, and whether all of the request is read."""
        site, has_body = self._desk.site, request.length > 0
        probed = site.probe(request) if request.method in ("GET", "HEAD") else None
        if probed is not None:
            return probed, not has_body
        if self._desk.is_full():
            return _refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many ask already"), not has_body
        self.idle = False
        admitted = await self._asked(lambda: site.admitted(request))
        if isinstance(admitted, Response):
            return admitted, not has_body
        if not admitted:
            return await self._asked(lambda: site.answer(request, b"")), not has_body
        if request.length > admitted:
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {admitted} bytes"), False
        if request.headers.get("expect", "").lower() == "100-continue":
            await _write(writer, b"HTTP/1.1 100 Continue\r\n\r\n")
        self.idle, self.since = True, asyncio.get_running_loop().time()
        async with asyncio.timeout(BODY_SECONDS):
            body = await reader.readexactly(request.length)
        self.idle = False
        return await self._asked(lambda: site.answer(request, body)), True

    async def _asked(self, call: Callable[[], T]) -> T | Response:
        """What the site says. A fault of ours costs one request, and is told."""
        try:
            return await self._desk.ask(call)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            return response(HTTPStatus.INTERNAL_SERVER_ERROR)


def _refused(status: HTTPStatus, why: str) -> Response:
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
    """Return what a call returns, made in a thread of its own, which ends with the process at the latest."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only where T has it

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
