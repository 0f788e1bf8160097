"""A cluster with an agent that applies works, on a real API server or one in memory. Stories run on both, so that the
server in memory behaves as the real one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.agents.hub.view import HubView, works_of
from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.agents.works.agent import APPLY_SECONDS, WorkAgent
from muster.data.kinds import MANIFEST_WORK
from muster.data.tree import Tree, dig, digest_of
from muster.fleet.objects import SPEC_DIGEST
from muster.rules.generations import spec_digest
from tests.agents.works.servers import MemoryServer
from tests.support.hub import Hub, needs_hub

MEMORY = "muster-agent"
CLUSTER = "edge"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def config_map(name: str, namespace: str = "shop", **data: str) -> Tree:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def config_for(name: str, namespace: str = "shop", **options: Any) -> Tree:
    """Options for a ConfigMap."""
    return {
        "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": namespace, "name": name},
        **options,
    }


def work(name: str, *manifests: Tree, generation: int = 1, **spec: Any) -> Tree:
    """The derived part of a work."""
    whole = {"workload": {"manifests": list(manifests)}, **spec}
    metadata = {
        "name": name,
        "namespace": CLUSTER,
        "generation": generation,
        "annotations": {SPEC_DIGEST: spec_digest(whole)},
    }
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


@dataclass
class Site:
    """A cluster, its agent, and the clock that it looks at."""

    server: ApiServer
    namespace: str = MEMORY
    seconds: float = 0.0
    reported: Mapping[str, Tree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent = self.new_agent()

    def new_agent(self) -> WorkAgent:
        return WorkAgent(self.server, CLUSTER, self.namespace, lambda: self.reported, lambda: NOW, lambda: self.seconds)

    def restart(self) -> None:
        """A new process finds what is on the ref."""
        self.reported = self.agent.status() or {}
        self.agent = self.new_agent()

    def does(self, said: HubView, *, later: bool = False) -> list[str]:
        """The agent takes what the hub says, and acts once."""
        self.seconds += APPLY_SECONDS if later else 0
        self.agent.take(said)
        return self.agent.step()

    def data(self, name: str, namespace: str = "shop") -> Tree:
        """The content of a ConfigMap; None if there is none."""
        try:
            return self.server.get_json(f"/api/v1/namespaces/{namespace}/configmaps/{name}").get("data") or {}
        except ApiError as error:
            assert error.status == 404
            return None

    def remembered(self) -> list[str]:
        """The works for which the agent remembers objects."""
        found = self.server.list(f"/api/v1/namespaces/{self.namespace}/configmaps")
        return sorted(dig(one, "data", "work") for one in found if dig(one, "data", "cluster") == CLUSTER)


@pytest.fixture(params=["memory", pytest.param("real", marks=needs_hub)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A cluster with the namespaces `shop` and the agent's, without anything in them."""
    if request.param == "memory":
        yield Site(MemoryServer())
        return
    hub: Hub = request.getfixturevalue("hub")
    server = from_kubeconfig(hub.kubeconfig)
    hub.make_namespaces(config_map("x", name) for name in (MEMORY, "shop"))
    for name in (MEMORY, "shop"):
        hub.request("DELETE", f"/api/v1/namespaces/{name}/configmaps")
    yield Site(server)
    server.close()


@pytest.fixture
def memory() -> Site:
    return Site(MemoryServer())


def refused(site: Site) -> dict[str, int]:
    assert isinstance(site.server, MemoryServer)
    return site.server.state.refused
