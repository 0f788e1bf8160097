"""Works and manifests for tests."""

from datetime import UTC, datetime
from typing import Any

from muster.agents.hub.view import HubView, works_of
from muster.agents.works.agent import WorkAgent
from muster.data.kinds import MANIFEST_WORK
from muster.data.tree import Tree, digest_of
from muster.rules.generations import DIGEST, spec_digest

CLUSTER = "edge"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def config_map(name: str, namespace: str = "shop", **data: str) -> Tree:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def config_for(name: str, namespace: str = "shop", **options: Any) -> Tree:
    """Options for a ConfigMap."""
    return {"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": namespace, "name": name},
            **options}  # fmt: skip


def work(name: str, *manifests: Tree, generation: int = 1, **spec: Any) -> Tree:
    """The derived part of a work."""
    whole = {"workload": {"manifests": list(manifests)}, **spec}
    metadata = {"name": name, "namespace": CLUSTER, "generation": generation,
                "annotations": {DIGEST: spec_digest(whole)}}  # fmt: skip
    return MANIFEST_WORK.body(metadata, spec=whole)


def view(*works: Tree, accepted: bool = True) -> HubView:
    """What the hub says."""
    return HubView(accepted=accepted, works=works_of(CLUSTER, digest_of(works), works))


def conditions(agent: WorkAgent, name: str) -> dict[str, str]:
    """The conditions of a work and their statuses, as the agent reports them."""
    return {one["type"]: one["status"] for one in status(agent, name)["conditions"]}


def status(agent: WorkAgent, name: str) -> Tree:
    """The status of a work that the agent reports."""
    assert agent._status is not None
    return agent._status[name]
