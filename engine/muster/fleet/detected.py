"""One reporter per condition: what a detector reports, nobody says by hand beside it.

A detector says when it looked (`lastUpdateTime`), in a report: on its cluster's ref, or in a file that it renews, as a
condition or as one of `status.detections`. Its word counts. The same condition from anybody else, a person's file or
another agent, is refused by a finding at its place and left out; it would otherwise stand for ever, as it once was, and
the detector would go unheard.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, kind_of
from muster.data.source import Part
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.fleet import agent_messages as messages
from muster.fleet.places import place_of


def without_hand_written(
    parts: Iterable[Part], is_report: Callable[[Part], bool]
) -> tuple[Sequence[Part], list[Finding]]:
    """Return the parts of one object without the conditions that a detector reports in another part, and a finding for
    each condition that is left out."""
    all_parts = tuple(parts)
    if len(all_parts) < 2 or kind_of(all_parts[0].id) not in CLUSTERS:
        return all_parts, []
    detected = {type_: part for part in all_parts if is_report(part) for type_ in _detected(part)}
    if not detected:
        return all_parts, []
    findings: list[Finding] = []
    left = []
    for part in all_parts:
        others = [type_ for type_ in _said(part) if detected.get(type_, part) is not part]
        findings.extend(_refused(part, type_, detected[type_]) for type_ in dict.fromkeys(others))
        left.append(_without(part, frozenset(others)) if others else part)
    return left, findings


def _said(part: Part) -> Iterator[str]:
    """The types of the conditions that a part has without a time at which somebody looked."""
    for condition in mappings_at(part.body, "status", "conditions"):
        if not condition.get("lastUpdateTime") and isinstance(condition.get("type"), str):
            yield condition["type"]


def _detected(part: Part) -> Iterator[str]:
    for section in ("conditions", "detections"):
        for word in mappings_at(part.body, "status", section):
            if word.get("lastUpdateTime") and isinstance(word.get("type"), str):
                yield word["type"]


def _without(part: Part, types: frozenset[str]) -> Part:
    status = dict(mapping_at(part.body, "status"))
    rest: list[Tree] = [
        one for one in status.pop("conditions") if not (isinstance(one, dict) and _is_hand_written(one, types))
    ]
    return replace(part, body={**part.body, "status": {**status, **({"conditions": rest} if rest else {})}})


def _is_hand_written(condition: dict[str, Tree], types: frozenset[str]) -> bool:
    return condition.get("type") in types and not condition.get("lastUpdateTime")


def _refused(part: Part, type_: str, by: Part) -> Finding:
    path: Path = ("status", "conditions", (type_,))
    return messages.detected(part, path, place_of([part], path), place_of([by], path))
