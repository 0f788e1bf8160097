"""Where under `derived/` an object's derived part lies, and how files are called that are read.

A function of the object's identity and the number of shards alone, and a path that every machine can write which may
clone the repository: no step is longer than file systems take, and none differs from another by case alone or is what
Windows takes for a device. Names that are none of this, nearly all, stand as they are.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANIFEST_WORK, kind_of

FOLDER: Final = "derived/"
#: The file in which a Fleet may say that this folder lies on another branch.
FLEET_FILE: Final = "fleet.yaml"

#: Where the spec of a Fleet names the authority that signs certificates of agents.
AUTHORITY: Final = ("signing", "authority")

#: Into how many folders a kind's derived files may be spread: none, or one, two or three hex digits of a hash.
SHARDS: Final = (1, 16, 256, 4096)

SUFFIX: Final = ".yaml"
_MOST_BYTES: Final = 255 - len(SUFFIX)  # what ext4, XFS, APFS and NTFS take of one name; a name may have 253
_KEPT: Final = 200  # characters of a long name that are still there to be read
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.ASCII)


#: How the name of a file ends that may hold objects.
SUFFIXES: Final = (SUFFIX, ".yml", ".json")


def _slips(word: str) -> Iterator[str]:
    yield from (word.upper(), word.capitalize(), f"{word} ")
    for i in range(len(word)):
        yield f"{word[: i + 1]}{word[i:]}"
        yield f"{word[:i]}{word[i : i + 2][::-1]}{word[i + 2 :]}"


#: How it ends where one of SUFFIXES was meant: in another case, a letter doubled, two swapped, a blank behind it.
SUFFIX_SLIPS: Final = tuple(
    sorted({f".{slip}" for suffix in SUFFIXES for slip in _slips(suffix[1:])}.difference(SUFFIXES))
)


@lru_cache(maxsize=1 << 15)  # asked for where a file is read, and where it is written
def derived_path(id_: ObjectId, shards: int) -> str:
    """Return the file of an object's derived part: `derived/<folder of the kind>/[<shard>/][<namespace>/]<name>.yaml`.

    `shards` is one of SHARDS; any other number counts as the next smaller one.
    """
    steps = [FOLDER.rstrip("/"), kind_of(id_).folder]
    if digits := sum(shards >= number for number in SHARDS[1:]):
        # The works of a set have one name in many namespaces.
        steps.append(_digest(id_.namespace if MANIFEST_WORK.has(id_) else id_.name)[:digits])
    if id_.namespace:
        steps.append(file_name(id_.namespace))
    return "/".join((*steps, f"{file_name(id_.name)}{SUFFIX}"))


def is_derived_path(path: str, id_: ObjectId) -> bool:
    """Whether a path is the file of an object's derived part, in whatever number of shards."""
    steps = path.split("/")
    sharded = len(steps) == (5 if id_.namespace else 4)
    shards = 16 ** len(steps[2]) if sharded else 1
    return shards in SHARDS and path == derived_path(id_, shards)


def file_name(name: str) -> str:
    """Return the name, or where it could not be a file's name everywhere, what is left of it with a digest.

    The `@` is in no name, so what is made here is never another object's.
    """
    if len(name) <= _MOST_BYTES and name == name.lower() and not _DEVICE.fullmatch(name):
        return name
    return f"{name[:_KEPT].lower().replace('.', '_')}@{_digest(name)[:16]}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


_SAFE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?", re.ASCII)


def is_safe(name: str) -> bool:
    """Whether a name may become a file's name under `derived/`: no separators, no `..`, at most 253 characters.

    The schemas say more about each kind's names; this is the belt that holds for all, also for names that come
    from agents.
    """
    return _SAFE.fullmatch(name) is not None and ".." not in name
