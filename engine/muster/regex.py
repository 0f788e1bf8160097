"""Regular expressions for text that other people and programs write: matched by RE2, in time linear in the text.

The expressions of `re` backtrack: a few kilobytes of hostile text can take hours, and hold the interpreter's lock
meanwhile. So `re` is a banned import; the few modules that may use it for text of their own stand in `pyproject.toml`,
each with its reason. Where string methods do, they are better still: a match by RE2 costs about 5 µs, ten times one of
`re`.

RE2 is imported and the expression compiled at the first use: a command pays only for what it matches. The syntax is
RE2's (https://github.com/google/re2/wiki/Syntax). How it differs from that of `re`:

- `$` without `(?m)` is the very end, never before a last newline; `\\z` is Python's `\\Z`.
- `\\d`, `\\w`, `\\s` and `\\b` know ASCII alone, and `\\s` is a blank, `\\t`, `\\n`, `\\f` or `\\r`.
- No lookaround, no backreference; flags stand in front, as in `(?is)`. A repetition counts to 1,000.
- An expression of bytes sees each byte as a character.

One match is linear, but `finditer` searches anew after each match: with `a|a.*b` it visits the rest of `aaa...` each
time.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, AnyStr, Final, Generic

#: Inside of brackets: Python's `\\s` and `\\w` of texts, which know all of Unicode.
SPACE: Final = r"\s\x0b\x1c-\x1f\x{85}\pZ"
WORD: Final = r"\pL\pN_"

_MAX_MEMORY: Final = 2 << 20  # of one expression with its state; RE2 itself allows four times as much


class RegexMatch(Generic[AnyStr]):
    """Where an expression matched. Groups are given by number or name; 0 is the whole."""

    __slots__ = ("_match", "_text")

    def __init__(self, match: Any, text: AnyStr) -> None:
        self._match = match
        self._text: AnyStr = text

    def span(self, group: int | str = 0) -> tuple[int, int]:
        """Return where the group begins and ends; (-1, -1) if it took no part."""
        begin, end = self._match.span(group if isinstance(group, int) else self._match.re.groupindex[group])
        return begin, end

    def start(self, group: int | str = 0) -> int:
        """Return where the group begins; -1 if it took no part."""
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        """Return where the group ends; -1 if it took no part."""
        return self.span(group)[1]

    def __getitem__(self, group: int | str) -> AnyStr:
        """Return the group's text; empty if it took no part."""
        begin, end = self.span(group)
        return self._text[begin:end] if begin >= 0 else self._text[:0]

    def named(self) -> dict[str, AnyStr]:
        """Return the text of every group that has a name."""
        return {name: self[name] for name in self._match.re.groupindex}

    def groups(self) -> tuple[AnyStr, ...]:
        """Return the text of every group from 1 on."""
        return tuple(self[group] for group in range(1, self._match.re.groups + 1))


class Regex(Generic[AnyStr]):
    """An expression in RE2's syntax, compiled when it is first used."""

    def __init__(self, pattern: AnyStr) -> None:
        self.pattern: AnyStr = pattern

    @cached_property
    def _compiled(self) -> Any:
        import re2  # takes 10 ms

        options = re2.Options()
        options.log_errors, options.max_mem = False, _MAX_MEMORY
        if isinstance(self.pattern, bytes):
            options.encoding = re2.Options.Encoding.LATIN1
        return re2.compile(self.pattern, options)

    def fullmatch(self, text: AnyStr) -> RegexMatch[AnyStr] | None:
        """Match the whole text."""
        return _placed(self._compiled.fullmatch(_encodable(text)), text)

    def match(self, text: AnyStr) -> RegexMatch[AnyStr] | None:
        """Match at the start of the text."""
        return _placed(self._compiled.match(_encodable(text)), text)

    def search(self, text: AnyStr) -> RegexMatch[AnyStr] | None:
        """Return the first match anywhere in the text."""
        return _placed(self._compiled.search(_encodable(text)), text)

    def finditer(self, text: AnyStr) -> Iterator[RegexMatch[AnyStr]]:
        """Yield the matches that do not overlap, from left to right."""
        for match in self._compiled.finditer(_encodable(text)):
            yield RegexMatch(match, text)

    def split(self, text: AnyStr) -> list[AnyStr]:
        """Return the parts between the matches; one part more than there are matches."""
        parts: list[Any] = []
        position = 0
        for match in self.finditer(text):
            begin, end = match.span()
            parts.append(text[position:begin])
            position = end
        return [*parts, text[position:]]

    def replace(self, text: AnyStr, by: AnyStr | Callable[[RegexMatch[AnyStr]], AnyStr]) -> AnyStr:
        """Return the text with every match replaced by a literal text, or by what a function makes of it."""
        parts: list[Any] = []
        position = 0
        for match in self.finditer(text):
            begin, end = match.span()
            parts += [text[position:begin], by(match) if callable(by) else by]
            position = end
        return text[:0].join([*parts, text[position:]])


def _placed(match: Any, text: AnyStr) -> RegexMatch[AnyStr] | None:
    return None if match is None else RegexMatch(match, text)


def _encodable(text: AnyStr) -> AnyStr:
    """Return a text that UTF-8 can say, of the same length: U+FFFD in place of each lone surrogate."""
    if isinstance(text, bytes) or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text
