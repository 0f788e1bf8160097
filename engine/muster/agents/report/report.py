"""Reports of adapters: a report becomes one file on the agent ref of its cluster.

All agents of a cluster share the ref `refs/heads/agents/<cluster>`, so a report is added to the present files by
compare-and-swap: after a lost race, it reads again and retries.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from muster.data.agentref import agent_ref
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, NODE_POOL
from muster.data.source import Layer, Part, SourceFile
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import UnwritableError, file_text
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.schema_findings import schema_findings
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.memory.rootref import RootRef, Seal, update
from muster.git.push import attempts, jittered
from muster.git.repository import Repository

_ATTEMPTS, _BASE_SECONDS, _MOST_SECONDS = 10, 0.2, 5.0


@dataclass(frozen=True, slots=True)
class ReportCondition:
    """One condition of a report."""

    type: str
    status: str
    reason: str = ""
    message: str = ""

    @classmethod
    def parse(cls, text: str) -> "ReportCondition":
        """Parse `Available=True`, `Available=False:NoRecord` or `Available=False:NoRecord:no such zone`. ValueError."""
        type_, equals, rest = text.partition("=")
        status, _, said = rest.partition(":")
        reason, _, message = said.partition(":")
        if not equals or not type_:
            raise ValueError(f"{text!r} is not TYPE=STATUS[:REASON[:MESSAGE]]")
        if status not in ("True", "False", "Unknown"):
            raise ValueError(f"the status of {type_} cannot be {status!r}; it is True, False or Unknown")
        return cls(type_, status, reason, message)

    def tree(self) -> Tree:
        """Return the condition as a report has it."""
        said = {"reason": self.reason, "message": self.message}
        return {"type": self.type, "status": self.status, **{name: text for name, text in said.items() if text}}


def completed(conditions: Sequence[ReportCondition]) -> list[ReportCondition]:
    """Return the conditions with the required ones added.

    An adapter that reports has applied its work and is healthy, unless it says otherwise. `Available` is never assumed:
    without it no report is accepted.
    """
    given = {condition.type for condition in conditions}
    return [*conditions, *(ReportCondition(type_, "True") for type_ in ("Applied", "Health") if type_ not in given)]


def is_unknown(conditions: Sequence[ReportCondition]) -> bool:
    """Is the report's `Available` Unknown? The fleet would discard such a report (seed 004, use case 1 and rule 2:
    "a post-condition that discards adapter report")."""
    return any(condition.type == "Available" and condition.status == "Unknown" for condition in conditions)


def report_object(
    target: ObjectId,
    cluster: str,
    adapter: str,
    generation: int,
    now: datetime,
    conditions: Sequence[ReportCondition],
    data: Tree = None,
) -> Tree:
    """Return the AdapterReport of an adapter on an object of a cluster."""
    resource = {"kind": target.kind, "name": target.name}
    if target.namespace and target.namespace != cluster:
        resource["namespace"] = target.namespace
    spec: Tree = {
        "resource": resource,
        "adapter": adapter,
        "observed_generation": generation,
        "observed_time": format_time(now),
        "conditions": [condition.tree() for condition in completed(conditions)],
    }
    if data is not None:
        spec["data"] = data
    name = f"{target.name}.{adapter}" if target.kind == NODE_POOL.name else adapter
    return ADAPTER_REPORT.body({"name": name, "namespace": cluster}, spec=spec)


def check_report(body: Tree) -> None:
    """ValueError for a report that the fleet's schema would refuse: only the adapter can correct it."""
    id_ = ADAPTER_REPORT.id(body["metadata"]["name"], body["metadata"]["namespace"])
    try:
        data = file_text(body).encode()
    except UnwritableError as error:
        raise ValueError(f"the fleet could not read the report: {error}. Send less.") from error
    source = SourceFile("report", "", lambda: data)
    part = Part(id_, ADAPTER_REPORT.versions[0], body, Layer.INPUT, source)
    for finding in schema_findings(Object(id_, body, (part,))):
        raise ValueError(f"the report is not valid: {finding.message}. {finding.hint}".strip())


def send(
    repository: Repository,
    cluster: str,
    report: Tree,
    remote: str | None,
    sleep: Callable[[float], None] = time.sleep,
    seal: Seal | None = None,
) -> str:
    """Write a report to the cluster's agent ref, on a remote or locally, and return the commit, signed with the `seal`.

    RepositoryError if the remote does not take it, or if the ref keeps moving.
    """
    ref = agent_ref(cluster)
    path, text = f"reports/{report['metadata']['name']}.yaml", file_text(report)
    delays = jittered(_ATTEMPTS, base_seconds=_BASE_SECONDS, most_seconds=_MOST_SECONDS)
    done = update(
        RootRef(repository, ref, remote, seal=seal),
        lambda standing: {**standing.files, path: text.encode()},
        f"Report {path}\n",
        attempts=attempts(delays, sleep),
    )
    if isinstance(done, Rejected):
        raise RepositoryError(f"{remote} rejected the report: {done}", "allow the agent to force-push its own ref")
    if isinstance(done, Moved):
        raise RepositoryError(f"{ref} kept moving, so the report was not sent", "send it again")
    assert done.commit is not None
    return done.commit
