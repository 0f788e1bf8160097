"""The memory of notifications: a git ref, `refs/muster/notifications`, with one root commit that is replaced in place,
like the memory of pulses (`muster.git.memory.pulses`).

It has the last commit whose transitions were looked at, the messages that have not arrived everywhere, and the ids of
the last ones that have. It is written before anything is sent, and again afterwards: if the second write is lost,
messages are sent twice with the same id, and none is lost.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace

from muster.data.codec import MalformedError, from_tree, to_tree
from muster.data.kinds import BY_GROUP_KIND
from muster.data.notices import Message, Notice
from muster.data.times import try_time
from muster.data.tree import Tree, dig, mappings_at, read_json
from muster.dataclass import dataclass
from muster.git.memory.rootref import RefContents, RootRef, store_files
from muster.git.repository import Repository

REF = "refs/muster/notifications"
_FILE = "notifications.json"
_NOTE = "What muster remembers of its notifications\n"
#: How many ids of sent messages are kept, so that another process with the same decisions does not send them again.
_MOST_DONE = 1000


@dataclass
class NoticeMemory:
    """A memory: the last commit (None: nothing yet), the messages to send, and the ids of sent ones."""

    upto: str | None = None
    messages: dict[str, Message] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def finish(self, message: Message) -> None:
        """Note that a message has arrived everywhere."""
        self.messages.pop(message.id, None)
        self.done = [*(id_ for id_ in self.done if id_ != message.id), message.id][-_MOST_DONE:]

    def add(self, other: "NoticeMemory") -> None:
        """Add what another memory knows."""
        self.done = list(dict.fromkeys([*other.done, *self.done]))[-_MOST_DONE:]
        for id_, theirs in other.messages.items():
            mine = self.messages.get(id_)
            if mine is None:
                self.messages[id_] = theirs
                continue
            notices = {notice.id: notice for notice in (*theirs.notices, *mine.notices)}
            together = tuple(sorted(notices.values(), key=lambda notice: (notice.at, notice.id)))
            self.messages[id_] = replace(mine, notices=together, arrived=mine.arrived | theirs.arrived)
        for id_ in self.done:
            self.messages.pop(id_, None)


def read_memory(repository: Repository, remote: str | None = None) -> NoticeMemory:
    """Return the memory of the repository, and of the remote if one is given. RepositoryError if the remote cannot be
    read."""
    memory = decoded(RootRef(repository, REF).look().files)
    if remote is not None:
        theirs = decoded(RootRef(repository, REF, remote).look().files)
        memory.add(theirs)
        memory.upto = theirs.upto or memory.upto
    return memory


def remember(repository: Repository, memory: NoticeMemory, remote: str | None = None) -> str:
    """Store a memory, merged with what others have stored meanwhile. Return why it could not be stored, or nothing."""

    def merged(standing: RefContents) -> Mapping[str, bytes] | None:
        memory.add(decoded(standing.files))
        files = encoded(memory)
        return None if files == dict(standing.files) else files

    return store_files(repository, REF, merged, _NOTE, remote)


def encoded(memory: NoticeMemory) -> Mapping[str, bytes]:
    """Return a memory as a file: the same memory gives the same bytes."""
    messages = [_tree_of(message) for _, message in sorted(memory.messages.items())]
    tree = {"upTo": memory.upto, "messages": messages, "done": memory.done}
    return {_FILE: (json.dumps(tree, indent=0) + "\n").encode()}


def decoded(files: Mapping[str, bytes]) -> NoticeMemory:
    """Return the memory in files. What cannot be read is dropped."""
    memory = NoticeMemory()
    try:
        tree = read_json(files[_FILE])
    except (KeyError, ValueError):
        return memory
    upto, done = dig(tree, "upTo"), dig(tree, "done")
    memory.upto = upto if isinstance(upto, str) and upto.isalnum() else None
    memory.done = [id_ for id_ in done if isinstance(id_, str)] if isinstance(done, list) else []
    for entry in mappings_at(tree, "messages"):
        message = _message(entry)
        if message is not None:
            memory.messages[message.id] = message
    return memory


def _tree_of(message: Message) -> Tree:
    tree = to_tree(message)  # in the order of the fields, with the notices last
    notices = tree.pop("notices")
    return {**tree, "notices": notices}


def _message(entry: Tree) -> Message | None:
    notices = tuple(filter(None, map(_notice, mappings_at(entry, "notices"))))
    with suppress(MalformedError):
        message = from_tree(Message, {**entry, "due": try_time(entry.get("due")), "notices": notices})
        return message if notices else None
    return None


def _notice(entry: Tree) -> Notice | None:
    with suppress(MalformedError):
        notice = from_tree(Notice, {**entry, "at": try_time(entry.get("at"))})
        return notice if notice.object[:2] in BY_GROUP_KIND else None
    return None
