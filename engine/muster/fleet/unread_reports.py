"""What cannot be read on agents' refs: what they said last counts, for a while.

If it cannot be read what an agent says of its cluster, or what one of its files holds, its report counts as not sent
and the cluster as lost (`muster.fleet.agent_refs`): everything keeps its derived state until the lease expires, then
the cluster is silent. So by a broken file an agent neither changes its cluster nor freezes it for good. Another object
in a broken file of its cluster's agent keeps its state, and a Placement that reads a broken score stays as it is.
"""

from collections.abc import Collection, Iterable, Mapping

from muster.data.agentref import cluster_of, is_collected
from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    BESIDE_CLUSTERS,
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    CSR,
    kind_of,
    of_kinds,
)
from muster.data.tree import Tree, mapping_at
from muster.fleet import agent_messages as messages
from muster.fleet.agents import FilteredParts
from muster.fleet.approvals import requests_denied_by_people
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.reading import HeldByReports, UnreadReports
from muster.fleet.report_parts import is_forgotten, says_nothing
from muster.fleet.unread import ANY_NAME
from muster.fleet.vanished.undeclared import lost_declaration


def held_by_reports(
    unread: Mapping[str, UnreadReports], inputs: FilteredParts, previous: Mapping[ObjectId, Tree]
) -> HeldByReports:
    """Return what agents' unreadable files hold. `inputs`: the parts that count, of people and agents; `previous`: what
    the last run derived."""
    parts, bare = inputs.parts, inputs.bare
    sound = {part.id for part in parts if not (part.source.ref and says_nothing(part))}
    reporting = {part.source.ref for part in parts if kind_of(part.id) in CLUSTERS and "status" in part.body}
    requested = {part.id for part in parts if CSR.has(part.id) and "spec" in part.body}
    denied = requests_denied_by_people(parts)
    broken, clusters = set[ObjectId](), set[str]()
    for ref in {*unread, *(part.source.ref for part in bare)}:
        reports, cluster = unread.get(ref, UnreadReports()), cluster_of(ref)
        ids = reports.ids.union(part.id for part in bare if part.source.ref == ref)
        broken.update(id_ for id_ in ids if _is_kept(id_, cluster, sound))
        if reports.paths:
            broken.add(ADD_ON_PLACEMENT_SCORE.id(ANY_NAME, cluster))
        requests = of_kinds(previous if reports.paths else ids, CSR)
        broken.update(id_ for id_ in {*requests} - requested - denied if _requester(previous.get(id_)) == cluster)
        silenced = any(_is_cluster(id_, cluster) for id_ in ids) or (reports.paths and ref not in reporting)
        if silenced and not is_collected(ref):  # a collector is no agent
            clusters.add(cluster)
    findings = (messages.invalid_agent_file(lost_declaration(part, "status")) for part in bare)
    return HeldByReports(frozenset(broken), frozenset(clusters), tuple(findings))


def held_by_findings(invalid: Iterable[Finding]) -> HeldByReports:
    """Return what reports hold that can be read and are invalid, by the findings about them."""
    broken, clusters = set[ObjectId](), set[str]()
    for finding in invalid:
        if finding.object is None or is_forgotten(finding.object):
            continue
        if CSR.has(finding.object):
            continue  # a request that can be read is another one
        if finding.severity is not Severity.ERROR and kind_of(finding.object) in CLUSTERS:  # an agent's
            ref = finding.file.partition(":")[0]
            if not is_collected(ref):
                clusters.add(cluster_of(ref))
        else:
            broken.add(finding.object)
    return HeldByReports(frozenset(broken), frozenset(clusters))


def _is_cluster(id_: ObjectId, cluster: str) -> bool:
    return kind_of(id_) in CLUSTERS and id_.name == cluster


def _requester(request: Tree) -> Tree:
    """The cluster of a certificate request, by its derived part."""
    return mapping_at(request, "metadata", "labels").get(CLUSTER_NAME)


def _is_kept(id_: ObjectId, cluster: str, sound: Collection[ObjectId]) -> bool:
    """Does the object of an agent's cluster keep its state? Other than a score, it must be declared elsewhere."""
    if CLUSTER_DEPLOYMENT.has(id_):
        return id_.name == cluster and id_ in sound
    in_its_namespace = kind_of(id_) in BESIDE_CLUSTERS and id_.namespace == cluster
    return in_its_namespace and ADD_ON_PLACEMENT_SCORE.has(id_) is not (id_ in sound)
