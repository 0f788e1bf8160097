"""What is remembered of notifications: a git ref of its own, `refs/muster/notifications`, one root commit replaced in
place, as the memory of pulses is (`muster.git.pulse_memory`).

It has the commit up to which transitions were looked at, the messages that have not arrived everywhere, and the ids of
the last ones that have. It is written before anything is sent, and again afterwards: what is lost in between is sent
twice, with the same id, and nothing is lost.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND
from muster.data.notices import Message, Notice
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mappings_at, read_json
from muster.git.repository import Repository
from muster.git.rootref import RefContents, RootRef, store_files

REF = "refs/muster/notifications"
_FILE = "notifications.json"
_NOTE = "What muster remembers of its notifications\n"
#: So many ids of what has arrived are kept: whoever decided the same beside us tells it no second time.
_MOST_DONE = 1000


@dataclass
class NoticeMemory:
    """The memory in hand: up to which commit (None: nothing yet), what is to be told, and what was."""

    upto: str | None = None
    messages: dict[str, Message] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def finish(self, message: Message) -> None:
        """Note that a message has arrived everywhere."""
        self.messages.pop(message.id, None)
        self.done = [*(id_ for id_ in self.done if id_ != message.id), message.id][-_MOST_DONE:]

    def add(self, other: "NoticeMemory") -> None:
        """Take over what another memory knows besides."""
        self.done = list(dict.fromkeys([*other.done, *self.done]))[-_MOST_DONE:]
        for id_, theirs in other.messages.items():
            mine = self.messages.get(id_)
            if mine is None:
                self.messages[id_] = theirs
                continue
            notices = {one.id: one for one in (*theirs.notices, *mine.notices)}
            together = tuple(sorted(notices.values(), key=lambda one: (one.at, one.id)))
            self.messages[id_] = replace(mine, notices=together, arrived=mine.arrived | theirs.arrived)
        for id_ in self.done:
            self.messages.pop(id_, None)


def read_memory(repository: Repository, remote: str | None = None) -> NoticeMemory:
    """Return what the repository remembers, and the remote where one is given. RepositoryError if that is not there."""
    memory = decoded(RootRef(repository, REF).look().files)
    if remote is not None:
        theirs = decoded(RootRef(repository, REF, remote).look().files)
        memory.add(theirs)
        memory.upto = theirs.upto or memory.upto
    return memory


def remember(repository: Repository, memory: NoticeMemory, remote: str | None = None) -> str:
    """Store a memory, together with what others stored meanwhile. Returns why it could not be stored, or nothing."""

    def merged(standing: RefContents) -> Mapping[str, bytes] | None:
        memory.add(decoded(standing.files))
        files = encoded(memory)
        return None if files == dict(standing.files) else files

    return store_files(repository, REF, merged, _NOTE, remote)


def encoded(memory: NoticeMemory) -> Mapping[str, bytes]:
    """A memory as a file: the same memory gives the same bytes."""
    messages = [
        {
            "id": one.id, "policy": one.policy, "key": one.key, "severity": one.severity, "sinks": sorted(one.sinks),
            "due": format_time(one.due), "arrived": sorted(one.arrived),
            "notices": [
                {
                    "object": list(notice.object), "sort": notice.sort, "name": notice.name, "before": notice.before,
                    "after": notice.after, "reason": notice.reason, "text": notice.text, "commit": notice.commit,
                    "at": format_time(notice.at),
                }
                for notice in one.notices
            ],
        }
        for _, one in sorted(memory.messages.items())
    ]  # fmt: skip
    tree = {"upTo": memory.upto, "messages": messages, "done": memory.done}
    return {_FILE: (json.dumps(tree, indent=0) + "\n").encode()}


def decoded(files: Mapping[str, bytes]) -> NoticeMemory:
    """The memory in files. What cannot be read is forgotten."""
    memory = NoticeMemory()
    try:
        tree = read_json(files[_FILE])
    except (KeyError, ValueError):
        return memory
    upto, done = dig(tree, "upTo"), dig(tree, "done")
    memory.upto = upto if isinstance(upto, str) and upto.isalnum() else None
    memory.done = [one for one in done if isinstance(one, str)] if isinstance(done, list) else []
    for entry in mappings_at(tree, "messages"):
        message = _message(entry)
        if message is not None:
            memory.messages[message.id] = message
    return memory


def _message(entry: Tree) -> Message | None:
    due, notices = try_time(entry.get("due")), tuple(filter(None, map(_notice, mappings_at(entry, "notices"))))
    texts = [entry.get(name) for name in ("id", "policy", "key", "severity")]
    if due is None or not notices or not all(isinstance(text, str) for text in texts):
        return None
    lists = [entry.get(name) for name in ("sinks", "arrived")]
    names = [frozenset(one for one in found if isinstance(one, str)) for found in lists if isinstance(found, list)]
    if len(names) != len(lists):
        return None
    id_, policy, key, severity = map(str, texts)
    return Message(id_, policy, key, severity, names[0], due, notices, names[1])


def _notice(entry: Tree) -> Notice | None:
    at, id_ = try_time(entry.get("at")), entry.get("object")
    texts = [entry.get(name) for name in ("sort", "name", "before", "after", "reason", "text", "commit")]
    if at is None or not all(isinstance(text, str) for text in texts):
        return None
    if not isinstance(id_, list) or len(id_) != len(ObjectId._fields) or not all(isinstance(one, str) for one in id_):
        return None
    object_ = ObjectId(*id_)
    if (object_.group, object_.kind) not in BY_GROUP_KIND:
        return None
    sort, name, before, after, reason, text, commit = map(str, texts)
    return Notice(object_, sort, name, before, after, reason, text, commit, at)
