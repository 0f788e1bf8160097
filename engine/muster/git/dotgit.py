"""Names that some file system takes for `.git`, as `git fsck` finds them (hasDotgit; path.c and utf8.c of git).

A checkout of such a name on HFS+ or NTFS writes into the repository's own folder. A server with
`receive.fsckObjects` refuses every push that contains one, so muster neither reads nor writes them.
"""

import re
from typing import Final

#: Code points that HFS+ ignores in names.
_IGNORED: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
#: NTFS ignores dots and spaces at the end, knows it as `git~1`, too, begins a stream with `:`, and separates with `\`.
_NTFS: Final = re.compile(rb"(?:\A|\\)(?:\.git|git~1)[. ]*(?:\Z|[\\:])", re.IGNORECASE)


def is_dotgit(name: bytes) -> bool:
    """Return True if the name of a file or folder means `.git` on some file system."""
    if _NTFS.search(name):
        return True
    if name.isascii():
        return False
    try:
        return _IGNORED.sub("", name.decode()).lower() == ".git"
    except UnicodeDecodeError:
        return False
