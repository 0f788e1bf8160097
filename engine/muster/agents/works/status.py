"""The status of a ManifestWork: conditions of each manifest and of the work as a whole.

Source: ocm `manifestwork_reconciler.go`, `availablestatus_controller.go` and `conditions/helpers.go`. Deliberate
differences: messages of the condition Applied name the first failure; a failed removal counts as a failure, because a
missing right must be seen.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from muster.agents.works.observing import RULE_REASON, ConditionValue
from muster.data.times import format_time
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.dataclass import dataclass

APPLIED, AVAILABLE, PROGRESSING, COMPLETE = "Applied", "Available", "Progressing", "Complete"
_FEEDBACK: Final = "StatusFeedbackSynced"
_MOST_CHARACTERS: Final = 1000
#: What tells manifests apart; their order in the work does not.
_IDENTIFYING: Final = ("group", "version", "kind", "resource", "namespace", "name")

IS_APPLIED: Final = ConditionValue("True", "AppliedManifestComplete", "Apply manifest complete")
IS_AVAILABLE: Final = ConditionValue("True", "ResourceAvailable", "Resource is available")
IS_MISSING: Final = ConditionValue("False", "ResourceNotAvailable", "Resource is not available")
HAS_NO_KIND: Final = ConditionValue("Unknown", "IncompleteResourceMeta", "Resource meta is incomplete")


@dataclass(slots=True)
class ManifestResult:
    """What is known of a manifest. `applied` None: it was not applied this time; `feedback` None: it was not read."""

    meta: Tree
    applied: ConditionValue | None
    available: ConditionValue = HAS_NO_KIND
    feedback: tuple[list[Tree], ConditionValue] | None = None
    rules: Mapping[str, ConditionValue] = field(default_factory=dict)


def work_status(
    results: Sequence[ManifestResult], generation: int, before: Tree, now: datetime, problems: Sequence[str] = ()
) -> dict[str, Tree]:
    """Return the status of a work. `before`: its last one; `problems`: removals that failed."""
    before_by_identity = {
        _identity(entry.get("resourceMeta")): entry for entry in mappings_at(before, "resourceStatus", "manifests")
    }
    manifests = [
        _manifest(result, generation, before_by_identity.get(_identity(result.meta)), now) for result in results
    ]
    conditions = _Conditions(mappings_at(before, "conditions"), generation, now)
    if any(result.applied is not None for result in results) or problems or not results:
        conditions.set(APPLIED, _applied(results, problems), generation)
    for type_, said in _aggregated(manifests).items():
        conditions.set(type_, said, generation)
    return {"conditions": conditions.sorted(), "resourceStatus": {"manifests": manifests}}


def manifest_conditions(status: Tree, meta: Tree) -> dict[str, Tree]:
    """Return the conditions of a manifest in a work's status, by type."""
    manifests = mappings_at(status, "resourceStatus", "manifests")
    manifest: Tree = next(
        (manifest for manifest in manifests if _identity(manifest.get("resourceMeta")) == _identity(meta)), {}
    )
    return {str(condition.get("type")): condition for condition in mappings_at(manifest, "conditions")}


def _identity(meta: Tree) -> tuple[str, ...]:
    return tuple(str(mapping_at(meta).get(name) or "") for name in _IDENTIFYING)


def _manifest(result: ManifestResult, generation: int, before: Tree, now: datetime) -> Tree:
    conditions = _Conditions(mappings_at(before, "conditions"), generation, now)
    if result.applied is not None:
        conditions.set(APPLIED, result.applied, generation)
    conditions.set(AVAILABLE, result.available)
    manifest = {"resourceMeta": result.meta}
    values = mappings_at(before, "statusFeedback", "values")
    if result.feedback is not None:
        values, said = result.feedback
        conditions.set(_FEEDBACK, said)
        for type_, value in result.rules.items():
            conditions.set(type_, value, generation)
    if values:
        manifest["statusFeedback"] = {"values": values}
    return {**manifest, "conditions": conditions.sorted()}


