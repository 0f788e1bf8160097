"""Broken fleets by the thousand: mutations of the files of a fleet, drawn from a seed.

Most random damage is caught by a schema and proves little. So the mutations know what they touch: a time is replaced by
a time at the edge of what a program can hold, a duration by an absurd one, an expression by one that misbehaves, and a
field by what another document says under the same name. Damage of every other sort is drawn too, less often.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.data.times import try_duration, try_time
from muster.data.tree import Tree
from muster.data.yaml.loader import load_documents

#: The files of a revision by path, and those of agent refs by ref and path.
Files: TypeAlias = dict[tuple[str, str], bytes]
#: The way to a value: the container that holds it, and its key or index there.
Slot: TypeAlias = tuple[Tree, Tree]

TIMES = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "0001-01-01T23:59:00+23:59",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59.999999999Z",
    "0000-01-01T00:00:00Z",
    "0000-12-31T23:59:59-01:00",
    "2026-01-01T12:00:00.5Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:59:60Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z",
    "2026-01-01T12:00:00+14:00",
    "2026-01-01t12:00:00z",
    "2025-12-31T11:00:00Z",
    "2026-01-01T11:59:59Z",
    "2026-01-01T12:00:00Z",
    "2026-01-01T12:00:01Z",
    "2026-01-01T12:10:00Z",
    "2026-01-02T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T00:00:00+99:99",
    "now",
    "",
)
DURATIONS = (
    "0",
    "0s",
    "1ns",
    "999999999999999h",
    "99999999h",
    "2562047h",
    "87660000h",
    "0.000000001s",
    "1h1h1h1h",
    "-5m",
    "+5m",
    "1e9s",
    "5",
    "",
    "9" * 60 + "s",
    "24000000h",
    "8760h",
    "1s",
    "40s",
    "10m",
    "1µs",
    "100000h",
)
NUMBERS: tuple[Tree, ...] = (
    0,
    1,
    2,
    3,
    -1,
    59,
    60,
    100,
    255,
    256,
    65535,
    86400,
    2**31 - 1,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.5,
    1e308,
    -1e308,
    1e-300,
    3.0,
)
TEXTS = (
    "",
    " ",
    "a",
    "x" * 300,
    "x" * 70_000,
    "ä",
    "😀",
    "a\nb",
    "a\r\nMuster-Now: x",
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "True",
    "true",
    "null",
    "0",
    "-1",
    "0x10",
    "55%",
    "100%",
    "999999999999%",
    "-5%",
    "../..",
    "/etc/passwd",
    "a/b",
    "a:b",
    "*",
    "{}",
    "[]",
    "${{x}}",
    "default",
    "Unknown",
    "False",
    "prod-eu-1",
    "pools",
    "1Gi",
    "1e400",
    "0.1m",
    "v1",
    "muster.dev/v1alpha1",
    "NoSelect",
    "NoExecute",
    "Exists",
    "Equal",
    "In",
    "kind",
    "\ud7ff",
    "\ufffd",
    "é" * 64,
)
URLS = (
    "file:pulses.jsonl",
    "file:a/../b",
    "file:../hooks/x",
    "file:/tmp/x",
    "file:",
    "file:.",
    "file:a/",
    "file://host/x",
    "file:%2e%2e/x",
    "http://127.0.0.1:1/x",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/",
    "http://127.0.0.1:abc/",
    "http://[::1",
    "http://[::1]:1/",
    "http://[127.0.0.1]/",
    "http:///x",
    "http://:1/",
    "https://127.0.0.1:1",
    "http://\u2100",
    "http://a..b/",
    "http://" + "a" * 300 + "/",
    "amqp://127.0.0.1:1/",
    "amqp://127.0.0.1:99999/x",
    "amqp:///",
    "amqps://[::1",
    "stdout:",
    "stdout:x",
    "ftp://127.0.0.1/",
    "gopher:",
    "",
    "http",
    "http://127.0.0.1:1/%zz",
    "http://127.0.0.1:1/\u0000",
    "http://127.0.0.1:0/",
    "http://xn--/",
    "http://127.0.0.1:1/" + "x" * 3000,
)
EXPRESSIONS = (
    "true",
    "false",
    "1",
    "'x'",
    "dyn(1).or(dyn(2))",
    "dyn([]).or(optional.none())",
    "dyn(1).orValue(2)",
    "dyn(self).value()",
    "dyn('x').hasValue()",
    "1 / 0 == 0",
    "1 % 0 == 0",
    "9223372036854775807 + 1 > 0",
    "-9223372036854775807 - 2 < 0",
    "now + duration('99999999h') > now",
    "timestamp('9999-12-31T23:59:59Z') + duration('1s') > now",
    "timestamp('0001-01-01T00:00:00Z') - duration('1s') < now",
    "now - timestamp('0001-01-01T00:00:00Z') > duration('1s')",
    "now.getHours('Nowhere/City') == 1",
    "now.getHours('+99:99') == 1",
    "duration('10000000h') > duration('1s')",
    "timestamp(9223372036854775807) > now",
    "timestamp(dyn('x')) > now",
    "self.x.y.z == 1",
    "dyn(self)['x'] == dyn(1)",
    "self.metadata.name.matches('(')",
    "self.metadata.name.matches(self.metadata.name + '(')",
    "'%d'.format(['x']) == ''",
    "'%z'.format([1]) == ''",
    "string(1e400) == 'inf'",
    "int(1e30) == 1",
    "uint(-1) == 1u",
    "[1,2,3][99] == 1",
    "{'a': 1}['b'] == 1",
    "[1, 'a', dyn(null)].exists(x, x == 1)",
    "has(self.spec.foo)",
    "lists.range(100).map(x, x) == []",
    "quantity('1e400').isGreaterThan(quantity('1'))",
    "quantity('x') == quantity('y')",
    "url('http://[::1').getHost() == ''",
    "ip('1.2.3.4').family() == 4",
    "cidr('0.0.0.0/99').prefixLength() == 1",
    "'abc'.charAt(99) == 'x'",
    "'abc'.substring(5, 2) == ''",
    "'x'.replace('', 'yy', 5) == ''",
    "math.greatest([]) == 1",
    "[].min() == 1",
    "optional.none().value() == 1",
    "now",
    "null == null",
    "b'\\xff' == b''",
    "string(b'\\xff') == ''",
    "type(self) == map",
    "semver('1') == semver('2')",
    "now.getDayOfYear() == 1",
    "now - duration('1h') < timestamp(string(now))",
    "1u - 2u == 0u",
    "((((((((((1))))))))))== 1",
    "self",
    "(",
    "",
    "a.b(c",
    "'\\ud800' == ''",
    "lease.spec.renewTime < now",
    "'x' in self.metadata",
    "[1] + dyn('x') == []",
    "dyn(1) < dyn('x')",
    "dyn(now) < dyn(1)",
    "dyn(self) == self",
    "double('NaN') == double('NaN')",
    "bool('maybe')",
    "base64.decode('!') == b''",
    "sets.contains([1], dyn(['x']))",
    "dyn('x').exists(y, y)",
    "dyn(1).all(y, y)",
    "self.all(x, x)",
)
_CONTAINERS: tuple[Callable[[], Tree], ...] = (
    list,
    dict,
    lambda: [[]],
    lambda: [{}],
    lambda: {"": None},
    lambda: [None],
)
_SCALARS: tuple[Tree, ...] = (None, True, False)
_URL_FIELDS = frozenset(("url",))
_EXPRESSION_FIELDS = frozenset(("when", "expression", "subject"))


@dataclass(frozen=True, slots=True)
class Broken(Snapshot):
    """A snapshot of mutated files, with agents' refs."""

    contents: Files

    def files(self) -> Iterator[SourceFile]:
        """Yield the files of the revision by path, then those of the refs."""
        for (ref, path), data in sorted(self.contents.items()):
            yield SourceFile(path, f"{hash(data) & (2**160 - 1):040x}", lambda data=data: data, ref)  # type: ignore[misc]


