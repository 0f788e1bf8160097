"""Patterns in which `*` matches anything: one matcher, in time linear in the text."""

from collections.abc import Iterable


def matches(pattern: str, text: str) -> bool:
    """Does the whole text match? `*` matches any characters, or none; every other character matches itself."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    last = others.pop()
    end = len(text) - len(last)
    if len(first) > end or not (text.startswith(first) and text.endswith(last)):
        return False
    position = len(first)
    for piece in others:  # the first place of each piece leaves the most for those that follow
        position = text.find(piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return True


def matches_any(patterns: Iterable[str], text: str) -> bool:
    """Does the text match one of the patterns?"""
    return any(matches(pattern, text) for pattern in patterns)