class _Conditions:
    """Conditions by type. Those that rules gave in another generation are gone."""

    def __init__(self, before: Iterable[Tree], generation: int, now: datetime) -> None:
        self._now = now
        self._known = {str(condition.get("type")): condition for condition in before}
        self._generation = generation

    def set(self, type_: str, said: ConditionValue, generation: int | None = None) -> None:
        old = self._known.get(type_, {})
        since = old.get("lastTransitionTime") if old.get("status") == said.status else None
        self._known[type_] = {
            "type": type_,
            "status": said.status,
            "reason": said.reason,
            "message": said.message[:_MOST_CHARACTERS],
            "lastTransitionTime": since or format_time(self._now),
            **({"observedGeneration": generation} if generation is not None else {}),
        }

    def sorted(self) -> list[Tree]:
        return [condition for _, condition in sorted(self._known.items()) if not self._is_of_old_rule(condition)]

    def _is_of_old_rule(self, condition: Tree) -> bool:
        return is_of_rule(condition) and condition.get("observedGeneration") != self._generation


def is_of_rule(condition: Tree) -> bool:
    """Was a condition derived by a rule?"""
    return str(condition.get("reason")).startswith(RULE_REASON)


def _applied(results: Sequence[ManifestResult], problems: Sequence[str]) -> ConditionValue:
    failed = [
        result.applied.message for result in results if result.applied is not None and result.applied.status != "True"
    ]
    if not failed and not problems:
        return ConditionValue("True", "AppliedManifestWorkComplete", "Apply manifest work complete")
    counted = f"Failed to apply manifest work: {len(failed)} of {len(results)} manifests" if failed else "Failed"
    return ConditionValue("False", "AppliedManifestWorkFailed", f"{counted}: {'; '.join((*failed[:1], *problems))}")


def _aggregated(manifests: Sequence[Tree]) -> dict[str, ConditionValue]:
    """The conditions of a work that follow from those of its manifests."""
    said: dict[str, list[Tree]] = {AVAILABLE: []}
    for condition in _all_conditions(manifests):
        if condition["type"] == AVAILABLE or is_of_rule(condition):
            said.setdefault(condition["type"], []).append(condition)
    return {
        type_: _available(values, len(manifests)) if type_ == AVAILABLE else _of_rules(type_, values)
        for type_, values in said.items()
    }


def _all_conditions(manifests: Iterable[Tree]) -> Iterator[Tree]:
    return (condition for manifest in manifests for condition in manifest["conditions"])


def _available(conditions: Sequence[Tree], total: int) -> ConditionValue:
    count = Counter(condition["status"] for condition in conditions)
    if count["False"]:
        return ConditionValue(
            "False", "ResourcesNotAvailable", f"{count['False']} of {total} resources are not available"
        )
    if count["Unknown"]:
        return ConditionValue(
            "Unknown", "ResourcesStatusUnknown", f"{count['Unknown']} of {total} resources have unknown status"
        )
    if not count["True"]:
        return ConditionValue("Unknown", "ResourcesStatusUnknown", "cannot get any available resource")
    return ConditionValue("True", "ResourcesAvailable", "All resources are available")


def _of_rules(type_: str, conditions: Sequence[Tree]) -> ConditionValue:
    """Progressing if anything progresses; any other condition is True if it is True everywhere."""
    order = ("True", "Unknown", "False") if type_ == PROGRESSING else ("False", "Unknown", "True")
    statuses = {condition["status"] for condition in conditions}
    status = next(status_in_order for status_in_order in order if status_in_order in statuses)
    message = conditions[0]["message"] if len(conditions) == 1 else ""
    return ConditionValue(
        status, "ConditionRulesAggregated", message or f"Aggregated from {len(conditions)} manifest conditions"
    )
