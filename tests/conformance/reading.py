"""Reading files of cases so that none of them can stop the others.

A file that is no YAML, a list with something else in it, a case without an id or an expectation: each becomes a failed
outcome with a name, and the rest of the cases run. What a case expects is compared key by key, so a key that an
adapter does not know is a failure that names it, never a thing passed over.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
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


def cases_in(directory: Path, system: str, is_ours: Callable[[Json], bool] = lambda _: False) -> Iterator[Json]:
    """Yield the cases of a directory's YAML files in the order of their names.

    A file whose name has the system's in it holds nothing but its cases; of any other file, those that `is_ours`
    knows by their form. A file that cannot be read is one case that says so, and fails.
    """
    for path in sorted(directory.glob("*.y*ml")):
        named = system in path.name
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Texts)
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


def options(wanted: Json) -> list[Json]:
    """What something may be: the alternatives of `{any_of: [...]}`, or the one thing."""
    return list(wanted["any_of"]) if isinstance(wanted, dict) and wanted.keys() == {"any_of"} else [wanted]


def agrees(wanted: Json, have: Json) -> bool:
    """Whether something is as wanted, where any part of what is wanted can be `{any_of: [...]}`."""
    if isinstance(wanted, dict) and wanted.keys() == {"any_of"} and have != wanted:
        return any(agrees(option, have) for option in wanted["any_of"])
    if isinstance(wanted, list) and isinstance(have, list):
        return len(wanted) == len(have) and all(map(agrees, wanted, have))
    if isinstance(wanted, dict) and isinstance(have, dict):
        return wanted.keys() == have.keys() and all(agrees(wanted[name], have[name]) for name in wanted)
    return bool(wanted == have)


class Doubt(str):
    """Something that a case expects and nothing here can tell true from false, with the reason: the case is skipped by
    name, unless something else in it fails."""


def outcome(area: str, name: str, wrong: Iterable[tuple[Json, Json]]) -> Outcome:
    """What became of a case, by what differs between what is expected and what there is."""
    found = list(wrong)
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
        try:
            return judge(case)
        except Exception as error:  # noqa: BLE001 - a case that breaks the adapter is a failed one, the others go on
            return Outcome(area, name, "failed", "no crash", f"{type(error).__name__}: {error}")

    return guarded


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


def unknown_inputs(case: Json, given: Collection[str], *further: str) -> Iterator[tuple[str, str]]:
    """What of a case nothing puts into its repository: keys beside the known ones, of the case and of `given`."""
    yield from unknown_keys(case, {"id", "area", "given", "expect", *_ORIGIN, *further}, "the case")
    yield from unknown_keys(case["given"], given, "given")


def unknown_keys(given: Mapping[str, Json], known: Collection[str], where: str = "expect") -> Iterator[tuple[str, str]]:
    """What nothing compares: pairs of expected and actual that name the key."""
    for key in given:
        if key not in known and key not in PROSE:
            yield f"{where}.{key}: {given[key]!r}", f"nothing here knows how to compare {key}"
