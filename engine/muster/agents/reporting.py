"""Reporting as an adapter: a report becomes one file on the agent ref of its cluster.

The ref `refs/heads/agents/<cluster>` is shared by all who speak for the cluster, so a report is put beside what is
there, by compare-and-swap: whoever loses a race reads again and tries again.

What an adapter does about its task, and what it says of it: the decision at the heart of an adapter.

Source: seed 004, "K8s jobs" and "Simplifications for the MVP". The task is a Kubernetes Job that retries until it
succeeds and is never deleted, so a completed one is used again, and one that is still at it says nothing final.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from muster.data.agentref import agent_ref
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, NODE_POOL
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mappings_at
from muster.data.yaml.emitter import file_text
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.push import attempts, jittered
from muster.git.repository import Repository
from muster.git.rootref import RootRef, Seal, update

#: The annotation of a task that says which generation of the object it works on.
GENERATION: Final = "hyperfleet.io/generation"

Action = Literal["create", "reuse", "none"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is to be done about the task, and the `Available` that follows from it: Unknown while it works."""

    action: Action
    available: Literal["True", "False", "Unknown"]


def assess(job: Tree, generation: int) -> Assessment:
    """Return what an adapter does about its Job for a generation of an object; `job` is None where there is none.

    A Job that says it is of another generation is none for this one; one that says nothing is of the generation that
    it is asked about. A Job that failed for good cannot be made anew without a life cycle for it, so it goes on saying
    False.
    """
    if not job or generation_of(job) not in (None, generation):
        return Assessment("create", "Unknown")
    conditions = {c.get("type"): c.get("status") for c in mappings_at(job, "status", "conditions")}
    if conditions.get("Complete") == "True":
        return Assessment("reuse", "True")
    if conditions.get("Failed") == "True":
        return Assessment("none", "False")
    return Assessment("none", "Unknown")


def generation_of(job: Tree) -> int | None:
    """The generation that a Job says it works on; None where it says nothing. ValueError where what it says is none."""
    said = dig(job, "metadata", "annotations", GENERATION)
    if said is None:
        return None
    if re.fullmatch(r"[1-9][0-9]{0,17}", str(said)) is None:
        raise ValueError(f"the Job's annotation {GENERATION} is no generation: {str(said)!r}")
    return int(str(said))


def only_job(document: Tree) -> Tree:
    """Return the Job that `kubectl get -o yaml` printed: the document itself, or the one element of its list.

    ValueError where it is something else, or none or several.
    """
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        items = mappings_at(document, "items")
        if len(items) != 1:
            raise ValueError(f"it holds {len(items)} Jobs, not one")
        document = items[0]
    if not isinstance(document, dict) or not document:
        raise ValueError("it holds no Job")
    if (kind := document.get("kind", "Job")) != "Job":
        raise ValueError(f"it holds a {kind}, not a Job")
    return document


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
