"""What must never be shown: credentials in URLs, and what the environment holds in trust.

Messages, reports of faults and commits are read by more people than may know a password. Whatever another program said
(git quotes the remote's URL, with the token in it) goes through `without_secrets` before anybody sees it.
"""

import re
from collections.abc import Mapping

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
