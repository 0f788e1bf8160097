"""Reporting as an adapter: a report becomes one file on the agent ref of its cluster.

The ref `refs/heads/agents/<cluster>` is shared by all who speak for the cluster, so a report is put beside what is
there, by compare-and-swap: whoever loses a race reads again and tries again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from muster.data.agentref import agent_ref
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, NODE_POOL
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import file_text
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.push import attempts, jittered
from muster.git.repository import Repository
from muster.git.rootref import RootRef, Seal, update

_ATTEMPTS, _BASE_SECONDS, _MOST_SECONDS = 10, 0.2, 5.0


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a report."""

    type: str
    status: str
    reason: str = ""
    message: str = ""

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read `Available=True`, `Available=False:NoRecord` or `Available=False:NoRecord:no such zone`. ValueError."""
        type_, equals, rest = text.partition("=")
        status, _, said = rest.partition(":")
        reason, _, message = said.partition(":")
        if not equals or not type_:
            raise ValueError(f"{text!r} is not TYPE=STATUS[:REASON[:MESSAGE]]")
        if status not in ("True", "False", "Unknown"):
            raise ValueError(f"the status of {type_} cannot be {status!r}; it is True, False or Unknown")
        return cls(type_, status, reason, message)

    def tree(self) -> Tree:
        """As it stands in a report."""
        said = {"reason": self.reason, "message": self.message}
        return {"type": self.type, "status": self.status, **{name: text for name, text in said.items() if text}}


def completed(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions with those added that every report must have: an adapter that reports has applied its work
    and is healthy, unless it says otherwise. `Available` is never assumed: without it no report is accepted."""
    given = {condition.type for condition in conditions}
    return [*conditions, *(Condition(type_, "True") for type_ in ("Applied", "Health") if type_ not in given)]


def withheld(conditions: Sequence[Condition]) -> bool:
    """Whether a report has nothing to say yet (seed 004, use case 1 and rule 2: "a post-condition that discards adapter
    report"): its `Available` is Unknown, and the fleet would discard it."""
    return any(condition.type == "Available" and condition.status == "Unknown" for condition in conditions)


def report_object(
    target: ObjectId, cluster: str, adapter: str, generation: int, now: datetime,
    conditions: Sequence[Condition], data: Tree = None,
) -> Tree:  # fmt: skip
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


def send(
    repository: Repository,
    cluster: str,
    report: Tree,
    remote: str | None,
    sleep: Callable[[float], None] = time.sleep,
    seal: Seal | None = None,
) -> str:
    """Put a report on the cluster's agent ref, on a remote or here, and return the commit, signed with the `seal`.

    RepositoryError where the remote does not take it or others keep being faster."""
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
        raise RepositoryError(f"{remote} rejected the report: {done.reason}", done.text)
    if isinstance(done, Moved):
        raise RepositoryError(f"{ref} kept moving, so the report was not sent", "send it again")
    assert done.commit is not None
    return done.commit
