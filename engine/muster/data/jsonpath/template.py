"""Parse a template into its parts: text, paths in braces, and ranges from `{range ...}` to `{end}`."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from muster.data.yaml.positions import excerpt
from muster.dataclass import dataclass
from muster.regex import SPACE, WORD, Regex, RegexMatch

#: Limits in characters and in levels, beyond any template that people write.
MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 20
_QUOTED: Final = Regex(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\"""")
_ESCAPED: Final = Regex(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[abfnrtv\\'\"])|\\")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FIELD: Final = Regex(rf"(?:\\.|[^{SPACE}.,\[\]$@{{}}\\])*")
_FIELD_IN_FILTER: Final = Regex(rf"(?:\\.|[^{SPACE}.,\[\]$@{{}}\\!<>=)])*")
_KEY_STEP: Final = Regex(r"(?:\\.|[^.\\])+")
_SLICE: Final = Regex(rf"[{SPACE}]*(-?\d{{1,9}})?(?:(:)(-?\d{{1,9}})?(?::(\d{{1,9}})?)?)?[{SPACE}]*")
_NUMBER: Final = Regex(r"[+-]?\d+(\.\d+)?")
_WORD: Final = Regex(rf"[{WORD}][^{SPACE}.,\[\]$@{{}}!<>=)]*")
_ESCAPED_CHARACTER: Final = Regex(r"\\(.)")
_OPERATOR: Final = Regex(rf"[{SPACE}]*([!<>=~]+)[{SPACE}]*")
OPERATORS: Final = ("==", "!=", "<=", ">=", "<", ">")


class BadTemplate(ValueError):  # noqa: N818 - says form the person typed
    """A template is malformed, or does not fit an object; the message has the line and a caret."""

    def __init__(self, message: str, text: str, at: int) -> None:
        line, begins = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at) + 1
        super().__init__(f"{message}\n{excerpt(text.encode(errors='replace'), line, at - begins + 1)}")


@dataclass(frozen=True, slots=True)
class Field:
    """The value of a key; of every key and entry if `name` is None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Descent:
    """A value and everything below it."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Entries of a list: one (`single`), or those from `start` up to `end`."""

    start: int | None
    end: int | None
    step: int
    single: bool


@dataclass(frozen=True, slots=True)
class Union:
    """The values of several paths, one after the other."""

    paths: tuple["Path", ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The entries of a list for which a comparison holds; without an operator, those in which `left` exists."""

    left: "Path"
    operator: str = ""
    right: "Path" = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, a number or a boolean."""

    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class PathStep:
    """A part of a path, and its offset in the template."""

    form: Field | Descent | Slice | Union | Filter | Constant
    at: int


Path: TypeAlias = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """What is printed for each value of a path."""

    path: Path
    body: "Sequence[str | Path | Range]"


Part: TypeAlias = str | Path | Range


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its text, for messages, and its parts in order."""

    text: str
    parts: Sequence[Part]


def parse(text: str) -> Template:
    """Parse a template. BadTemplate if it is malformed."""
    if len(text) > MAX_LENGTH:
        raise BadTemplate(f"a template has at most {MAX_LENGTH} characters", text, MAX_LENGTH)
    if "{" not in text:
        raise BadTemplate("paths are written in braces, as in {.metadata.name}", text, 0)
    return Template(text, _Parser(text).template())


def parse_path(text: str) -> Template:
    """Parse a single path, with or without braces and the first dot, as kubectl does for columns. BadTemplate if it is
    malformed."""
    if text.startswith("{"):
        return parse(text)
    return parse(f"{{{text}}}" if text.startswith((".", "[", "$")) else f"{{.{text}}}")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def template(self) -> list[Part]:
        parts: list[Part] = []
        open_: list[tuple[Path, list[Part]]] = []
        current = parts
        while self._at < len(self._text):
            begin = self._at
            if self._text[begin] != "{":
                end = self._text.find("{", begin)
                self._at = len(self._text) if end < 0 else end
                current.append(self._text[begin : self._at])
                continue
            self._at += 1
            self._blanks()
            keyword = self._next(_WORD)
            if keyword is not None and keyword[0] in ("range", "end"):
                self._at += keyword.end()
            path = self._path("}", begin)
            self._at += 1
            if keyword is None or keyword[0] not in ("range", "end"):
                current.append(path)
            elif keyword[0] == "range":
                if len(open_) == MAX_DEPTH:
                    raise BadTemplate(f"at most {MAX_DEPTH} ranges can be nested", self._text, begin)
                body: list[Part] = []
                current.append(Range(path, body))
                open_.append((path, current))
                current = body
            elif open_:
                current = open_.pop()[1]
            else:
                raise BadTemplate("there is no range here to end", self._text, begin)
        return parts

    def _path(self, stops: str, begin: int) -> Path:
        """Parse steps up to one of `stops`, which is not consumed."""
        steps: list[PathStep] = []
        field = _FIELD_IN_FILTER if ")" in stops else _FIELD
        while True:
            self._blanks()
            at = self._at
            char = self._text[at : at + 1]
            if char and char in stops:
                return tuple(steps)
            if char in ("", "\n", "\r"):
                raise BadTemplate("this is not closed", self._text, begin)
            if self._text.startswith("[?(", at):
                steps.append(PathStep(self._filter(), at))
            elif self._text.startswith("..", at):
                if steps and isinstance(steps[-1].form, Descent):
                    raise BadTemplate("a second descent finds nothing more", self._text, at)
                steps.append(PathStep(Descent(), at))
                self._at += 2
                if self._next(_WORD):
                    steps.append(PathStep(self._field(field), self._at))
            elif char in "@$":
                self._at += 1
            elif char == "[":
                steps.extend(PathStep(form, at) for form in self._bracket())
            elif char in "'\"":
                steps.append(PathStep(self._quoted(), at))
            elif char == ".":
                self._at += 1
                if (form := self._field(field)).name != "":
                    steps.append(PathStep(form, at))
            else:
                steps.append(PathStep(self._literal(), at))

    def _blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1

    def _next(self, pattern: Regex[str]) -> RegexMatch[str] | None:
        """Match from here on. Each match looks at the whole rest, which `MAX_LENGTH` keeps short."""
        return pattern.match(self._text[self._at :])

    def _field(self, pattern: Regex[str]) -> Field:
        match = self._next(pattern)
        assert match is not None
        self._at += match.end()
        return _field_of(match[0])

    def _literal(self) -> Constant:
        if (number := self._next(_NUMBER)) is not None:
            self._at += number.end()
            return Constant(float(number[0]) if number[1] else int(number[0][:400]))
        constant = self._next(_WORD)
        if constant is None:
            raise BadTemplate("this is not a part of a path", self._text, self._at)
        if constant[0] not in ("true", "false"):
            raise BadTemplate(f"a path begins with a dot: {{.{constant[0]}}}", self._text, self._at)
        self._at += constant.end()
        return Constant(constant[0] == "true")

    def _quoted(self) -> Constant:
        match = self._next(_QUOTED)
        if match is None:
            raise BadTemplate("this quote is not closed", self._text, self._at)
        self._at += match.end()
        return Constant(_ESCAPED.replace(match[1] or match[2], self._unescaped))

    def _unescaped(self, match: RegexMatch[str]) -> str:
        escape = match[1]
        if not escape:
            raise BadTemplate("this text has an unknown escape", self._text, self._at - 1)
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPES.get(escape, escape)

    def _bracket(self) -> list[Field | Slice | Union]:
        begin = self._at
        end, quoted = begin + 1, False
        while end < len(self._text) and (quoted or self._text[end] != "]") and self._text[end] != "\n":
            quoted ^= self._text[end] == "'"
            end += 1
        if self._text[end : end + 1] != "]":
            raise BadTemplate("this bracket is not closed", self._text, begin)
        self._at = end + 1
        inner = self._text[begin + 1 : end]
        parts = _at_commas(inner)
        if len(parts) == 1:
            return self._selected(inner, begin)
        return [Union(tuple(tuple(PathStep(form, begin) for form in self._selected(part, begin)) for part in parts))]

    def _selected(self, inner: str, begin: int) -> list[Field | Slice | Union]:
        """Parse the content of brackets, or between their commas: a key, an index or a slice."""
        if inner.strip() == "*":
            return [Slice(None, None, 1, single=False)]
        key = inner.strip()[1:-1]
        if "'" not in key and inner.strip() == f"'{key}'":
            return [_field_of(step[0]) for step in _KEY_STEP.finditer(key)]
        match = _SLICE.fullmatch(inner)
        if match is None or not inner.strip():
            raise BadTemplate("brackets hold an index, a slice, 'a key' in single quotes, or *", self._text, begin)
        start, colon, end, step = match.groups()
        if step and int(step) == 0:
            raise BadTemplate("a step is at least 1", self._text, begin)
        return [Slice(_number(start), _number(end), _number(step) or 1, single=not colon)]

    def _filter(self) -> Filter:
        begin = self._at
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadTemplate(f"at most {MAX_DEPTH} filters can be nested", self._text, begin)
        self._at += len("[?(")
        left = self._path("!<>=~)", begin)
        parsed = Filter(left)
        if (operator := self._next(_OPERATOR)) is not None:
            if operator[1] not in OPERATORS:
                at = self._at + operator.start(1)
                raise BadTemplate(f"values are compared by {', '.join(OPERATORS)}", self._text, at)
            self._at += operator.end()
            parsed = Filter(left, operator[1], self._path(")", begin))
        if not self._text.startswith(")]", self._at):
            raise BadTemplate("a filter ends with )]", self._text, self._at)
        self._at += len(")]")
        self._depth -= 1
        return parsed


def _field_of(text: str) -> Field:
    """`*` is every field; a backslash escapes a character that would end the name."""
    return Field(None if text == "*" else _ESCAPED_CHARACTER.replace(text, lambda match: match[1]))


def _at_commas(text: str) -> list[str]:
    """Split at the commas outside of single quotes, which are balanced."""
    parts = [""]
    for number, piece in enumerate(text.split("'")):
        quote = "'" if number else ""
        first, *others = piece.split(",") if number % 2 == 0 else [piece]
        parts[-1] += quote + first
        parts += others
    return parts


def _number(text: str) -> int | None:
    return int(text) if text else None
