"""How manifests are applied: update strategies, executors, and the rights of a real server."""

import json
from collections.abc import Iterator
from pathlib import Path

from muster.agents.hub.view import HubView
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.tree import Tree
from tests.agents.works.servers import MemoryServer
from tests.agents.works.site import (
    Site,
    conditions,
    config_for,
    config_map,
    memory,
    refused,
    site,
    status,
    view,
    work,
)
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub

__all__ = ["memory", "site"]  # fixtures


def test_update_strategies(site: Site) -> None:
    site.server.apply("/api/v1/namespaces/shop/configmaps/seen", config_map("seen", v="0"), "somebody")
    strategies = {
        "once": {"type": "CreateOnly"},
        "seen": {"type": "ReadOnly"},
        "soft": {
            "type": "ServerSideApply",
            "serverSideApply": {
                "ignoreFields": [
                    {
                        "condition": "OnSpokePresent",
                        "jsonPaths": [".data.scale"],
                        "jsonPointers": ["/data/size", "/no/1/x"],
                    },
                    {"condition": "OnSpokeChange", "jsonPaths": [".data.other"]},
                ]
            },
        },
        "odd": {"type": "Sideways"},
    }
    configs = [config_for(name, updateStrategy=one) for name, one in strategies.items()]

    def manifests(value: str) -> list[Tree]:
        return [
            config_map("once", v=value),
            config_map("seen", v=value),
            config_map("odd", v=value),
            config_map("soft", v="1", scale=value, size=value),
        ]

    site.does(view(work("web", *manifests("1"), manifestConfigs=configs)))
    assert (site.data("once"), site.data("seen"), site.data("odd")) == ({"v": "1"}, {"v": "0"}, None)
    site.server.apply("/api/v1/namespaces/shop/configmaps/soft", config_map("soft", scale="7", v="1"), "somebody")
    site.does(view(work("web", *manifests("2"), generation=2, manifestConfigs=configs)))
    assert (site.data("once"), site.data("seen")) == ({"v": "1"}, {"v": "0"})
    assert site.data("soft") == {"v": "1", "scale": "7", "size": "1"}
    failed = next(one for one in status(site.agent, "web")["conditions"] if one["type"] == "Applied")
    assert failed["message"].endswith("the update strategy 'Sideways' is not known")
    site.does(view())
    assert (site.data("once"), site.data("seen")) == (None, {"v": "0"}), "what is only read is not removed"


def test_executors(memory: Site) -> None:
    def by(subject: Tree) -> HubView:
        return view(work("web", config_map("a"), executor={"subject": subject}))

    account = {"type": "ServiceAccount", "serviceAccount": {"namespace": "shop", "name": "deployer"}}
    for wrong in ({"type": "User"}, {"type": "ServiceAccount", "serviceAccount": {"namespace": "shop"}}):
        memory.does(by(wrong))
        assert (conditions(memory.agent, "web")["Applied"], memory.data("a")) == ("False", None)
    refused(memory)["deployer: delete"] = 403
    memory.does(by(account))
    assert "deployer may not delete it" in json.dumps(status(memory.agent, "web"))
    refused(memory).clear()
    memory.does(by(account))
    assert conditions(memory.agent, "web")["Applied"] == "True"
    refused(memory)["deployer: DELETE"] = 403
    memory.does(view())
    assert isinstance(memory.server, MemoryServer)
    asked = [one for one in memory.server.state.asked if "shop/configmaps" in one]
    assert asked == [
        "deployer: PATCH /api/v1/namespaces/shop/configmaps/a",
        "deployer: DELETE /api/v1/namespaces/shop/configmaps/a",
        "agent: DELETE /api/v1/namespaces/shop/configmaps/a",
    ]


def role(name: str, rules: list[Tree], namespace: str, subject: Tree) -> Iterator[Tree]:
    rbac = "rbac.authorization.k8s.io"
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": rules,
    }
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [subject],
    }


@needs_hub
def test_the_rights_of_a_real_server(hub: Hub, tmp_path: Path) -> None:
    """The user `muster` may remember and act as one service account; that one may write ConfigMaps in one namespace."""
    verbs = ["create", "delete", "get", "list", "patch", "update"]
    maps: list[Tree] = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]
    acting: list[Tree] = [
        {"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["deployer"], "verbs": ["impersonate"]}
    ]
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "muster"}
    account = {"kind": "ServiceAccount", "name": "deployer", "namespace": "yard"}
    hub.make_namespaces(config_map("x", name) for name in ("remembering", "yard", "elsewhere"))
    for body in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": "yard"}},
        *role("agent", maps, "remembering", user),
        *role("acting", acting, "yard", user),
        *role("deployer", maps, "yard", account),
    ):
        hub.apply(body)
    site = Site(from_kubeconfig(hub.kubeconfig, "muster"), "remembering")
    look = from_kubeconfig(hub.kubeconfig)

    def exists(namespace: str, name: str) -> bool:
        return any(one["metadata"]["name"] == name for one in look.list(f"/api/v1/namespaces/{namespace}/configmaps"))

    executor = {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "yard", "name": "deployer"}}}
    own, other = config_map("own", "yard"), config_map("other", "elsewhere")
    escalating = next(role("more", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}], "yard", account))
    site.does(
        view(
            work("by-agent", own),
            work("by-executor", own, executor=executor),
            work("too-far", other, escalating, executor=executor),
        )
    )
    said = {name: conditions(site.agent, name)["Applied"] for name in ("by-agent", "by-executor", "too-far")}
    assert said == {"by-agent": "False", "by-executor": "True", "too-far": "False"}
    assert (exists("yard", "own"), exists("elsewhere", "other")) == (True, False)
    text = json.dumps(status(site.agent, "by-agent"))
    assert 'User \\"muster\\" cannot patch resource \\"configmaps\\"' in text
    assert "yard/deployer may not create it" in json.dumps(status(site.agent, "too-far"))
    site.does(view(work("by-executor", executor=executor, generation=2)))
    assert not exists("yard", "own")
    site.server.close()
    look.close()