@dataclass
class Mutator:
    """Breaks the files of a corpus in random ways. The same seed breaks them alike.

    `said` is all that the corpus says under each name: what a field may be replaced with.
    """

    corpus: Mapping[tuple[str, str], bytes]
    seed: int
    draws: random.Random = field(init=False)
    said: dict[str, list[Tree]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.draws = random.Random(self.seed)
        for key, data in sorted(self.corpus.items()):
            for document in documents(key[1], data):
                for container, name in slots(document):
                    if isinstance(name, str):
                        self.said.setdefault(name, []).append(container[name])

    def broken(self) -> Files:
        """Return the corpus with one to twelve mutations in it."""
        files: Files = dict(self.corpus)
        for _ in range(1 + int(self.draws.expovariate(0.5)) % 12):
            key = self.draws.choice(sorted(files))
            mutate = self._whole_file if self.draws.random() < 0.15 else self._documents
            mutate(files, key)
        return files

    def _documents(self, files: Files, key: tuple[str, str]) -> None:
        """Mutate parsed documents of a file, and write it anew as JSON, which is YAML too."""
        found = documents(key[1], files[key])
        if not found:
            return
        for _ in range(self.draws.choice((1, 1, 1, 2, 3))):
            self._slot(self.draws.choice(found))
        files[key] = b"---\n".join(
            json.dumps(body, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for body in found
        )

    def _slot(self, document: Tree) -> None:
        found = list(slots(document))
        if not found:
            return
        container, name = self.draws.choice(found)
        draw = self.draws.random()
        if draw < 0.62:
            container[name] = self._value(str(name), container[name])
        elif draw < 0.74:
            container[name] = self._elsewhere(str(name))
        elif draw < 0.82:
            del container[name]
        elif draw < 0.88:
            other, its = self.draws.choice(found)
            container[name] = _copy(other[its])
        elif draw < 0.95 and isinstance(container, dict):
            added = self.draws.choice(sorted(self.said))
            container[added] = self._elsewhere(added)
        elif isinstance(container, list):
            container.extend(_copy(container[:50]) if self.draws.random() < 0.5 else [_copy(container[name])])
        else:
            container[name] = self._anything()

    def _value(self, name: str, value: Tree) -> Tree:
        """Another value of the sort that stands there, most of the time."""
        if self.draws.random() < 0.15:
            return self._anything()
        if name in _URL_FIELDS:
            return self.draws.choice(URLS)
        if name in _EXPRESSION_FIELDS or name.endswith("Expression"):
            return self.draws.choice(EXPRESSIONS)
        if try_time(value) is not None or "time" in name.lower():
            return self.draws.choice(TIMES)
        if try_duration(value) is not None:
            return self.draws.choice(DURATIONS)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return self.draws.choice(NUMBERS)
        if isinstance(value, str):
            return self.draws.choice((*TEXTS, *self._texts(name)))
        return self._elsewhere(name)

    def _texts(self, name: str) -> list[str]:
        return [value for value in self.said.get(name, ()) if isinstance(value, str)]

    def _elsewhere(self, name: str) -> Tree:
        """What some document says under the same name, or under any."""
        known = self.said.get(name) if self.draws.random() < 0.8 else None
        return _copy(self.draws.choice(known or self.said[self.draws.choice(sorted(self.said))]))

    def _anything(self) -> Tree:
        draw = self.draws.random()
        if draw < 0.1:
            return self._nested(self.draws.choice((3, 20, 60, 200)))
        pools: tuple[tuple[Tree, ...], ...] = (TIMES, DURATIONS, NUMBERS, TEXTS, URLS, EXPRESSIONS, _SCALARS)
        if draw < 0.3:
            return self.draws.choice(_CONTAINERS)()
        return self.draws.choice(self.draws.choice(pools))

    def _nested(self, depth: int) -> Tree:
        value: Tree = self.draws.choice(TEXTS)
        for _ in range(depth):
            value = {"a": value} if self.draws.random() < 0.5 else [value]
        return value

    def _whole_file(self, files: Files, key: tuple[str, str]) -> None:
        """Damage below what YAML says, or to where a file lies."""
        data, draw = files[key], self.draws.random()
        if draw < 0.25:
            at = self.draws.randrange(len(data) + 1)
            files[key] = data[:at]
        elif draw < 0.5 and data:
            changed = bytearray(data)
            for _ in range(self.draws.choice((1, 2, 10))):
                changed[self.draws.randrange(len(changed))] = self.draws.randrange(256)
            files[key] = bytes(changed)
        elif draw < 0.6:
            lines = data.splitlines(keepends=True)
            self.draws.shuffle(lines)
            files[key] = b"".join(lines)
        elif draw < 0.7:
            lines = data.splitlines(keepends=True)
            at = self.draws.randrange(len(lines) + 1)
            files[key] = b"".join([*lines[:at], *lines[max(0, at - 2) :]])
        elif draw < 0.8:
            del files[key]
        else:
            ref, path = self.draws.choice(sorted(files))
            folder = self.draws.choice(("", "derived/", "derived/managedclusters/", path.rpartition("/")[0] + "/"))
            name = key[1].rpartition("/")[2]
            files[ref, f"{folder}{self.draws.choice(('', 'x'))}{name}"] = data
            if self.draws.random() < 0.5:
                files.pop(key, None)


def documents(path: str, data: bytes) -> list[Tree]:
    """The documents of a file that can be read, as trees that may be changed."""
    return [_copy(document.body) for document in load_documents(data, path).documents]


def slots(tree: Tree) -> Iterator[Slot]:
    """Every place in a tree that holds a value."""
    for name in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield tree, name
        yield from slots(tree[name])


def _copy(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {name: _copy(value) for name, value in tree.items()}
    return [_copy(value) for value in tree] if isinstance(tree, list) else tree
