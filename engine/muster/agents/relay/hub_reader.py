"""Reads a collection of a live hub: a list in pages, then a watch that goes on from where it ended.

Source: client-go's reflector. A watch is resumed from the last resourceVersion that an object or a bookmark told; where
the server does not have that any more (410 Gone), the collection is listed anew.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from functools import partial
from http import HTTPStatus
from threading import Event, Lock
from time import monotonic
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.relay.hub_objects import HubCollection, PassedOver
from muster.agents.relay.mirror import FileKey, HubMirror
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass

#: How long one watch lasts; the real time is up to twice that, so that they do not all end at once.
WATCH_SECONDS: Final = 240.0
_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 0.5, 10.0
#: How often it is asked whether a kind was installed meanwhile.
_ABSENT_SECONDS: Final = 60.0
#: While a server starts, kinds are missing for a moment: files go when their kind was missing for so long.
_GONE_SECONDS: Final = 60.0


@dataclass
class Troubles:
    """What readers of one hub are in trouble with: each is logged once, and that it is over. Thread-safe."""

    log: Callable[..., None] = lambda *_, **__: None
    _now: dict[HubCollection, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, collection: HubCollection, error: ApiError | None) -> None:
        """Note the present trouble of a reader; None for none."""
        trouble = "" if error is None else error.trouble
        with self._lock:
            if trouble == self._now.get(collection, ""):
                return
            self._now.pop(collection, None)
            others = set(self._now.values())
            if trouble:
                self._now[collection] = trouble
            if error is not None and trouble not in others:
                self.log(explained(error), err=True)
            elif error is None and not others:
                self.log("the hub answers again")


@dataclass
class CollectionReader:
    """Keeps the files of one collection in a mirror."""

    server: ApiServer
    collection: HubCollection
    mirror: HubMirror
    troubles: Troubles = field(default_factory=Troubles)
    watch_seconds: float = WATCH_SECONDS
    clock: Callable[[], float] = monotonic
    is_listed: bool = False
    failure: Exception | None = None  # a fault of ours, which ended `follow`
    #: By reason, how many objects of the last list are not read.
    passed_over: Counter[str] = field(default_factory=Counter)
    _version: str = ""  # of the last event; empty before the first list
    _missing_since: float | None = None
    _trouble: str = ""

    def follow(self, stop: Event) -> None:
        """List and watch until `stop` is set. What fails is tried again, after ever longer pauses; only a `failure`
        ends this before."""
        try:
            self._follow(stop)
        except Exception as error:  # noqa: BLE001 - raised where it ends the relay
            self.failure = error

    def check(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure

    def _follow(self, stop: Event) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not stop.is_set():
            began = self.clock()
            try:
                wait = self.advance()
            except ApiError as error:
                self.troubles.note(self.collection, error)
                wait = pause
                pause = min(2 * pause, _LAST_PAUSE_SECONDS)
            else:
                self.troubles.note(self.collection, None)
                pause = _FIRST_PAUSE_SECONDS
                if not wait and self.clock() - began < _FIRST_PAUSE_SECONDS:
                    wait = _FIRST_PAUSE_SECONDS  # the server ends each watch at once
            stop.wait(wait)

    def advance(self) -> float:
        """List if that is needed, else watch until the server ends it. Return how many seconds to wait before the next
        call. ApiError if the server refuses or does not answer."""
        try:
            if self._version:
                self._watch()
                return 0.0
            self._list()
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return self._absent()
            if error.status != HTTPStatus.GONE:
                raise
            self._version = ""  # the last list stands until the next one is complete
        return 0.0 if self._version else _FIRST_PAUSE_SECONDS

    def _list(self) -> None:
        keys, version = set[FileKey](), ""
        self.passed_over.clear()
        query = {**self.collection.query, "limit": str(self.collection.page)}
        for page in self.server.pages(self.collection.path, **query):
            for body in mappings_at(page, "items"):
                try:
                    key = self.mirror.put(self.collection, body)
                except PassedOver as reason:
                    self.passed_over[str(reason)] += 1
                else:
                    keys.update(() if key is None else (key,))
            version = str(dig(page, "metadata", "resourceVersion") or "")
        self.mirror.listed(self.collection, keys)
        self._version, self._missing_since, self.is_listed = version, None, True

    def _watch(self) -> None:
        seconds = self.watch_seconds * (1 + random.random())  # noqa: S311 - no secret
        query = {**self.collection.query, "resourceVersion": self._version, "allowWatchBookmarks": "true"}
        answers = partial(self.troubles.note, self.collection, None)
        for event in self.server.watch(self.collection.path, seconds, answers, **query):
            type_, body = event.get("type"), mapping_at(event, "object")
            if type_ == "ERROR":
                code = dig(body, "code")
                raise ApiError(code if isinstance(code, int) else 0, str(dig(body, "message") or "the watch failed"))
            self._take(str(type_), body)
            self._version = str(dig(body, "metadata", "resourceVersion") or self._version)

    def _take(self, type_: str, body: Tree) -> None:
        try:
            if type_ in ("ADDED", "MODIFIED"):
                self.mirror.put(self.collection, body)
            elif type_ == "DELETED":
                self.mirror.remove(self.collection, body)
        except PassedOver:
            return

    def _absent(self) -> float:
        """The hub does not have the kind: return how long to wait before asking again."""
        self._version, now = "", self.clock()
        self._missing_since = now if self._missing_since is None else self._missing_since
        if now - self._missing_since < _GONE_SECONDS and self.mirror.has_files(self.collection):
            return _FIRST_PAUSE_SECONDS
        self.mirror.listed(self.collection, (), absent=True)
        self.is_listed = True
        return _ABSENT_SECONDS


def explained(error: ApiError) -> str:
    """Return what the server said, and what to do about it."""
    if error.status and error.is_outage:
        return f"the hub is not ready (status {error.status})"
    hint = "; muster relay --print-rbac prints the rights that it needs" if error.status == HTTPStatus.FORBIDDEN else ""
    return f"{error}{hint}"
