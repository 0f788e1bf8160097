"""Makes texts from outside safe to show in a terminal, a log or a commit: names, reasons, messages of servers.

Credentials in URLs and secrets of the environment are never shown. More people read messages, fault reports and commits
than may know a password, so texts of other programs (git quotes the remote's URL with the token) go through
`without_secrets` first.
"""

import json
import os
import stat
from collections.abc import Mapping
from typing import Final

from muster.regex import SPACE, WORD, Regex


def is_ours(status: os.stat_result) -> bool:
    """Does a file or folder belong to this user, and can no one else write into it?"""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_USERINFO: Final = Regex(rf"://[^/{SPACE}'\"<>]*@")
_SECRET: Final = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "PRIVATE_KEY", "API_KEY", "APIKEY")
_SHORTEST = 4  # a shorter value is a word of the language rather than a secret
_HIDDEN = "***"


def without_secrets(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Return a text without users and passwords in URLs and, given an environment, without its secrets' values."""
    for value in _values(environ or {}):
        text = text.replace(value, _HIDDEN)
    return _USERINFO.replace(text, "://") if "@" in text and "://" in text else text


def _values(environ: Mapping[str, str]) -> list[str]:
    """The values of variables with names of secrets, and the parts of these values; the longest first."""
    secrets: set[str] = set()
    for name, value in environ.items():
        upper = name.upper()
        if upper.startswith("MUSTER_SINK_") or any(mark in upper for mark in _SECRET):
            secrets.update((value, value.strip(), *value.split(), *value.partition(":")[::2]))
    return sorted((value for value in secrets if len(value) >= _SHORTEST), key=lambda value: (-len(value), value))


#: Commands for CI in the output of a job: anywhere in a line (`##[...]` of GitHub, `##vso[...]` of Azure,
#: `##teamcity[...]`), or at the beginning of a text, also after spaces (`::...::` of GitHub, sections of GitLab).
_ANYWHERE: Final = Regex(rf"##([{WORD}]*\[)")
_SECTIONS: Final = ("section_start:", "section_end:")


def inert(line: str) -> str:
    """Escape commands for CI systems in a line."""
    if ("::" in line or "section_" in line) and _is_command(line.lstrip()):
        line = line.replace(":", "\\x3a", 1)
    return _ANYWHERE.replace(line, lambda match: f"#\\x23{match[1]}") if "##" in line else line


def inert_quoted(text: str) -> str:
    """Do the same in text between double quotes, in JSON or YAML, without changing its meaning."""
    return _ANYWHERE.replace(text, lambda match: f"#\\u0023{match[1]}") if "##" in text else text


def _is_command(line: str) -> bool:
    """Does a line begin with `::NAME ...::`, or with a section's marker?"""
    if line.startswith(_SECTIONS):
        return True
    letter = line[2:3]
    return line.startswith("::") and letter.isascii() and letter.isalpha() and line.startswith("::", line.find(":", 3))


_CONTROL: Final = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)))


def has_control(text: str) -> bool:
    """Has a text a control character, or one that ends a line?"""
    return not text.isprintable() and not _CONTROL.isdisjoint(text)


def counted(number: int, noun: str) -> str:
    """Return `1 agent` or `2 agents`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Escape those, control characters, and characters that break or reverse a line."""
    text = inert(text)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def printable_json(text: str) -> str:
    """Do the same in JSON without changing its meaning: strings may contain any character as an escape."""
    text = inert_quoted(text)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Do the same in each line of a text."""
    return "\n".join(map(printable, text.split("\n")))
