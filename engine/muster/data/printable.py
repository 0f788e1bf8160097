"""What a terminal, a log or a commit may be given of a text that anybody wrote: names, reasons, what a server said."""

import json
import re
from typing import Final

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
