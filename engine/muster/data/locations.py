"""The path of an object's derived part under `derived/`, and the names of files that are read.

The path depends only on the object's identity and the number of shards, and every machine can write it: no step is too
long for a file system, differs from another by case alone, or is the name of a Windows device. Nearly all names are
used unchanged.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_letters, digits
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE, MANIFEST_WORK, PROJECTION, kind_of

FOLDER: Final = "derived/"
#: The file in which a Fleet may name another branch for this folder.
FLEET_FILE: Final = "fleet.yaml"

#: The field of a Fleet's spec with the authority that signs agents' certificates.
AUTHORITY: Final = ("signing", "authority")

#: The possible numbers of folders for a kind's derived files: one, or as many as one to three hex digits of a hash.
SHARDS: Final = (1, 16, 256, 4096)

SUFFIX: Final = ".yaml"
_PROJECTED: Final = f"{FOLDER}{PROJECTION.folder}/"
_MOST_BYTES: Final = 255 - len(SUFFIX)  # the limit of ext4, XFS, APFS and NTFS; an object's name may have 253
_KEPT_CHARACTERS: Final = 200  # characters of a long name that stay readable
_DEVICES: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(10)))
)


#: The suffixes of files that may contain objects.
SUFFIXES: Final = (SUFFIX, ".yml", ".json")


def _slips(name: str) -> Iterator[str]:
    yield from (name.upper(), name.capitalize(), f"{name} ")
    for i in range(len(name)):
        yield f"{name[: i + 1]}{name[i:]}"
        yield f"{name[:i]}{name[i : i + 2][::-1]}{name[i + 2 :]}"


#: Misspelt SUFFIXES: in another case, with a doubled letter, two swapped letters, or a space at the end.
SUFFIX_SLIPS: Final = tuple(
    sorted({f".{slip}" for suffix in SUFFIXES for slip in _slips(suffix[1:])}.difference(SUFFIXES))
)


@lru_cache(maxsize=1 << 15)  # computed when a file is read, and when it is written
def derived_path(id_: ObjectId, shards: int) -> str:
    """Return the file of an object's derived part: `derived/<folder of the kind>/[<shard>/][<namespace>/]<name>.yaml`.

    `shards` is one of SHARDS; any other number counts as the next smaller one. Projections have no shards: the folders
    beside theirs hold what they write.
    """
    steps = [FOLDER.rstrip("/"), kind_of(id_).folder]
    if (depth := sum(shards >= number for number in SHARDS[1:])) and not PROJECTION.has(id_):
        # The works of a set, and the scores of a policy, have one name in many namespaces.
        repeated = MANIFEST_WORK.has(id_) or ADD_ON_PLACEMENT_SCORE.has(id_)
        steps.append(_digest(id_.namespace if repeated else id_.name)[:depth])
    if id_.namespace:
        steps.append(file_name(id_.namespace))
    return "/".join((*steps, f"{file_name(id_.name)}{SUFFIX}"))


def is_derived_path(path: str, id_: ObjectId) -> bool:
    """Is a path the file of an object's derived part, for any number of shards?"""
    steps = path.split("/")
    sharded = len(steps) == (5 if id_.namespace else 4)
    shards = 16 ** len(steps[2]) if sharded else 1
    return shards in SHARDS and path == derived_path(id_, shards)


def projected_path(projection: str, path: str) -> str:
    """Return the file that a Projection of this name writes at `path` in its folder."""
    # A name may end as a file does, and that file would be the derived part of the Projection named without the end.
    folder = file_name(projection) if not projection.endswith(SUFFIX) else file_name(projection.upper())
    return f"{_PROJECTED}{folder}/{path}"


def is_projected(path: str) -> bool:
    """Is this the path of a file that a Projection writes, and not of a derived part?"""
    return path.startswith(_PROJECTED) and "/" in path[len(_PROJECTED) :]


def file_name(name: str) -> str:
    """Return the name itself, or a shortened name with a digest if some file system could not store it.

    No object's name contains `@`, so the result is never another object's.
    """
    if len(name) <= _MOST_BYTES and name == name.lower() and not _is_device(name):
        return name
    return f"{name[:_KEPT_CHARACTERS].lower().replace('.', '_')}@{_digest(name)[:16]}"


def _is_device(name: str) -> bool:
    """Does Windows take a name in lower case for a device: `con`, `con.yaml`?"""
    return name.partition(".")[0] in _DEVICES


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


_ALPHANUMERIC: Final = ascii_letters + digits
_STEP: Final = f"{_ALPHANUMERIC}-_.@+=,"
_LONGEST_STEP: Final = 200


def is_portable(step: str) -> bool:
    """Can every machine write a file or folder of this name? None is hidden, and none means another folder."""
    sound = 0 < len(step) <= _LONGEST_STEP and not step.strip(_STEP)
    return sound and step[0] not in "-.+=," and step[-1] != "." and not _is_device(step.lower())


_SAFE: Final = f"{_ALPHANUMERIC}-_."
_LONGEST_SAFE: Final = 253


def is_safe(name: str) -> bool:
    """Can a name be a file's name under `derived/`: no separators, no `..`, at most 253 characters?

    The schemas restrict each kind's names further; this check protects against all names, also those from agents.
    """
    sound = 0 < len(name) <= _LONGEST_SAFE and not name.strip(_SAFE)
    return sound and name[0] not in "-_." and name[-1] not in "-_." and ".." not in name
