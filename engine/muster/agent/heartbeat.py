"""The heartbeat of a cluster: a Lease that is renewed, and what the cluster is, on the cluster's own ref.

Source: seeds 000 and 002 and upstream's registration agent. Until the hub accepts the cluster, the agent only asks to
be let in. Afterwards it renews the Lease and reports; while the hub says that the clocks differ it renews, and leaves
the report as it was.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster.agent.agent_ref import AgentRef, Standing
from muster.agent.health import AVAILABLE, RETRY_SECONDS, Patience, Verdict
from muster.agent.hub import View
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME
from muster.gitio.errors import RepositoryError
from muster.model.kinds import LEASE, MANAGED_CLUSTER
from muster.model.times import format_time
from muster.model.tree import Tree, mapping_at, mappings_at
from muster.yamlio.emitter import emit
from muster.yamlio.loader import load_documents

CLUSTER_FILE, LEASE_FILE = "cluster.yaml", "lease.yaml"
DEFAULT_SECONDS = 60
_JITTER = 0.25  # of a period, so that agents that start together do not stay together
_RACES = 5


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent has to say at one instant. `verdict` None: a failure that is too young to be believed."""

    instant: datetime
    verdict: Verdict | None
    facts: Mapping[str, Tree]


@dataclass
class Heart:
    """One cluster's heartbeats. `look` asks the cluster, `view` the hub; `wait` sleeps, and says whether to stop.

    `lease_seconds` is the agent's own wish; the hub may stretch it.
    """

    ref: AgentRef
    holder: str
    look: Callable[[], Verdict]
    facts: Callable[[], Mapping[str, Tree]]
    view: Callable[[], View]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    wait: Callable[[float], bool]
    lease_seconds: int = DEFAULT_SECONDS
    further: Mapping[str, bytes] = field(default_factory=dict)
    _patience: Patience = field(default_factory=Patience)
    _seen: View = field(default_factory=View)

    def beat(self) -> str:
        """Report once and return what was said. RepositoryError where the hub does not take it.

        A failure is looked at again until it has lasted, or is over.
        """
        view = self._seen = self.view()
        if not view.accepted:
            self._push(self._asking, "Ask to be let in")
            return "asked to be let in"
        verdict = self._patience.believed(found := self.look(), self.monotonic())
        while verdict is None and not self.wait(RETRY_SECONDS):
            verdict = self._patience.believed(found := self.look(), self.monotonic())
        said = Said(self.now(), verdict, self.facts() if found.status == "True" else {})
        self._push(lambda standing: self._files(standing, view, said), "Renew")
        return f"renewed, {AVAILABLE} is {verdict.status}" if verdict else "renewed"

    def period(self) -> float:
        """Seconds until the next heartbeat: a lease's duration, and up to a quarter more."""
        seconds = self._seen.lease_seconds or self.lease_seconds
        return seconds * (1 + random.random() * _JITTER)  # noqa: S311 - it only spreads load

    def _push(self, make: Callable[[Standing], dict[str, bytes]], message: str) -> None:
        for _ in range(_RACES):
            standing = self.ref.look()
            if self.ref.replace(standing, make(standing), f"{message}\n") is not None:
                return
        raise RepositoryError(f"{self.ref.ref} kept moving", "does another agent speak for the same cluster?")

    def _asking(self, standing: Standing) -> dict[str, bytes]:
        return {**standing.files, **self.further, CLUSTER_FILE: _text(self._cluster({}))}

    def _files(self, standing: Standing, view: View, said: Said) -> dict[str, bytes]:
        """The ref's files: others', such as reports of adapters, stay."""
        before = mapping_at(_loaded(standing.files.get(CLUSTER_FILE, b"")), "status")
        status = status_of(before, said) if view.synced else before
        return {
            **standing.files, **self.further,
            CLUSTER_FILE: _text(self._cluster(status)), LEASE_FILE: _text(self._lease(view, said.instant)),
        }  # fmt: skip

    def _cluster(self, status: Tree) -> Tree:
        spec = {"hubAcceptsClient": False, "leaseDurationSeconds": self.lease_seconds}
        body = _object(MANAGED_CLUSTER.api_version, MANAGED_CLUSTER.name, {"name": self.ref.cluster}, spec)
        return {**body, "status": status} if status else body

    def _lease(self, view: View, instant: datetime) -> Tree:
        name = self.ref.cluster
        metadata = {"name": LEASE_NAME, "namespace": name, "labels": {CLUSTER_NAME: name}}
        seconds = view.lease_seconds or self.lease_seconds
        spec = {"holderIdentity": self.holder, "leaseDurationSeconds": seconds, "renewTime": format_time(instant)}
        return _object(LEASE.api_version, LEASE.name, metadata, spec)


def status_of(before: Mapping[str, Tree], said: Said) -> dict[str, Tree]:
    """Return the status to report: facts that could not be read stay, and so does a verdict that is not believed yet.

    Of capacity, what only others have written stays too, as upstream leaves it.
    """
    facts = dict(said.facts)
    if "capacity" in facts:
        facts["capacity"] = {**mapping_at(before, "capacity"), **facts["capacity"]}
    conditions = [c for c in mappings_at(before, "conditions") if said.verdict is None or c.get("type") != AVAILABLE]
    if said.verdict is not None:
        old = next((c for c in mappings_at(before, "conditions") if c.get("type") == AVAILABLE), {})
        same = old.get("status") == said.verdict.status
        since = old["lastTransitionTime"] if same and "lastTransitionTime" in old else format_time(said.instant)
        conditions.append({
            "type": AVAILABLE, "status": said.verdict.status, "reason": said.verdict.reason,
            "message": said.verdict.message, "lastTransitionTime": since,
        })  # fmt: skip
    return {**before, **facts, "conditions": conditions}


def _object(api_version: str, kind: str, metadata: Tree, spec: Tree) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _text(body: Tree) -> bytes:
    return emit(body).encode()


def _loaded(data: bytes) -> Tree:
    documents = load_documents(data, "").documents
    return documents[0].body if documents else {}
