"""What a detector writes: the condition of its cluster and the lease of its reporters, in one file.

The condition carries `lastUpdateTime`, by which policies know how fresh it is. Its message stays that of the
transition: one that changed with every probe would make a commit of each.
"""

from dataclasses import dataclass
from datetime import datetime

from muster.agents.detect.election import LeaseHold
from muster.data.kinds import LEASE, Kind
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mappings_at
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.fleet.leases import LONGEST_SECONDS


@dataclass(frozen=True, slots=True)
class Subject:
    """Which condition of which cluster is reported; `kind` is one of `muster.data.kinds.CLUSTERS`."""

    kind: Kind
    cluster: str
    type: str

    @property
    def slug(self) -> str:
        """The condition's type as it can stand in names of objects and files."""
        return self.type.replace("/", ".").replace("_", "-").lower()

    @property
    def path(self) -> str:
        """The report's file on the cluster's ref."""
        return f"detectors/{self.slug}.yaml"


@dataclass(frozen=True, slots=True)
class StandingReport:
    """A report as it stands: the condition, and the lease of who wrote it; either may be missing."""

    condition: Tree = None
    hold: LeaseHold | None = None

    @property
    def healthy(self) -> bool | None:
        """What the condition says; None where it says nothing certain."""
        return {"True": True, "False": False}.get(str(dig(self.condition, "status")))


def condition(subject: Subject, before: Tree, *, healthy: bool, detail: str, now: datetime) -> Tree:
    """Return the condition to report; `before` is the one that stands (None: none).

    Reasons are those of Karmada's detector: `<Type>` for True, and for False the type with `Failed` for `Ready`.
    """
    status = str(healthy)
    seen = format_time(now.replace(microsecond=0))
    if dig(before, "status") == status and try_time(dig(before, "lastTransitionTime")) is not None:
        return {**before, "lastUpdateTime": seen}
    name = subject.type.rpartition("/")[2]
    return {
        "type": subject.type,
        "status": status,
        "reason": name if healthy else f"{name.removesuffix('Ready')}Failed",
        "message": detail,
        "lastTransitionTime": seen,
        "lastUpdateTime": seen,
    }


def report_text(subject: Subject, report: StandingReport) -> str:
    """Return the report as a file: a part of the cluster's object, and the lease if there is one."""
    documents: list[Tree] = []
    if report.condition is not None:
        documents.append(subject.kind.body({"name": subject.cluster}, status={"conditions": [report.condition]}))
    if report.hold is not None:
        documents.append(_lease(subject, report.hold))
    return "---\n".join(file_text(document) for document in documents)


def read_report(subject: Subject, data: bytes | None) -> StandingReport:
    """Return the report that a file holds. What is damaged, or speaks of something else, counts as missing."""
    found: Tree = None
    hold: LeaseHold | None = None
    for document in load_documents(data or b"", subject.path).documents:
        if document.body.get("kind") == LEASE.name:
            hold = _hold(document.body)
        elif document.body.get("kind") == subject.kind.name:
            conditions = mappings_at(document.body, "status", "conditions")
            found = next((one for one in conditions if one.get("type") == subject.type), None)
    return StandingReport(found, hold)


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
