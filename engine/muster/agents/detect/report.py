"""The file that a detector writes: the condition of its cluster and the lease of its detectors.

The condition carries `lastUpdateTime`, so that policies can tell its age. Its message stays the one of the transition:
a message that changed with every probe would change the file every time.
"""

from datetime import datetime
from typing import Final, NamedTuple

from muster.agents.detect.election import LeaseHold
from muster.data.kinds import LEASE, Kind
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.leases import LONGEST_SECONDS


class StatusText(NamedTuple):
    """What a condition says with one of its statuses; empty: as Karmada's detector, and the result of the probe."""

    reason: str = ""
    message: str = ""


_USUAL: Final = StatusText()


@dataclass(frozen=True, slots=True)
class Subject:
    """The condition of a cluster that is reported; `kind` is one of `muster.data.kinds.CLUSTERS`."""

    kind: Kind
    cluster: str
    type: str
    healthy: StatusText = _USUAL
    unhealthy: StatusText = _USUAL

    @property
    def slug(self) -> str:
        """The condition's type in a form that is valid in names of objects and files."""
        return self.type.replace("/", ".").replace("_", "-").lower()

    @property
    def path(self) -> str:
        """The report's file on the cluster's ref."""
        return f"detectors/{self.slug}.yaml"


@dataclass(frozen=True, slots=True)
class DetectorReport:
    """The contents of the file: the condition, and the lease of its writer; either may be missing."""

    condition: Tree = None
    hold: LeaseHold | None = None

    @property
    def healthy(self) -> bool | None:
        """The condition's status; None if it is neither True nor False."""
        return {"True": True, "False": False}.get(str(dig(self.condition, "status")))


def condition(subject: Subject, before: Tree, *, healthy: bool, detail: str, now: datetime) -> Tree:
    """Return the condition to report; `before` is the present one (None: none).

    Reasons are those of Karmada's detector unless the subject has others: `<Type>` for True; for False the type with
    `Failed` instead of `Ready`.
    """
    status = str(healthy)
    seen = format_time(now.replace(microsecond=0))
    if dig(before, "status") == status and try_time(dig(before, "lastTransitionTime")) is not None:
        return {**before, "lastUpdateTime": seen}
    name, text = subject.type.rpartition("/")[2], subject.healthy if healthy else subject.unhealthy
    return {
        "type": subject.type,
        "status": status,
        "reason": text.reason or (name if healthy else f"{name.removesuffix('Ready')}Failed"),
        "message": text.message or detail,
        "lastTransitionTime": seen,
        "lastUpdateTime": seen,
    }


def report_text(subject: Subject, report: DetectorReport) -> str:
    """Return the file: a part of the cluster's object, and the lease if there is one."""
    documents: list[Tree] = []
    if report.condition is not None:
        documents.append(subject.kind.body({"name": subject.cluster}, status={"conditions": [report.condition]}))
    if report.hold is not None:
        documents.append(_lease(subject, report.hold))
    return "---\n".join(file_text(document) for document in documents)


def read_report(subject: Subject, data: bytes | None) -> DetectorReport:
    """Return the report in a file. Documents that are damaged, or about another subject, count as missing."""
    reported: Tree = None
    hold: LeaseHold | None = None
    for document in load_documents(data or b"", subject.path).documents:
        if document.body.get("kind") == LEASE.name:
            hold = _hold(document.body)
        elif document.body.get("kind") == subject.kind.name:
            conditions = mappings_at(document.body, "status", "conditions")
            reported = next((condition for condition in conditions if condition.get("type") == subject.type), None)
    return DetectorReport(reported, hold)


def _lease(subject: Subject, hold: LeaseHold) -> Tree:
    spec = {
        "holderIdentity": hold.holder,
        "leaseDurationSeconds": hold.lease_seconds,
        "renewTime": hold.renewed,
        "leaseTransitions": hold.transitions,
    }
    return LEASE.body({"name": f"detector-{subject.slug}", "namespace": subject.cluster}, spec=spec)


def _hold(body: Tree) -> LeaseHold | None:
    spec = dig(body, "spec")
    seconds, transitions = dig(spec, "leaseDurationSeconds"), dig(spec, "leaseTransitions")
    holder, renewed = dig(spec, "holderIdentity"), dig(spec, "renewTime")
    if not (isinstance(holder, str) and isinstance(renewed, str) and isinstance(seconds, int) and seconds > 0):
        return None
    return LeaseHold(holder, renewed, min(seconds, LONGEST_SECONDS), transitions if isinstance(transitions, int) else 0)
