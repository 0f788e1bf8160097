"""From libyaml's events to trees: the inner loop of reading.

Module-level functions over one small state object, dispatching on the event's class: closures would make a
reference cycle for every file, and method calls cost a tenth of the whole. Problems are noted and building goes
on, so that one pass finds them all; a document with any is thrown away by the caller.

What a plain (unquoted) scalar means: YAML 1.2's core schema, narrowed to what JSON can say.

* null: empty, `~`, `null`, `Null`, `NULL`. Booleans: `true`, `True`, `TRUE` and the same of `false`. The words
  that YAML 1.1 also took (`yes`, `on`, `y`, ...) are strings.
* Integers are decimal, with an optional sign, within 64 bits: more is refused, because neither CEL's `int` nor a
  JSON reader in Go carries it, and a silent float would corrupt an id.
* Floats are decimal and finite. `.inf`, `.nan` and ids such as `624e769365028171`, which YAML reads as
  infinity, are refused.
* Everything else is a string: times, `0x1f`, `0o17`, `1_000`, `1:30`, and numbers with leading zeros, which YAML
  1.1 reads as octal and people write as ids.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from sys import intern
from types import MappingProxyType
from typing import Any

from yaml._yaml import CParser  # ImportError where PyYAML was built without libyaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from muster.data.tree import Tree
from muster.data.yaml import limits, messages
from muster.data.yaml.source import Fault

_NOT_FINITE = frozenset(
    [f"{sign}{infinity}" for sign in ("", "+", "-") for infinity in (".inf", ".Inf", ".INF")] + [".nan", ".NaN", ".NAN"]
)
_INT64_DIGITS = 19

#: Plain words with a meaning. What is not in here and does not begin like a number is a string.
WORDS: Mapping[str, Tree] = MappingProxyType(
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
)

#: The characters with which a number can begin.
NUMERIC = frozenset("+-.0123456789")


class NumberError(ValueError):
    """A plain scalar is a number that cannot be carried; `text` says why."""

    def __init__(self, text: messages.ProblemText) -> None:
        super().__init__(text.message)
        self.text = text


def number(text: str) -> Tree:
    """Return what a plain scalar that begins with one of `NUMERIC` means: an int, a float or the text itself.

    Raises NumberError for one that is out of range or not finite.
    """
    if _is_int(text):
        # The length first: int() refuses more than 4,300 digits with an error of its own.
        if len(text) <= _INT64_DIGITS + 1 and -(2**63) <= (value := int(text)) < 2**63:
            return value
        raise NumberError(messages.number_too_large(text))
    if _is_float(text):
        if isfinite(parsed := float(text)):
            return parsed
        raise NumberError(messages.number_not_finite(text))
    if text in _NOT_FINITE:
        raise NumberError(messages.number_not_finite(text))
    return text


def _is_whole(text: str) -> bool:
    """Is this zero, or digits that do not begin with one?"""
    return _are_digits(text) and (text == "0" or text[0] != "0")


def _are_digits(text: str) -> bool:
    return text.isdecimal() and text.isascii()


def _is_int(text: str) -> bool:
    return _is_whole(text[1:] if text[:1] in ("+", "-") else text)


def _is_float(text: str) -> bool:
    """Is this `[+-]WHOLE[.[DIGITS]][e[+-]DIGITS]`, or the same with `.DIGITS`? Each whole number is one, too."""
    mantissa, e, exponent = (text[1:] if text[:1] in ("+", "-") else text).replace("E", "e").partition("e")
    whole, point, fraction = mantissa.partition(".")
    if e and not _are_digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent):
        return False
    if not whole:
        return point != "" and _are_digits(fraction)
    return _is_whole(whole) and (not fraction or _are_digits(fraction))


def is_beyond_float(text: str) -> bool:
    """Whether a plain scalar is a number that no float can hold, such as `624e769365028171`.

    Go's YAML, and so kubectl, takes it for a text and writes it bare.
    """
    return _is_float(text) and not _is_int(text) and not isfinite(float(text))


_DEPTH, _NODES = limits.DEPTH, limits.NODES
_word = WORDS.get


class AbandonError(Exception):
    """Reading this document further is pointless or dangerous; what is wrong has been noted."""


class TooManyNodesError(AbandonError):
    """The whole file holds more values than are read."""


class Builder:
    """The state of reading one stream.

    `root` is the current document's tree as far as it has been built, also after an error; `line` the 1-based
    line of its first key; `started` the 1-based line where the document itself begins; `faults` what is wrong
    with it; `nodes` the number of values so far, counted up to `limits.NODES`, beginning higher if fewer (`most`) may
    be read; `nulls` whether the document has a null in it. With `of_go`, what Go's YAML leaves bare is a text.
    """

    __slots__ = ("faults", "get", "line", "most", "nodes", "nulls", "of_go", "root", "started")

    def __init__(self, data: bytes, nodes: int = 0, most: int = limits.NODES, *, of_go: bool = False) -> None:
        self.get: Callable[[], Any] = CParser(data).get_event
        self.nodes, self.most, self.of_go = nodes, most, of_go
        self.faults: list[Fault] = []
        self.root: Tree = None
        self.line = self.started = 1
        self.nulls = False
        self.get()

    def next_document(self) -> bool:
        """Build the next document into `root` (None for an empty one); False at the end of the stream.

        Raises yaml.YAMLError if libyaml gives up, AbandonError if this does.
        """
        self.root, self.faults, self.nulls = None, [], False
        event = self.get()
        if event.__class__ is StreamEndEvent:
            return False
        self.started = event.end_mark.line + 1
        if event.version is not None or event.tags:
            self.note(event, messages.directive())
        self.nodes += 1
        if self.nodes > _NODES:
            _too_many(self, event)
        event = self.get()
        self.line = event.start_mark.line + 1
        if event.__class__ is MappingStartEvent:
            self.root = {}
            _mapping(self, event, self.root, 1)
        elif event.__class__ is not ScalarEvent or event.value or event.style or event.anchor or event.tag:
            self.note(event, messages.not_a_mapping(_noun_of(event)))
            _sequence_item(self, event, [], 0)
        self.get()  # DocumentEnd
        return True

    def note(self, event: Any, text: messages.ProblemText) -> None:
        """Record a problem at the event. Raises AbandonError when the document has too many."""
        mark = event.start_mark
        self.faults.append(Fault(text, mark.line + 1, mark.column + 1))
        if len(self.faults) >= limits.PROBLEMS:
            raise AbandonError


def _noun_of(event: Any) -> str:
    """Return how a message names the root of a document that is no mapping."""
    if event.__class__ is SequenceStartEvent:
        return "a list"
    return "an alias" if event.__class__ is AliasEvent else f"the single value {messages.shown(event.value)}"


def _mapping(builder: Builder, start: Any, into: dict[str, Tree], depth: int) -> None:
    """Fill `into` up to the mapping's end. Children are attached before they are filled: after an error, the
    tree holds all that was read."""
    _check_collection(builder, start, depth)
    get = builder.get
    keys: list[Any] = []
    while True:
        event = get()
        kind = event.__class__
        if kind is ScalarEvent:
            key = intern(event.value)
            if event.anchor is not None or event.tag is not None or (not event.style and key in ("", "<<")):
                _check_key(builder, event)
        elif kind is MappingEndEvent:
            return
        else:
            key = _complex_key(builder, event, depth)
        if key in into:
            scalars = (other for other in keys if other.__class__ is ScalarEvent)
            first: Any = next((other for other in scalars if other.value == key), event)
            builder.note(event, messages.duplicate_key(key, first.start_mark.line + 1))
        keys.append(event)
        builder.nodes += 1
        if builder.nodes > _NODES:
            _too_many(builder, event)
        event = get()
        kind = event.__class__
        if kind is ScalarEvent:
            value = event.value
            if event.anchor is not None or event.tag is not None:
                _check_properties(builder, event)
            if not event.style:
                value = _number(builder, event) if value[:1] in NUMERIC else _word(value, value)
                if value is None:
                    builder.nulls = True
            into[key] = value
        elif kind is MappingStartEvent:
            child: dict[str, Tree] = {}
            into[key] = child
            _mapping(builder, event, child, depth + 1)
        elif kind is SequenceStartEvent:
            items: list[Tree] = []
            into[key] = items
            _sequence(builder, event, items, depth + 1)
        else:
            builder.note(event, messages.alias(event.anchor))


def _sequence(builder: Builder, start: Any, into: list[Tree], depth: int) -> None:
    """Fill `into` up to the list's end."""
    _check_collection(builder, start, depth)
    get = builder.get
    while (event := get()).__class__ is not SequenceEndEvent:
        _sequence_item(builder, event, into, depth)


