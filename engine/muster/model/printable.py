"""What a terminal, a log or a commit may be given of a text that anybody wrote: names, reasons, what a server said."""


def printable(text: str) -> str:
    """Escape what a terminal would obey, and what turns or breaks a line."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))
