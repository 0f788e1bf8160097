"""The content of a relay's ref: a folder per cluster, `<two hex digits>/<cluster>/`, with its agent's last files.

The folder has the files as they are on the agent's own ref and, as `.commit`, the agent's commit, byte for byte: its
date, and its signature. The two digits are of a hash of the name: git rewrites whole directories.

What collectors say of clusters is below `collected/`, in such folders: other files, of other writers.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from string import ascii_letters, digits
from typing import Final, NamedTuple, TypeAlias

from muster.data.agentref import COLLECTED, is_cluster_name
from muster.git.errors import UnreadableError
from muster.git.fastimport import keep_command
from muster.git.repository import Repository, common_directory
from muster.git.store.entries import DIRECTORY, REGULAR
from muster.git.store.objects import GitObject, Objects, commit_tree, format_of, object_id, raw_entries, tree_of
from muster.git.store.paths import printable
from muster.git.trees import AgentEntry

COMMIT: Final = ".commit"
#: A relay carries plain names only, so none is `.git`, `.gitmodules` or `.gitattributes` on any file system.
_PLAIN: Final = f"{ascii_letters}{digits}_.-"
#: Of one directory: for ten thousand clusters the root has 256 entries, and each of these folders 40.
_MAX_TREE_BYTES: Final = 4 << 20
#: The clusters in one of the 256 folders: name and tree.
Shard: TypeAlias = tuple[tuple[str, str], ...]
#: So many commits of relays are cached, and so many shards: most are the same in the next run.
_REMEMBERED, _SHARDS = 64, 20 * 256
_known: dict[tuple[Path, str], "RelayedFolders"] = {}
_shards: dict[str, Shard] = {}


class RelayedFolders(NamedTuple):
    """The folders of clusters in a relay's commit, by shard: those of agents, and those of what collectors say."""

    agents: tuple[Shard, ...] = ()
    collected: tuple[Shard, ...] = ()


def cluster_folder(cluster: str) -> str:
    return f"{hashlib.sha256(cluster.encode()).hexdigest()[:2]}/{cluster}"


def check_paths(paths: Iterable[str]) -> None:
    """Raise ValueError for a path that a relay does not carry, and if one path is both a file and a folder."""
    named = set(paths)
    for path in sorted(named):
        names = path.split("/")
        if not all(map(_is_plain, names)):
            raise ValueError(
                f"{printable(os.fsencode(path))!r} is no file of an agent: names have letters, digits, '_', '-', '.',"
                " and begin and end with no dot"
            )
        if any("/".join(names[:end]) in named for end in range(1, len(names))):
            raise ValueError(f"{path!r} is below a file")


def _is_plain(name: str) -> bool:
    return name != "" and not name.strip(_PLAIN) and name[0] not in ".-" and name[-1] != "."


def copy_commands(folder: str, tree: str, files: Sequence[AgentEntry]) -> list[bytes]:
    """Return the commands that write the files of an agent's `tree` one by one: a tree is never taken over as the agent
    made it. ValueError if a relay does not carry one of them."""
    for entry in files:
        if entry.mode not in REGULAR:
            raise ValueError(f"{printable(entry.path)!r} is no plain file")
        if entry.size is None:
            raise ValueError(f"{printable(entry.path)!r} is lost: there is no blob {entry.oid}")
    blobs = {os.fsdecode(entry.path): (entry.mode, entry.oid) for entry in files}
    check_paths(blobs)
    if tree_of(blobs, format_of(tree)) != tree:
        raise ValueError(f"its tree {tree} is not as git writes it")
    return [keep_command(f"{folder}/{path}", mode, oid) for path, (mode, oid) in blobs.items()]


def relayed_folders(repository: Repository, commit: str) -> RelayedFolders:
    """Return the clusters in a relay's commit with the trees of their folders; invalid parts are left out."""
    key = common_directory(repository), commit
    if key not in _known:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        _known[key] = _read(repository, commit)
    return _known[key]


def agent_commits(objects: Objects, folders: Sequence[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the agents' commits that relays keep, by their folders, each given by its id and as git stores it.

    Left out are those whose tree is not exactly the folder's files: then it is the relay's word, and not the agent's.
    """
    split = [(oid, _split_folder(raw, len(oid) // 2)) for oid, raw in folders]
    commits = [(oid, blob, rest) for oid, (blob, rest) in split if blob]
    texts = objects.read([blob for _, blob, _ in commits])
    return {
        oid: text.content
        for (oid, _, rest), text in zip(commits, texts, strict=True)
        if not isinstance(text, UnreadableError)
        and commit_tree(text.content) == object_id("tree", rest, format_of(oid))
    }


def _split_folder(raw: bytes, id_bytes: int) -> tuple[str, bytes]:
    """Of a cluster's folder: the id of the agent's commit, empty for none, and the folder's tree without it."""
    try:
        entries = list(raw_entries(raw, id_bytes))
    except ValueError:
        return "", b""
    oid = next((oid for _, name, oid in entries if name == COMMIT.encode()), "")
    others = (entry for entry in entries if entry[1] != COMMIT.encode())
    return oid, b"".join(b"%b %b\0%b" % (mode, name, bytes.fromhex(oid)) for mode, name, oid in others)


def _read(repository: Repository, commit: str) -> RelayedFolders:
    objects = repository.objects
    (root,) = objects.read([f"{commit}^{{tree}}"], _MAX_TREE_BYTES)
    folders = list(_folders(root, len(commit)))
    agents = [oid for name, oid in folders if name != COLLECTED]
    within = objects.read([oid for name, oid in folders if name == COLLECTED])
    collected = [oid for answer in within for _, oid in _folders(answer, len(commit))]
    # An id determines a tree's content, so only trees that are not cached are read.
    trees = (*agents, *collected)
    read = {oid: _shards[oid] for oid in trees if oid in _shards}
    fresh = [oid for oid in dict.fromkeys(trees) if oid not in read]
    for oid, answer in zip(fresh, objects.read(fresh), strict=True):
        clusters = tuple((name, tree) for name, tree in _folders(answer, len(commit)) if is_cluster_name(name))
        if not isinstance(answer, UnreadableError):
            read[oid] = clusters
    if len(_shards) >= _SHARDS:
        _shards.clear()
    _shards.update(read)
    return RelayedFolders(*(tuple(read[oid] for oid in part if oid in read) for part in (agents, collected)))


def _folders(answer: GitObject | UnreadableError, digits: int) -> Iterator[tuple[str, str]]:
    if isinstance(answer, UnreadableError) or answer.kind != "tree":
        return
    with suppress(ValueError):  # it is damaged from there on
        for mode, name, oid in raw_entries(answer.content, digits // 2):
            if mode == DIRECTORY:
                yield name.decode("utf-8", "surrogateescape"), oid
