"""Reading files of cases so that none of them can stop the others.

A file that is no YAML, a list with something else in it, a case without an id or an expectation: each becomes a failed
outcome with a name, and the rest of the cases run. What a case expects is compared key by key. A key that an adapter
does not know is never passed over: the case is skipped, and the reason names the key.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, wraps
from itertools import islice, product
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.report import Outcome

Json = Any
Judge = Callable[[Json], Outcome]

#: What any expectation may hold and nothing is held to: an explanation for people.
PROSE = frozenset({"note"})


class _Texts(yaml.CSafeLoader):
    """Leaves times as they are written."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Plain(yaml.CSafeDumper):
    """Writes twice what a case file refers to twice: a fleet repository has no anchors."""

    def ignore_aliases(self, data: Json) -> bool:
        return True


def as_yaml(*bodies: Json) -> str:
    """Documents as a file of a repository."""
    return str(yaml.dump_all(bodies, Dumper=_Plain, sort_keys=False))


def cases_in(directory: Path, system: str, is_ours: Callable[[Json], bool] = lambda _: False) -> Iterator[Json]:
    """Yield the cases of a directory's YAML files in the order of their names.

    A file whose name has the system's in it holds nothing but its cases; of any other file, those that `is_ours`
    knows by their form. A file that cannot be read is one case that says so, and fails.
    """
    for path in sorted(directory.glob("*.y*ml")):
        named = system in path.name
        try:
            document = _document(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            if named:
                yield {"id": path.name, "unreadable": " ".join(str(error).split())}
            continue
        found = document.get("cases") if isinstance(document, dict) else document
        if named and not isinstance(found, list | None):
            yield {"id": path.name, "unreadable": "neither a list of cases nor a mapping with one under `cases`"}
        for case in found if isinstance(found, list) else ():
            if named or (isinstance(case, dict) and is_ours(case)):
                yield case


@lru_cache(maxsize=100)
def _document(text: str) -> Json:
    """A file of cases, which nobody changes."""
    return yaml.load(text, Loader=_Texts)


class Doubt(str):
    """Something that a case expects and nothing here can tell true from false, with the reason: the case is skipped by
    name, unless something else in it fails."""


class Unplaced(Doubt):
    """Something of a situation that nothing here puts into a repository: what follows from the rest tells nothing."""


def outcome(area: str, name: str, wrong: Iterable[tuple[Json, Json]]) -> Outcome:
    """What became of a case, by what differs between what is expected and what there is."""
    found = list(wrong)
    if missing := [actual for _, actual in found if isinstance(actual, Unplaced)]:
        return Outcome(area, name, "skipped", actual=str(missing[0]))
    failed = [(str(expected), str(actual)) for expected, actual in found if not isinstance(actual, Doubt)]
    if failed:
        return Outcome(area, name, "failed", "; ".join(pair[0] for pair in failed), "; ".join(p[1] for p in failed))
    return Outcome(area, name, "skipped", actual=str(found[0][1])) if found else Outcome(area, name, "passed")


def careful(judge: Judge) -> Judge:
    """A judge that fails a case that is none, or that breaks it, by name."""

    @wraps(judge)
    def guarded(case: Json) -> Outcome:
        area, name = (str(case.get(key, key)) if isinstance(case, dict) else str(case) for key in ("area", "id"))
        if problem := _malformed(case):
            return Outcome(area, name, "failed", "a case with id, area, given and expect", problem)
        told = [attempt({**case, "expect": expect}) for expect in islice(alternatives(case["expect"]), MOST)]
        if len(told) == MOST:
            return Outcome(area, name, "skipped", actual=f"it leaves {MOST} outcomes open, or more")
        return min(told, key=lambda outcome: ("passed", "skipped", "failed").index(outcome.status))

    def attempt(case: Json) -> Outcome:
        try:
            return judge(case)
        except Exception as error:  # noqa: BLE001 - a case that breaks the adapter is a failed one, the others go on
            return Outcome(str(case["area"]), case["id"], "failed", "no crash", f"{type(error).__name__}: {error}")

    return guarded


#: How many outcomes a case may leave open.
MOST = 512
#: Parts of an expectation that say of each thing what it may be, where one choice depends on the others.
_TIED = frozenset({"assignments"})


def alternatives(wanted: Json) -> Iterator[Json]:
    """Every expectation that one with `{any_of: [...]}` in it allows; where nothing is left open, the one itself."""
    if isinstance(wanted, dict) and wanted.keys() == {"any_of"} and isinstance(wanted["any_of"], list):
        for option in wanted["any_of"]:
            yield from alternatives(option)
    elif isinstance(wanted, dict):
        parts = [_tied(part) if name in _TIED else tuple(alternatives(part)) for name, part in wanted.items()]
        yield from (dict(zip(wanted, chosen, strict=True)) for chosen in product(*parts))
    elif isinstance(wanted, list):
        yield from map(list, product(*(tuple(alternatives(part)) for part in wanted)))
    else:
        yield wanted


def _tied(part: Json) -> tuple[Json, ...]:
    return tuple(part["any_of"]) if isinstance(part, dict) and part.keys() == {"any_of"} else (part,)


def _malformed(case: Json) -> str:
    """What is wrong with the form of a case; empty where nothing is."""
    if not isinstance(case, dict):
        return f"{type(case).__name__} in place of a mapping"
    if "unreadable" in case:
        return str(case["unreadable"])
    for key, kind in (("id", str), ("area", str), ("given", dict), ("expect", dict)):
        if not isinstance(case.get(key), kind):
            return f"{key} is {case.get(key)!r}"
    return ""


#: What any case may have beside what it gives and expects: where it comes from, and how far it was checked.
_ORIGIN = frozenset({"source_test", "source_code", "derived", "adaptation", "provenance", "verified", "seed_status"})


def unknown_inputs(case: Json, given: Collection[str], *further: str) -> Iterator[tuple[str, Doubt]]:
    """What of a case nothing puts into its repository: keys beside the known ones, of the case and of `given`."""
    yield from unknown_keys(case, {"id", "area", "given", "expect", *_ORIGIN, *further}, "the case")
    yield from unknown_keys(case["given"], given, "given")


def unknown_keys(
    given: Mapping[str, Json], known: Collection[str], where: str = "expect"
) -> Iterator[tuple[str, Doubt]]:
    """What nothing here understands, as doubts that name the key."""
    doubt = Doubt if where.startswith("expect") else Unplaced
    for key in given:
        if key not in known and key not in PROSE:
            yield f"{where}.{key}: {given[key]!r}", doubt(f"nothing here understands {where}.{key}")
