"""Do the adapters look at what a case expects? Each expectation is altered one leaf at a time, and must then fail.

An adapter that recomputes an expectation, or passes over a key, hides what muster does. `python -m
tests.conformance.mutation AREA --cases DIR` lists the alterations that nobody notices, and exits with 1 where they are
too many or do not stand in `unnoticed`; the test beside this holds the adapters to the same. An alteration changes
nothing of the situation, so the evaluation of a case is done once for all of them.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from muster.data.times import format_duration, parse_duration
from tests.conformance import cel, hive, hyperfleet, karmada, ocm, rollout
from tests.conformance.reading import PROSE
from tests.conformance.report import Outcome
from tests.conformance.unnoticed import UNNOTICED

Json = Any
Step = str | int

#: The share of alterations, in percent, that an adapter has to notice.
REQUIRED = 97.0


@dataclass(frozen=True, slots=True)
class Area:
    """An adapter as the mutations see it: its cases, and the outcome of one of them."""

    cases: Callable[[Path], list[Json]]
    judge: Callable[[Json], Outcome]


AREAS: Mapping[str, Area] = {
    "cel": Area(lambda directory: [dict(case) for case in cel.cases(directory) if "expect" in case], cel.judge),
    "hive": Area(hive.load, hive.judge),
    "hyperfleet": Area(lambda directory: list(hyperfleet.cases(directory)), hyperfleet.judge),
    "karmada": Area(lambda directory: list(karmada.cases(directory)), karmada.judge),
    "ocm": Area(lambda directory: list(ocm.cases(directory)), ocm.judge),
    "rollout": Area(lambda directory: list(rollout.cases(directory)), rollout.judge),
}


@dataclass(slots=True)
class Noticed:
    """How many alterations were tried, and where nobody noticed: `case: path = value`."""

    tried: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of alterations that were noticed, in percent."""
        return 100.0 if not self.tried else 100 * (self.tried - len(self.missed)) / self.tried


def noticed(area: Area, directory: Path) -> Noticed:
    """Alter every expectation of every case that passes, one leaf at a time."""
    found = Noticed()
    for case in area.cases(directory):
        if area.judge(case).status != "passed":
            continue
        for path, value in leaves(case["expect"]):
            found.tried += 1
            altered = {**case, "expect": with_leaf(case["expect"], path, other(value))}
            if area.judge(altered).status == "passed":
                name = case["id"] if "id" in case else cel.name_of(case)
                found.missed.append(f"{name}: {'.'.join(map(str, path))} = {value!r}")
    return found


def unlisted(area: str, found: Noticed) -> list[str]:
    """What nobody noticed and no reason is given for."""
    patterns = UNNOTICED.get(area, {})
    places = {line: line.partition(" = ")[0] for line in found.missed}
    return [line for line, place in places.items() if not any(fnmatchcase(place, known) for known in patterns)]


def leaves(tree: Json, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Json]]:
    """Every leaf of an expectation with its path; an empty mapping or list is one."""
    if isinstance(tree, dict) and tree:
        for name, child in tree.items():
            if path or name not in PROSE:
                yield from leaves(child, (*path, name))
    elif isinstance(tree, list) and tree:
        for index, child in enumerate(tree):
            yield from leaves(child, (*path, index))
    elif path:
        yield path, tree


def mappings(tree: Json, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The path of every mapping of an expectation, its own among them."""
    if isinstance(tree, dict):
        yield path
    if isinstance(tree, dict | list):
        for step, child in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from mappings(child, (*path, step))


_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WHOLE = re.compile(r"-?\d+")
_DURATION = re.compile(r"(\d+[hms])+")


def other(value: Json) -> Json:
    """A value of the same type that says something else: a second more of a duration, and
    seven of an instant, because cases are a second before or after some limit."""
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        seconds = 7 if value < "9999" else -7  # the specification's last instant has none after it
        return (datetime.fromisoformat(value) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return format_duration(parse_duration(value) + timedelta(seconds=1))
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return str(int(value) + 1)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 - 7.25  # one more is the same number where it is large
    if isinstance(value, list):
        return ["another"]
    if isinstance(value, dict):
        return {"another": "another"}
    swapped = {"True": "False", "False": "True", "Unknown": "True"}
    return swapped.get(value, f"{value}x") if isinstance(value, str) else "another"


def with_leaf(tree: Json, path: tuple[Step, ...], value: Json) -> Json:
    """A copy of the tree with another leaf."""
    copy = deepcopy(tree)
    here = copy
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return copy


def main() -> int:
    """Print what nobody notices."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.mutation")
    parser.add_argument("area", choices=sorted(AREAS))
    parser.add_argument("--cases", type=Path, default=Path(__file__).parent / "cases")
    options = parser.parse_args()
    found = noticed(AREAS[options.area], options.cases)
    bare = unlisted(options.area, found)
    sys.stdout.writelines(f"not noticed{'' if line in bare else ', listed'}: {line}\n" for line in found.missed)
    sys.stdout.write(f"{options.area}: {found.share:.1f} % of {found.tried} alterations noticed\n")
    return 1 if bare or found.share < REQUIRED else 0


if __name__ == "__main__":
    sys.exit(main())
