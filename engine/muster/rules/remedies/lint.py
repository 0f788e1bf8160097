"""Warnings about a valid Remedy: empty values, and names that do not exist."""

from collections.abc import Collection, Iterator, Sequence

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import path_text
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mappings_at
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.remedies.policy import ACTIONS, STATUSES


def lint_remedy(obj: Object, clusters: Collection[str]) -> Iterator[Finding]:
    """Yield warnings about explicit empty values, impossible statuses, missing clusters and unknown actions."""
    yield from _empty_values(obj)
    yield from _unknown_actions(obj)
    for index, entry in enumerate(mappings_at(obj.spec, "decisionMatches")):
        status = dig(entry, "clusterConditionMatch", "conditionStatus")
        if isinstance(status, str) and status not in STATUSES:
            at: At = ("spec", "decisionMatches", index, "clusterConditionMatch", "conditionStatus")
            message = f"no condition ever has the status {status!r}; it is True, False or Unknown"
            yield _warning(obj, at, Code.IMPOSSIBLE_STATUS, message, did_you_mean(status, STATUSES))
    for index, name in enumerate(dig(obj.spec, "clusterAffinity", "clusterNames") or ()):
        if name not in clusters:
            place: At = ("spec", "clusterAffinity", "clusterNames", index)
            yield _warning(
                obj, place, Code.UNKNOWN_REFERENCE, f"there is no cluster {name!r}", did_you_mean(name, clusters)
            )


def _unknown_actions(obj: Object) -> Iterator[Finding]:
    """Actions that nothing carries out. They are still written to `status.remedyActions`, as upstream's schema has no
    list."""
    said: Sequence[str] = obj.spec.get("actions") or ()
    for index, action in enumerate(said):
        if action not in ACTIONS and said.index(action) == index:
            hint = did_you_mean(action, ACTIONS) or f"what is known is {', '.join(ACTIONS)}"
            at: At = ("spec", "actions", index)
            yield _warning(obj, at, Code.UNKNOWN_ACTION, f"nothing carries out the action {action!r}", hint)


_MEANINGS: tuple[tuple[At, str], ...] = (
    (("spec", "clusterAffinity"), "it speaks of every cluster"),
    (("spec", "clusterAffinity", "clusterNames"), "it speaks of every cluster"),
    (("spec", "decisionMatches"), "it acts at once"),
    (("spec", "actions"), "it does nothing"),
)


def _empty_values(obj: Object) -> Iterator[Finding]:
    for at, meaning in _MEANINGS:
        value: Tree = dig(obj.body, *(str(step) for step in at))
        if value in ({}, []):
            message = f"{path_text(at)} is empty, which means the same as absent: {meaning}"
            yield _warning(
                obj,
                at,
                Code.EXPLICIT_EMPTY_VALUE,
                message,
                "remove the field if that is meant; Karmada reads it as nothing",
            )


def _warning(obj: Object, at: At, code: Code, message: str, hint: str) -> Finding:
    return finding_at(obj, at, code, message, hint)
