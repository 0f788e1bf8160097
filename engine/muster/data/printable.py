"""What a terminal, a log or a commit may be given of a text that anybody wrote: names, reasons, what a server said.

What must never be shown: credentials in URLs, and what the environment holds in trust.

Messages, reports of faults and commits are read by more people than may know a password. Whatever another program said
(git quotes the remote's URL, with the token in it) goes through `without_secrets` before anybody sees it.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from typing import Final


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else can write into it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_USERINFO = re.compile(r"(?<=://)[^/\s'\"<>]*@")
_TRUSTED = re.compile(r"^MUSTER_SINK_|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE_KEY|API_?KEY", re.IGNORECASE)
_SHORTEST = 4  # a shorter value is a word of the language rather than a secret
_HIDDEN = "***"


def without_secrets(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Return a text without users and passwords in URLs and, given an environment, without its secrets' values."""
    for value in _values(environ or {}):
        text = text.replace(value, _HIDDEN)
    return _USERINFO.sub("", text)


def _values(environ: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secrets, the longest first, and the parts of those."""
    found: set[str] = set()
    for name, value in environ.items():
        if _TRUSTED.search(name):
            found.update((value, value.strip(), *value.split(), *value.partition(":")[::2]))
    return sorted((value for value in found if len(value) >= _SHORTEST), key=lambda value: (-len(value), value))


#: What CI takes for orders in the output of a job: anywhere in a line (`##[...]` of GitHub, `##vso[...]` of Azure,
#: `##teamcity[...]`), or where a text begins (`::...::` of GitHub, also behind spaces).
_ANYWHERE: Final = re.compile(r"(?<=#)#(?=\w*\[)")
_ORDER: Final = re.compile(rf"{_ANYWHERE.pattern}|\A\s*:(?=:[a-zA-Z][^:]*::)")


def inert(line: str) -> str:
    """Escape what of a line a CI system would obey."""
    if "##" in line or "::" in line:
        return _ORDER.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}", line)
    return line


def printable(text: str) -> str:
    """The same, and escape what a terminal would obey, and what turns or breaks a line."""
    text = inert(text)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def printable_json(text: str) -> str:
    """The same of JSON, which goes on saying the same: in its strings every character may be written as its number."""
    if "##" in text:
        text = _ANYWHERE.sub(r"\\u0023", text)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))
