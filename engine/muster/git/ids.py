"""What git calls objects, told without a repository that holds them."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final

SHA1: Final = "sha1"


def object_id(kind: str, content: bytes, object_format: str = SHA1) -> str:
    """Return git's id of an object: a `blob`, `tree` or `commit` with this content."""
    digest = hashlib.new(object_format, usedforsecurity=False)
    digest.update(b"%b %d\0%b" % (kind.encode(), len(content), content))
    return digest.hexdigest()


def format_of(id_: str) -> str:
    """Return the object format in which something has this id."""
    return "sha256" if len(id_) == hashlib.sha256().digest_size * 2 else SHA1


def tree_id(files: Mapping[str, bytes], object_format: str = SHA1) -> str:
    """Return git's id of a tree that holds plain files, by path."""
    blobs = {path: (b"100644", object_id("blob", content, object_format)) for path, content in files.items()}
    return tree_of(blobs, object_format)


def tree_of(blobs: Mapping[str, tuple[bytes, str]], object_format: str = SHA1) -> str:
    """Return git's id of a tree that holds files, by path: the mode and the id of each."""
    files, folders = dict[str, tuple[bytes, str]](), dict[str, dict[str, tuple[bytes, str]]]()
    for path, blob in blobs.items():
        name, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(name, {})[rest] = blob
        else:
            files[name] = blob
    # git sorts a directory as if its name ended with a slash.
    entries = [(name.encode(), mode, oid) for name, (mode, oid) in files.items()]
    entries += [(f"{name}/".encode(), b"40000", tree_of(below, object_format)) for name, below in folders.items()]
    raw = b"".join(
        b"%b %b\0%b" % (mode, name.removesuffix(b"/"), bytes.fromhex(oid)) for name, mode, oid in sorted(entries)
    )
    return object_id("tree", raw, object_format)


def commit_text(files: Mapping[str, bytes], who: str, at: datetime, message: str, object_format: str = SHA1) -> bytes:
    """Return a commit of plain files without parents, as git stores it. `who`: `Name <mail>`."""
    tree, stamp = tree_id(files, object_format), f"{who} {int(at.timestamp())} +0000"
    return f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{message}\n".encode()