def _sequence_item(builder: Builder, event: Any, into: list[Tree], depth: int) -> None:
    """Append the value that begins with `event` to a list at `depth`."""
    kind = event.__class__
    builder.nodes += 1
    if builder.nodes > _NODES:
        _too_many(builder, event)
    if kind is ScalarEvent:
        value = event.value
        if event.anchor is not None or event.tag is not None:
            _check_properties(builder, event)
        if not event.style:
            value = _number(builder, event) if value[:1] in NUMERIC else _word(value, value)
        into.append(value)
    elif kind is MappingStartEvent:
        child: dict[str, Tree] = {}
        into.append(child)
        _mapping(builder, event, child, depth + 1)
    elif kind is SequenceStartEvent:
        items: list[Tree] = []
        into.append(items)
        _sequence(builder, event, items, depth + 1)
    else:
        builder.note(event, messages.alias(event.anchor))


def _number(builder: Builder, event: Any) -> Tree:
    """Return what a plain scalar that begins like a number means; None, noted, for one that is refused."""
    try:
        return number(event.value)
    except NumberError as error:
        if builder.of_go and is_beyond_float(event.value):
            return event.value
        builder.note(event, error.text)
        return None


def _complex_key(builder: Builder, event: Any, depth: int) -> str:
    """Note a key that is no scalar, skip it and return a stand-in."""
    if event.__class__ is AliasEvent:
        builder.note(event, messages.alias(str(event.anchor)))
    else:
        builder.note(event, messages.complex_key())
        _sequence_item(builder, event, [], depth)
    return f"?{event.start_mark.index}"


def _check_key(builder: Builder, event: Any) -> None:
    """Note what is wrong with a scalar key that is not an ordinary one."""
    _check_properties(builder, event)
    if event.value == "<<":
        builder.note(event, messages.merge_key())
    elif not event.value:
        builder.note(event, messages.empty_key())


def _check_properties(builder: Builder, event: Any) -> None:
    """Note the anchor and the tag of a node."""
    if event.anchor is not None:
        builder.note(event, messages.anchor(event.anchor))
    if event.tag is not None:
        builder.note(event, messages.tag(event.tag))


def _check_collection(builder: Builder, event: Any, depth: int) -> None:
    """Note what is wrong with a mapping or list as such. Raises AbandonError if it must not be entered."""
    if event.anchor is not None or event.tag is not None:
        _check_properties(builder, event)
    if depth > _DEPTH:
        builder.note(event, messages.too_deep(_DEPTH))
        raise AbandonError


def _too_many(builder: Builder, event: Any) -> None:
    builder.note(event, messages.too_many_values(builder.most))
    raise TooManyNodesError
