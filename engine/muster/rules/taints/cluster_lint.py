"""Findings about a valid ClusterTaintPolicy."""

from collections.abc import Iterator, Mapping

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import TAINT_EFFECTS
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, mappings_at
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.settings import Settings
from muster.rules.remedies.policy import STATUSES
from muster.rules.taints.cluster_policy import OPERATORS


def taint_policy_findings(obj: Object, settings: Settings) -> Iterator[Finding]:
    """Yield what Karmada's webhook refuses (a repeated taint, and NoExecute unless the fleet allows it), and values
    without effect."""
    taints = [(str(taint.get("key")), str(taint.get("effect"))) for taint in mappings_at(obj.spec, "taints")]
    for index, taint in enumerate(taints):
        where = f"spec.taints[{index}]"
        if taints.count(taint) > 1 and taints.index(taint) == index:
            message = f"{where} adds {taint[0]}:{taint[1]}, and so does another entry"
            yield _finding(obj, Code.TAINT_TWICE_IN_POLICY, index, message, "keep one of them")
        if taint[1] == "NoExecute" and not settings.no_execute:
            message = f"{where} adds a NoExecute taint, which moves work off clusters"
            hint = "set spec.taints.allowNoExecute: true on the Fleet if policies may do that"
            yield _finding(obj, Code.NO_EXECUTE_BY_POLICY, index, message, hint)
        if not any(taint[1] in effects for effects in TAINT_EFFECTS.values()):
            yield _finding(obj, Code.UNKNOWN_TAINT_EFFECT, index, f"{where}: no cluster takes the effect {taint[1]!r}",
                           "use NoSchedule or NoExecute")  # fmt: skip
    for name in ("addOnConditions", "removeOnConditions"):
        for index, entry in enumerate(mappings_at(obj.spec, name)):
            yield from _slips(obj, ("spec", name, index), entry)


def _slips(obj: Object, at: At, entry: Mapping[str, Tree]) -> Iterator[Finding]:
    """Values that upstream's schema accepts and that match nothing."""
    operator = str(entry.get("operator"))
    if operator not in OPERATORS:
        message = f"the operator {operator!r} matches nothing; it is In or NotIn"
        yield finding_at(obj, (*at, "operator"), Code.UNKNOWN_OPERATOR, message, did_you_mean(operator, OPERATORS))
    for index, status in enumerate(entry.get("statusValues") or ()):
        if status not in STATUSES:
            message = f"no condition ever has the status {status!r}; it is True, False or Unknown"
            hint = did_you_mean(str(status), STATUSES)
            yield finding_at(obj, (*at, "statusValues", index), Code.IMPOSSIBLE_STATUS, message, hint)


def _finding(obj: Object, code: Code, index: int, message: str, hint: str) -> Finding:
    return finding_at(obj, ("spec", "taints", index), code, message, hint)
