"""Reports: the parts that agents and adapters write.

A broken agent is a silent one. If its Lease, status or report is invalid, or repeats a field of another part, it is
left out with a finding, and what it said last counts until the lease expires (`muster.fleet.unread_reports`): so it
cannot freeze the cluster in its last state. What people own keeps its last derived state while it is broken.

Content decides what is a report: everything on an agent's ref; in other files Leases, AdapterReports and
AddOnPlacementScores, and parts of clusters, ManifestWorks and add-ons with a `status` and no `spec`.

A condition has one reporter. A detector states when it looked (`lastUpdateTime`), on its cluster's ref or in a file
that it renews, as a condition or in `status.detections`. The same condition from anyone else is refused with a finding:
it would otherwise stay forever and hide the detector's report.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    ADD_ON_PLACEMENT_SCORE,
    CLUSTERS,
    LEASE,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    kind_of,
)
from muster.data.source import Part
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.fleet import agent_messages as messages
from muster.fleet.merge import merge
from muster.fleet.objects import Object
from muster.fleet.places import place_of, places_of


def without_detected_conditions(
    parts: Iterable[Part], is_report: Callable[[Part], bool]
) -> tuple[Sequence[Part], list[Finding]]:
    """Return one object's parts without conditions that a detector reports in another part, and a finding for each one
    removed."""
    all_parts = tuple(parts)
    if len(all_parts) < 2 or kind_of(all_parts[0].id) not in CLUSTERS:
        return all_parts, []
    detected = {type_: part for part in all_parts if is_report(part) for type_ in _detected_types(part)}
    if not detected:
        return all_parts, []
    findings: list[Finding] = []
    remaining = []
    for part in all_parts:
        others = [type_ for type_ in _hand_written_types(part) if detected.get(type_, part) is not part]
        findings.extend(_refused(part, type_, detected[type_]) for type_ in dict.fromkeys(others))
        remaining.append(_without_reported(part, frozenset(others)) if others else part)
    return remaining, findings


def _hand_written_types(part: Part) -> Iterator[str]:
    for condition in mappings_at(part.body, "status", "conditions"):
        if not condition.get("lastUpdateTime") and isinstance(condition.get("type"), str):
            yield condition["type"]


def _detected_types(part: Part) -> Iterator[str]:
    for section in ("conditions", "detections"):
        for condition in mappings_at(part.body, "status", section):
            if condition.get("lastUpdateTime") and isinstance(condition.get("type"), str):
                yield condition["type"]


def _without_reported(part: Part, types: frozenset[str]) -> Part:
    status = dict(mapping_at(part.body, "status"))
    rest: list[Tree] = [
        condition
        for condition in status.pop("conditions")
        if not (isinstance(condition, dict) and condition.get("type") in types and not condition.get("lastUpdateTime"))
    ]
    return replace(part, body={**part.body, "status": {**status, **({"conditions": rest} if rest else {})}})


def _refused(part: Part, type_: str, by: Part) -> Finding:
    path: Path = ("status", "conditions", (type_,))
    return messages.detector_conflict(part, path, place_of([part], path), place_of([by], path))


_IDENTITY: Final = ("apiVersion", "kind", "metadata")
#: Kinds that consist of reports only.
REPORTS: Final = (LEASE, ADAPTER_REPORT, ADD_ON_PLACEMENT_SCORE)


def is_report(id_: ObjectId) -> bool:
    """Is this kind nothing but reports?"""
    return kind_of(id_) in REPORTS


def is_forgotten(id_: ObjectId) -> bool:
    """Does a report of this kind count as not sent if it cannot be read? muster remembers what it said: of a Lease the
    renewal, of an AdapterReport the verdict. It does not remember scores, so what reads one stays as it is."""
    return is_report(id_) and not ADD_ON_PLACEMENT_SCORE.has(id_)


def report_sections(part: Part) -> tuple[str, ...]:
    """The sections of a part that are reports; empty if none. With `metadata` it is the whole part."""
    if part.source.ref or is_report(part.id):
        return tuple(part.body)
    reports_status = kind_of(part.id) in (*CLUSTERS, MANIFEST_WORK, MANAGED_CLUSTER_ADD_ON)
    status = reports_status and "status" in part.body and "spec" not in part.body
    return ("status",) if status else ()


def says_nothing(part: Part) -> bool:
    """Has a report lost its content, other than one that counts as not sent then?"""
    return not is_forgotten(part.id) and not any(isinstance(part.body.get(name), dict) for name in ("spec", "status"))


def has_reports(obj: Object) -> bool:
    """Does any part of the object report something?"""
    return any(report_sections(part) for part in obj.parts)


def merge_parts(id_: ObjectId, parts: Iterable[Part]) -> tuple[Object, list[Path], list[Finding]]:
    """Merge the parts of one object, people's first. Also return the paths that several of people's parts set, and
    findings about reports left out because they repeat a field of an earlier part."""
    merged_parts: list[Part] = []
    body: Tree = None
    conflicts: list[Path] = []
    findings: list[Finding] = []
    heard_parts, hand_written = without_detected_conditions(parts, lambda part: bool(report_sections(part)))
    findings.extend(hand_written)
    for part in sorted(heard_parts, key=lambda part: bool(report_sections(part))):
        set_twice: list[Path] = []
        merged = part.body if body is None else merge(body, part.body, kind_of(id_).list_keys, set_twice)
        sections = report_sections(part)
        if set_twice and all(path[0] in sections for path in set_twice):
            first = places_of(merged_parts, set_twice[0])
            findings.append(messages.repeated_field(part, set_twice[0], first[0] if first else None))
            rest = _without(part, sections)
            if rest is None:
                continue
            part, merged = rest, merge(body, rest.body, kind_of(id_).list_keys, set_twice)
        else:
            conflicts.extend(set_twice)
        body = merged
        merged_parts.append(part)
    return Object(id_, body, tuple(merged_parts)), conflicts, findings


#: Returns the findings about an object.
FindErrors = Callable[[Object], Sequence[Finding]]


def without_invalid_reports(obj: Object, wrong: FindErrors) -> tuple[Object | None, list[Finding]]:
    """Leave out every report that makes the object invalid; None if nothing remains.

    Also return the findings about the reports. Findings that exist without them concern people's parts and are not
    included.
    """
    rests = {index: rest for index, part in enumerate(obj.parts) if (rest := _without(part, report_sections(part)))}
    chosen = dict(rests)
    existing = {_key(violation) for violation in wrong(_merged(obj.id, chosen))} if chosen else set()
    findings: list[Finding] = []
    for index, part in enumerate(obj.parts):
        if not report_sections(part):
            continue
        trial = {**chosen, index: part}
        new = [violation for violation in wrong(_merged(obj.id, trial)) if _key(violation) not in existing]
        if new:
            findings.extend(messages.invalid_report(violation, part) for violation in new)
        else:
            chosen = trial
    undeclared = _has_spec(obj.parts) and not _has_spec(chosen.values())
    if not chosen or (obj.kind in CLUSTERS and undeclared):
        return None, findings
    return _merged(obj.id, chosen), findings


def _has_spec(parts: Iterable[Part]) -> bool:
    return any("spec" in part.body for part in parts)


def _without(part: Part, sections: Iterable[str]) -> Part | None:
    """A part without some sections; None if no content remains."""
    body = {name: value for name, value in part.body.items() if name not in sections}
    says = len(body) > len(_IDENTITY) or set(body.get("metadata", {})) - {"name", "namespace"}
    return replace(part, body=body) if "metadata" in body and says else None


def _merged(id_: ObjectId, parts: dict[int, Part]) -> Object:
    ordered = tuple(parts[index] for index in sorted(parts))
    body = ordered[0].body
    for part in ordered[1:]:
        body = merge(body, part.body, kind_of(id_).list_keys, [])
    return Object(id_, body, ordered)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message
