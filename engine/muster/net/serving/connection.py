"""One connection: requests are read and answered one after the other, each within a time limit.

h11 parses requests, writes responses and knows what may follow what. Time limits for whole messages, the length of a
head and the memory for bodies are this module's.
"""

import asyncio
import traceback
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import Final, Protocol, TypeVar

import h11

from muster.dataclass import dataclass
from muster.net.serving.bodies import BodyBudget
from muster.net.serving.http11 import END, HEAD_BYTES, HttpRequest, RequestError, Response, read_request, response

#: Time limits for the TLS handshake and for each head (from the connection or the last response on), for each body, and
#: for each response.
HEAD_SECONDS: Final = 15.0
BODY_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 60.0
_PIECE_BYTES: Final = 64 << 10
#: After the last response, the server still receives for this long, and this much: a client whose connection is reset
#: while it sends may never read the response.
_LAST_SECONDS: Final = 1.0
_LAST_BYTES: Final = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AdmittedRequest:
    """An admitted request: how long its body may be, and who is charged for the memory."""

    body_bytes: int = 0
    sender: str = ""


class HttpSite(Protocol):
    """What a server serves."""

    def probe(self, request: HttpRequest) -> Response | None:
        """Answer a health probe; None for any other request. Must return at once."""

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        """Return what the request may send, or a refusal. Called before any of the body is read."""

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer an admitted request."""


class RequestQueue(Protocol):
    """Where requests wait to be answered."""

    @property
    def site(self) -> HttpSite:
        """What the server serves."""

    @property
    def bodies(self) -> BodyBudget:
        """The memory for the bodies of all connections."""

    def is_full(self) -> bool:
        """Is the number of requests in progress at its limit?"""

    async def ask(self, call: Callable[[], T]) -> T:
        """Run a call that may take a while, and return its result."""


class Connection:
    """One connection from an `address`. It is `idle` while it waits for the client, since the instant `since`."""

    def __init__(self, queue: RequestQueue, address: str) -> None:
        self.address, self.idle, self.since = address, True, asyncio.get_running_loop().time()
        self._queue = queue
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer requests until either side ends the connection. OSError or EOFError if the client is gone, or too
        slow."""
        writer.transport.set_write_buffer_limits(high=0)  # `drain` returns once everything is sent
        tls = writer.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        while await self._exchange(reader, writer, certificate):
            self._http.start_next_cycle()
            self.idle, self.since = True, asyncio.get_running_loop().time()
        self.idle = True
        with suppress(OSError):
            async with asyncio.timeout(_LAST_SECONDS):
                if writer.can_write_eof():
                    writer.write_eof()
                remaining = _LAST_BYTES
                while remaining > 0 and (piece := await reader.read(HEAD_BYTES)):
                    remaining -= len(piece)

    async def _exchange(self, reader: StreamReader, writer: StreamWriter, certificate: bytes | None) -> bool:
        """Read one request and answer it. Returns False after the last one: after every error, and after every body
        that was not read, because it would be taken for the next request."""
        try:
            request = await self._read_head(reader)
        except LimitOverrunError:
            answer = _error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long")
            return await self._send(writer, answer, is_last=True)
        except RequestError as error:
            return await self._send(writer, _error(error.status, str(error)), is_last=True)
        return await self._answer(request.with_certificate(certificate), reader, writer)

    async def _read_head(self, reader: StreamReader) -> HttpRequest:
        async with asyncio.timeout(HEAD_SECONDS):
            first = await reader.readexactly(1)
            if not first.isalpha():  # such as the first byte of a TLS handshake
                raise RequestError(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
            head = first + await reader.readuntil(END)
        return read_request(self._http, head)

    async def _answer(self, request: HttpRequest, reader: StreamReader, writer: StreamWriter) -> bool:
        """Answer one request; False after the last one."""
        site, is_head = self._queue.site, request.method == "HEAD"
        answer = site.probe(request) if is_head or request.method == "GET" else None
        if answer is None and self._queue.is_full():
            answer = _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests in progress")
        if answer is None:
            self.idle = False
            admitted = await self._call(lambda: site.admitted(request))
            if isinstance(admitted, AdmittedRequest) and admitted.body_bytes and request.length:
                return await self._take(request, admitted, reader, writer)
            answer = admitted if isinstance(admitted, Response) else await self._call(lambda: site.answer(request, b""))
        return await self._send(writer, answer, is_last=request.length > 0, is_head=is_head)

    async def _take(
        self, request: HttpRequest, admitted: AdmittedRequest, reader: StreamReader, writer: StreamWriter
    ) -> bool:
        """Answer one request with a body."""
        if request.length > admitted.body_bytes:
            answer = _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {admitted.body_bytes} bytes")
            return await self._send(writer, answer, is_last=True)
        with self._queue.bodies.reserve(admitted.sender, request.length) as refusal:
            if refusal is not None:
                return await self._send(writer, refusal, is_last=True)
            body = await self._read_body(request.length, reader, writer)
            answer = await self._call(lambda: self._queue.site.answer(request, body))
            return await self._send(writer, answer, is_last=False)

    async def _read_body(self, length: int, reader: StreamReader, writer: StreamWriter) -> bytes:
        if self._http.they_are_waiting_for_100_continue:
            await self._write(writer, h11.InformationalResponse(status_code=HTTPStatus.CONTINUE.value, headers=[]))
        self.idle, self.since = True, asyncio.get_running_loop().time()
        pieces = list[bytes]()
        async with asyncio.timeout(BODY_SECONDS):
            while length > 0:
                piece = await reader.read(min(length, _PIECE_BYTES))
                if not piece:
                    raise EOFError
                length -= len(piece)
                self._http.receive_data(piece)
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    pieces.append(event.data)
        self._http.next_event()  # the end of the message
        self.idle = False
        return b"".join(pieces)

    async def _call(self, call: Callable[[], T]) -> T | Response:
        """Call the site. An exception costs one request and is logged."""
        try:
            return await self._queue.ask(call)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            return response(HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _send(self, writer: StreamWriter, answer: Response, *, is_last: bool, is_head: bool = False) -> bool:
        """Send a response. It is the last one also if it is an error or a stream, or if the client asked for that.
        Returns whether another request may follow."""
        is_last = is_last or answer.status >= HTTPStatus.BAD_REQUEST or answer.stream is not None
        try:
            await self._write(writer, answer.head(is_last=is_last), *([] if is_head else [h11.Data(data=answer.body)]))
            stream = answer.stream
            while stream is not None and not is_head and (piece := await in_thread(lambda: next(stream, b""))):
                await self._write(writer, h11.Data(data=piece))
            await self._write(writer, h11.EndOfMessage())
        finally:
            answer.done()
        return not is_last and self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _write(self, writer: StreamWriter, *events: h11.Event) -> None:
        if data := b"".join(self._http.send(event) or b"" for event in events):
            writer.write(data)
            async with asyncio.timeout(_ANSWER_SECONDS):
                await writer.drain()


def _error(status: HTTPStatus, reason: str) -> Response:
    return response(status, f"{reason}\n".encode(), Content_Type="text/plain; charset=utf-8")


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
