"""Lists and watches: resumed, listed anew, and tried again. The server's answers are a script."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

import pytest

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.relay.hub_objects import COLLECTIONS, HubCollection, PassedOver
from muster.agents.relay.hub_reader import CollectionReader, Troubles
from muster.agents.relay.mirror import FileKey
from muster.data.tree import Tree

LEASES = COLLECTIONS[0]


def lease(cluster: str, version: str = "5", name: str = "managed-cluster-lease") -> Tree:
    return {"metadata": {"name": name, "namespace": cluster, "resourceVersion": version}, "spec": {"renewTime": "t"}}


@dataclass
class Script(ApiServer):
    """Answers a list or a watch with what comes next: objects, events or an error; then it stops the reader."""

    answers: list[Sequence[Tree] | ApiError] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    stop: Event = field(default_factory=Event)

    def pages(self, path: str, **query: str) -> Iterator[dict[str, Tree]]:
        self.asked.append("list")
        for item in self._next():
            yield {"metadata": {"resourceVersion": "10"}, "items": [item]}

    def watch(
        self, path: str, seconds: float, begun: Callable[[], None] = lambda: None, **query: str
    ) -> Iterator[dict[str, Tree]]:
        self.asked.append(f"watch {query['resourceVersion']}")
        assert query["allowWatchBookmarks"] == "true"
        if not (self.answers and isinstance(self.answers[0], ApiError)):
            begun()
        yield from self._next()

    def _next(self) -> Iterator[Tree]:
        answer = self.answers.pop(0) if self.answers else []
        if not self.answers:
            self.stop.set()
        if isinstance(answer, ApiError):
            raise answer
        yield from answer


@dataclass
class Files:
    """Stands for a mirror: what it was told."""

    told: list[str] = field(default_factory=list)
    kept: bool = False

    def put(self, collection: HubCollection, body: Tree) -> FileKey | None:
        key = collection.file_of(body)
        self.told.append(f"put {key[0]}")
        return key

    def remove(self, collection: HubCollection, body: Tree) -> None:
        self.told.append(f"remove {collection.file_of(body)[0]}")

    def listed(self, _: HubCollection, found: set[FileKey], *, absent: bool = False) -> None:
        self.told.append("absent" if absent else f"listed {len(found)}")

    def has_files(self, _: HubCollection) -> bool:
        return self.kept


@dataclass
class Story:
    """A reader that has followed a script."""

    server: Script
    files: Files = field(default_factory=Files)
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def read(self) -> CollectionReader:
        def clock() -> float:
            self.seconds += 1.0
            return self.seconds

        def log(line: str, *, err: bool = False) -> None:
            self.lines.append(f"{'error: ' if err else ''}{line}")

        reader = CollectionReader(self.server, LEASES, self.files, Troubles(log), clock=clock)  # type: ignore[arg-type]
        self.server.stop.wait = lambda timeout=None: self.server.stop.is_set()  # type: ignore[method-assign]
        reader.follow(self.server.stop)
        return reader


def event(type_: str, body: Tree) -> Tree:
    return {"type": type_, "object": body}


def read(*answers: Sequence[Tree] | ApiError, kept: bool = False) -> tuple[Story, CollectionReader]:
    story = Story(Script("https://hub", answers=list(answers)), Files(kept=kept))
    return story, story.read()


def test_a_watch_goes_on_from_the_last_version() -> None:
    story, _ = read(
        [lease("c1"), lease("c2")],
        [event("MODIFIED", lease("c1", "11")), event("BOOKMARK", {"metadata": {"resourceVersion": "20"}})],
        ApiError(0, "the connection broke"),
        [event("DELETED", lease("c2", "21")), event("ADDED", lease("c3", "22"))],
        [],
    )
    assert story.server.asked == ["list", "watch 10", "watch 20", "watch 20", "watch 22"]
    assert story.files.told == ["put c1", "put c2", "listed 2", "put c1", "remove c2", "put c3"]
    assert story.lines == [
        "error: the connection broke",
        "the hub answers again",
    ]


def test_an_old_version_is_listed_anew() -> None:
    gone = event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
    story, _ = read([lease("c1")], [gone], [lease("c1")], ApiError(410, "Gone"), [lease("c1")], [])
    assert story.server.asked == ["list", "watch 10", "list", "watch 10", "list", "watch 10"]
    assert story.lines == []


def test_a_refusal_names_the_rights() -> None:
    story, reader = read(ApiError(403, "leases is forbidden"), ApiError(403, "leases is forbidden"), [lease("c1")], [])
    why = "leases is forbidden; muster relay --print-rbac prints the rights that it needs"
    assert story.lines == [
        f"error: {why}",
        "the hub answers again",
    ]
    assert (story.files.told, reader.is_listed) == (["put c1", "listed 1"], True)


def test_a_watch_that_fails_within() -> None:
    broken = event("ERROR", {"code": 500, "message": "etcd is away"})
    story, _ = read([lease("c1")], [broken], ApiError(503, "GET /x: status 503"), [])
    assert story.lines[:2] == ["error: etcd is away", "error: the hub is not ready (status 503)"]
    assert story.server.asked == ["list", "watch 10", "watch 10", "watch 10"]


def test_a_kind_that_is_not_installed_is_absent() -> None:
    story, _ = read(ApiError(404, "not found"), [lease("c1")], [])
    assert story.files.told == ["absent", "put c1", "listed 1"]


def test_a_kind_that_is_missing_while_a_server_starts_keeps_its_files() -> None:
    missing = ApiError(404, "not found")
    story, _ = read([lease("c1")], missing, missing, [lease("c1")], [], kept=True)
    assert story.files.told == ["put c1", "listed 1", "put c1", "listed 1"]
    story, _ = read([lease("c1")], *[missing] * 40, kept=True)
    assert story.files.told == ["put c1", "listed 1", *["absent"] * story.files.told.count("absent")]
    assert 0 < story.files.told.count("absent") < 40


def test_objects_that_are_passed_over_are_counted() -> None:
    other = lease("c1")
    other["metadata"]["labels"] = {"open-cluster-management.io/cluster-name": "c2"}
    story, reader = read([lease("c1"), other], [event("ADDED", other)], [])
    assert reader.passed_over == {"of no cluster": 1}
    assert story.files.told == ["put c1", "listed 1"]
    assert issubclass(PassedOver, ValueError)


def test_a_trouble_of_all_readers_is_one_line() -> None:
    lines = list[str]()
    troubles = Troubles(lambda line, err=False: lines.append(f"{err}: {line}"))
    for trouble in (
        ApiError(0, "no answer"),
        ApiError(0, "no route"),
        ApiError(503, "busy"),
        ApiError(400, "no"),
        None,
    ):
        for collection in COLLECTIONS[:3]:
            troubles.note(collection, trouble)
    assert lines == ["True: no answer", "True: no", "False: the hub answers again"]


def test_a_fault_of_ours_does_not_stay_in_its_thread() -> None:
    story = Story(Script("https://hub", answers=[[{"metadata": {}}, {"no": "metadata"}]]))
    story.files.put = lambda *_: [][0]  # type: ignore[method-assign]
    with pytest.raises(IndexError):
        story.read().check()
