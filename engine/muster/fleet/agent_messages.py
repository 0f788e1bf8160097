"""Messages about agents' reports and about agents that do not report."""

from collections.abc import Sequence
from dataclasses import replace

from muster.data.codes import Code, Severity
from muster.data.decision import Path
from muster.data.finding import Finding
from muster.data.findings import finding, finding_of, path_text
from muster.data.ids import ObjectId
from muster.data.kinds import ADD_ON_PLACEMENT_SCORE
from muster.data.locations import FLEET_FILE
from muster.data.names import few
from muster.data.printable import without_secrets
from muster.data.snapshot import SignerIdentity, Withheld
from muster.data.source import Part, Place


def _of_report(about: Finding, ref: str) -> Finding:
    """The finding about a report. On an agent's ref it is only a warning: no commit can fix it, and no agent may fail
    the fleet's checks."""
    if about.severity is not Severity.ERROR:
        return about
    follows = _STAYS if about.object is not None and ADD_ON_PLACEMENT_SCORE.has(about.object) else _COUNTS_NOT
    return replace(about, message=f"{about.message}; {follows}", severity=Severity.WARNING if ref else about.severity)


_COUNTS_NOT = "it counts as not sent"
_STAYS = "placements that read it stay as they are"


def invalid_report(about: Finding, part: Part) -> Finding:
    """A report is invalid."""
    return _of_report(about, part.source.ref)


def invalid_agent_file(about: Finding) -> Finding:
    """A file on an agent's ref is invalid."""
    return _of_report(about, "agents")


def empty_file(label: str) -> Finding:
    """A file on an agent's ref is empty: whoever removes a report removes its file."""
    hint = "let the agent write it again, or remove the file"
    return finding(Code.FILE_LOST_ITS_OBJECT, "the file holds no report", Place(label), hint=hint)


def lost_agent_ref(ref: str, reason: str) -> Finding:
    """The repository lost an object of an agent's ref."""
    message = f"git cannot read the agent's ref ({reason}): the derived state is kept until the lease expires"
    hint = "let the agent send its next heartbeat, or restore the object: git fsck --full lists damaged ones"
    return finding(Code.AGENT_OBJECT_LOST, message, Place(ref), hint=hint)


def repeated_field(part: Part, path: Path, first: Place | None) -> Finding:
    """A report sets a field that another part already sets."""
    elsewhere = f" at {first}" if first else ""
    return _of_report(
        finding_of(
            part,
            Code.REPORT_REPEATS_PART,
            f"{path_text(path)} of {part.id} is also set{elsewhere}",
            "one file, one writer: keep one of them",
        ),
        part.source.ref,
    )


def detector_conflict(part: Part, path: Path, place: Place, detector: Place) -> Finding:
    """A part sets a condition that a detector already reports."""
    return _of_report(
        finding(
            Code.CONDITION_OF_DETECTOR,
            f"{path_text(path)} of {part.id} is what a detector reports at {detector}",
            place,
            hint="remove it here, or stop the detector and take its report away",
            object_=part.id,
        ),
        part.source.ref,
    )


def undeclared_cluster(part: Part) -> Finding:
    """Only agents report this cluster; no file declares it."""
    message = f"{part.id} is reported here, but no file declares it with a spec"
    hint = f"commit a {part.id.kind} named {part.id.name!r} with a spec, or remove this file"
    return finding_of(part, Code.STATUS_WITHOUT_DECLARATION, message, hint)


def removed_cluster_reports(part: Part) -> Finding:
    """People removed the cluster, and its agent still reports."""
    message = f"{part.id} was removed from the fleet, and its agent still reports: its reports are ignored"
    hint = f"stop the agent and delete its branch, or accept the cluster again: muster accept {part.id.name}"
    return finding_of(part, Code.AGENT_OF_REMOVED_CLUSTER, message, hint)


def refused_agent_part(part: Part, reason: str) -> Finding:
    """A part on an agent's ref that the agent may not write."""
    message = f"{part.id} on this agent's ref is refused: {reason}"
    hint = "an agent writes the Lease, status, reports and requests of its own cluster only"
    return finding_of(part, Code.NOT_THE_AGENTS_TO_SAY, message, hint)


def refused_agent_field(part: Part, cluster: str, field: str) -> Finding:
    """A field that an agent may not set, not even for its own cluster."""
    message = f"the agent of {cluster} may not set {field} of {part.id}; it is ignored"
    hint = _ASK_A_PERSON.get(field.partition(" ")[0], "a person sets it in the repository")
    return finding_of(part, Code.NOT_THE_AGENTS_TO_SAY, message, hint)


_ASK_A_PERSON = {
    "spec.hubAcceptsClient": "a person accepts a cluster",
    "metadata.labels": "labels decide what runs on a cluster: a person gives them, or muster accept --label KEY",
}


def unheard_clusters(clusters: Sequence[str]) -> Finding:
    """Clusters whose refs counted at the last run and cannot be read here."""
    number = "1 cluster speaks" if len(clusters) == 1 else f"{len(clusters)} clusters speak"
    message = f"{number} through refs that are not here, so nothing is decided about them: {few(clusters)}"
    hint = "fetch them, for example git fetch origin '+refs/heads/agents/*:refs/remotes/origin/agents/*'"
    return finding(Code.AGENTS_NOT_HEARD, message, hint=hint)


def withheld_remote(withheld: Withheld) -> Finding:
    """A further repository of agents' refs did not answer."""
    clusters = sorted(withheld.clusters)
    message = f"the repository {withheld.remote!r} of spec.agents.remotes could not be asked: {withheld.why}"
    undecided = f"; nothing is decided about its clusters: {few(clusters)}" if clusters else ""
    hint = "see that it can be reached from here, or take it out of spec.agents.remotes; the other clusters are decided"
    return finding(Code.AGENTS_REMOTE_NOT_HEARD, message + undecided, hint=hint)


def unasked_remote(name: str, url: str) -> Finding:
    """A revision under review names a repository of agents' refs that is not asked for that."""
    place = f"{name!r} of spec.agents.remotes ({without_secrets(url)})"
    message = f"the repository {place} was not asked: only this revision names it there"
    hint = "a run asks it once the revision is merged: see that the address is one that you want to ask"
    return finding(Code.AGENTS_REMOTE_NOT_ASKED, message, Place(FLEET_FILE), hint=hint)


def unverified_report(id_: ObjectId, doubted: SignerIdentity, *, heard: bool) -> Finding:
    """The latest report of a cluster's agent does not count, because the signer is not known to be the agent."""
    before = "its earlier reports count until its lease expires" if heard else "nothing of it counts"
    message = f"what the agent of {id_} says is not received: {doubted.doubt}; {before}"
    hint = "run its agent with --identity, and accept its certificate request if it has no certificate"
    return finding(Code.AGENT_NOT_VERIFIED, message, hint=hint, object_=id_)


def agent_gone(id_: ObjectId, *, declared: bool, exists: bool) -> Finding:
    """A cluster's ref is gone, or exists (`exists`) without a valid report. The next run does not find this transition
    again."""
    follows = "its earlier reports count until its lease expires" + ("" if declared else "; nothing else declares it")
    state = "holds nothing that counts now" if exists else "is gone"
    message = f"{id_} spoke through agents/{id_.name} at the last run, and that ref {state}: {follows}"
    hint = "start its agent again, or remove the cluster's files if it has left the fleet"
    return finding(Code.AGENT_REF_GONE, message, hint=hint, object_=id_)
