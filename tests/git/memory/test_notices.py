"""The memory of notifications: what is written is read again, anything in it is survived, two memories are one."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.data.kinds import MANAGED_CLUSTER
from muster.data.notices import Message, Notice
from muster.git.memory.notices import NoticeMemory, decoded, encoded, read_memory, remember
from muster.git.repository import open_repository
from tests.support.git import new_repository

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOTICE = Notice(MANAGED_CLUSTER.id("a"), "condition", "Ready", "True", "False", "Down", "a is down", "c" * 40, AT)
MESSAGE = Message("m1", "policy", "eu", "warning", frozenset({"x"}), AT, (NOTICE,), frozenset({"y"}))


def memory(*messages: Message, done: tuple[str, ...] = ()) -> NoticeMemory:
    return NoticeMemory("f" * 40, {one.id: one for one in messages}, list(done))


def test_what_is_written_is_read_again() -> None:
    whole = memory(MESSAGE, replace(MESSAGE, id="m2"), done=("m0",))
    assert decoded(encoded(whole)) == whole
    assert encoded(decoded(encoded(whole))) == encoded(whole)


@pytest.mark.parametrize(
    "path",
    [
        ("upTo",),
        ("done",),
        ("messages",),
        ("messages", 0),
        *(("messages", 0, name) for name in ("id", "due", "sinks", "notices")),
        *(("messages", 0, "notices", 0, name) for name in ("object", "at", "text")),
    ],
)
@pytest.mark.parametrize("value", [None, 3, "x", [1], {"a": []}, ["a", "b", "c", "d"]])
def test_whatever_stands_in_it_is_survived(path: tuple[str | int, ...], value: object) -> None:
    tree = json.loads(encoded(memory(MESSAGE))["notifications.json"])
    place = tree
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    read = decoded({"notifications.json": json.dumps(tree).encode()})
    assert decoded(encoded(read)) == read
    for broken in (b"", b"[", b"[" * 100_000, b"3"):
        assert decoded({"notifications.json": broken}) == NoticeMemory()


def test_two_memories_are_one(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repository = open_repository(repo.path, repo.environ)
    other = replace(NOTICE, name="Other")
    assert remember(repository, memory(MESSAGE, replace(MESSAGE, id="m2"))) == ""
    mine = memory(replace(MESSAGE, notices=(other,), arrived=frozenset({"z"})), done=("m2",))
    assert remember(repository, mine) == ""
    found = read_memory(repository)
    assert list(found.messages) == ["m1"]
    assert found.messages["m1"].arrived == {"y", "z"}
    assert {one.id for one in found.messages["m1"].notices} == {NOTICE.id, other.id}
