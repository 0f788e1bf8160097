"""The agent that applies works: on a real API server, and on one that goes away at will.

The stories run on both, so that the server in memory behaves as the real one.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.agents.hub.view import HubView
from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.agents.works.agent import APPLY_SECONDS, WorkAgent
from muster.data.tree import Tree, dig
from muster.git.errors import RepositoryError
from tests.agents.works.bodies import CLUSTER, NOW, conditions, config_for, config_map, status, view, work
from tests.agents.works.servers import MemoryServer
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub
from tests.support.patience import wait_until

MEMORY = "muster-agent"
DELETED = {"Foreground": "deleted", "Orphan": "kept"}


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


def test_a_work_is_applied_healed_changed_and_removed(site: Site) -> None:
    first = view(work("web", config_map("a", v="1"), config_map("b", v="1")))
    assert site.does(first) == []
    assert (site.data("a"), site.data("b"), site.remembered()) == ({"v": "1"}, {"v": "1"}, ["web"])
    assert conditions(site.agent, "web") == {"Applied": "True", "Available": "True"}
    manifest = status(site.agent, "web")["resourceStatus"]["manifests"][1]
    assert manifest["resourceMeta"]["name"] == "b"
    assert {one["type"]: one["status"] for one in manifest["conditions"]} == {
        "Applied": "True", "Available": "True", "StatusFeedbackSynced": "True",
    }  # fmt: skip

    site.server.apply("/api/v1/namespaces/shop/configmaps/a", config_map("a", v="2"), "somebody")
    site.server.delete("/api/v1/namespaces/shop/configmaps/b")
    site.does(first)
    assert site.data("a") == {"v": "2"}, "between two applications objects are read only"
    assert conditions(site.agent, "web")["Available"] == "False"
    site.does(first, later=True)
    assert (site.data("a"), site.data("b")) == ({"v": "1"}, {"v": "1"})

    site.does(view(work("web", config_map("b", v="3"), generation=2)))
    assert (site.data("a"), site.data("b")) == (None, {"v": "3"})
    assert {one["observedGeneration"] for one in status(site.agent, "web")["conditions"]} == {2}

    site.does(view())
    assert (site.data("b"), site.agent.status()) == (None, {})
    site.does(view())
    assert site.remembered() == []


def test_an_outage_deletes_nothing_and_a_new_process_continues(site: Site) -> None:
    whole = view(work("web", config_map("a", v="1")), work("db", config_map("d", v="1")))
    site.does(whole)
    before = site.agent.status()
    site.restart()
    assert site.agent.step() == [], "nothing is known yet"
    assert site.agent.status() is None
    for unknown in (view(accepted=False), HubView(accepted=True)):
        assert site.does(unknown) == []
        assert (site.data("a"), site.data("d"), site.agent.status()) == ({"v": "1"}, {"v": "1"}, None)
    # The spec of `web` was cut off, and `db` is gone.
    cut = work("web", config_map("a", v="1"))
    cut["spec"]["workload"]["manifests"] = []
    site.does(view(cut))
    assert (site.data("a"), site.data("d")) == ({"v": "1"}, None)
    assert before is not None and site.agent.status() == {"web": before["web"]}


@pytest.mark.parametrize("policy", sorted(DELETED))
def test_what_stays_when_a_work_goes(site: Site, policy: str) -> None:
    option = {"propagationPolicy": policy}
    site.does(view(work("web", config_map("a"), deleteOption=option)))
    site.does(view())
    assert ("kept" if site.data("a") is not None else "deleted") == DELETED[policy]


def test_an_object_of_two_works_stays_while_one_has_it(site: Site) -> None:
    shared = config_map("s", v="1")
    site.does(view(work("one", shared), work("two", shared, config_map("own"))))
    site.does(view(work("two", shared, config_map("own"))))
    assert site.data("s") == {"v": "1"}
    keeping = {"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": [
        {"group": "", "resource": "configmaps", "namespace": "shop", "name": "s"},
    ]}}  # fmt: skip
    site.does(view(work("two", shared, config_map("own"), deleteOption=keeping)))
    site.does(view())
    assert (site.data("s"), site.data("own")) == ({"v": "1"}, None)
    # Both go at once.
    site.does(view(work("one", config_map("t")), work("two", config_map("t"))))
    site.does(view())
    assert site.data("t") is None
    site.does(view())
    assert site.remembered() == []


def test_update_strategies(site: Site) -> None:
    site.server.apply("/api/v1/namespaces/shop/configmaps/seen", config_map("seen", v="0"), "somebody")
    strategies = {
        "once": {"type": "CreateOnly"}, "seen": {"type": "ReadOnly"},
        "soft": {"type": "ServerSideApply", "serverSideApply": {"ignoreFields": [
            {"condition": "OnSpokePresent", "jsonPaths": [".data.scale"], "jsonPointers": ["/data/size", "/no/1/x"]},
            {"condition": "OnSpokeChange", "jsonPaths": [".data.other"]},
        ]}},
        "odd": {"type": "Sideways"},
    }  # fmt: skip
    configs = [config_for(name, updateStrategy=one) for name, one in strategies.items()]

    def manifests(value: str) -> list[Tree]:
        return [config_map("once", v=value), config_map("seen", v=value), config_map("odd", v=value),
                config_map("soft", v="1", scale=value, size=value)]  # fmt: skip

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


def test_feedback_and_conditions_by_rules(site: Site) -> None:
    config = config_for(
        "a",
        feedbackRules=[{"type": "JSONPaths", "jsonPaths": [{"name": "v", "path": ".data.v"}]}],
        conditionRules=[{"type": "CEL", "condition": "Progressing", "celExpressions": ["object.data.v == '1'"]}],
    )
    site.does(view(work("web", config_map("a", v="1"), manifestConfigs=[config])))
    assert conditions(site.agent, "web") == {"Applied": "True", "Available": "True", "Progressing": "True"}
    [manifest] = status(site.agent, "web")["resourceStatus"]["manifests"]
    assert manifest["statusFeedback"] == {"values": [{"name": "v", "fieldValue": {"type": "String", "string": "1"}}]}
    site.does(view(work("web", config_map("a", v="2"), generation=2, manifestConfigs=[config])))
    assert conditions(site.agent, "web")["Progressing"] == "False"


def test_a_complete_manifest_is_not_updated(site: Site) -> None:
    done = config_for("a", conditionRules=[{"type": "CEL", "condition": "Complete", "celExpressions": ["true"]}])
    site.does(view(work("web", config_map("a", v="1"), manifestConfigs=[done])))
    site.does(view(work("web", config_map("a", v="2"), generation=2, manifestConfigs=[done])))
    assert site.data("a") == {"v": "1"}
    assert conditions(site.agent, "web") == {"Applied": "True", "Available": "True", "Complete": "True"}


def test_an_object_that_somebody_made_anew_is_not_deleted(site: Site) -> None:
    site.does(view(work("web", config_map("a"))))
    site.server.delete("/api/v1/namespaces/shop/configmaps/a")
    site.server.apply("/api/v1/namespaces/shop/configmaps/a", config_map("a", v="mine"), "somebody")
    site.does(view())
    assert site.data("a") == {"v": "mine"}
    assert site.remembered() == []


@pytest.fixture
def memory() -> Site:
    return Site(MemoryServer())


def refused(site: Site) -> dict[str, int]:
    assert isinstance(site.server, MemoryServer)
    return site.server.state.refused


def test_a_server_that_goes_away_changes_no_status(memory: Site) -> None:
    memory.does(view(work("web", config_map("a", v="1"))))
    before = memory.agent.status()
    for part in ("GET /api/v1/namespaces/muster-agent", "PATCH /api/v1/namespaces/shop", "muster-work", "GET /api/v1"):
        for code in (0, 401, 503):
            refused(memory)[part] = code
            with pytest.raises(ApiError):
                memory.does(view(work("web", config_map("a", v="2"), config_map("b"), generation=2)))
            refused(memory).clear()
            assert memory.agent.status() == before
    memory.does(view(work("web", config_map("a", v="2"), generation=2)))
    assert (memory.data("a"), memory.data("b")) == ({"v": "2"}, None)


def test_what_was_written_down_and_never_applied_is_not_deleted(memory: Site) -> None:
    """The agent is killed between writing down an object and applying it; or just after applying it."""
    refused(memory)["PATCH /api/v1/namespaces/shop"] = 0
    with pytest.raises(ApiError):
        memory.does(view(work("web", config_map("a"), config_map("b"))))
    refused(memory).clear()
    assert memory.remembered() == ["web"]
    memory.server.apply("/api/v1/namespaces/shop/configmaps/a", config_map("a"), "work-agent")
    assert isinstance(memory.server, MemoryServer)
    objects = memory.server.state.objects
    objects["/api/v1/namespaces/shop/configmaps/b"] = {"metadata": {"uid": "x", "managedFields": [{"manager": "me"}]}}
    memory.restart()
    memory.does(view())
    assert (memory.data("a"), memory.data("b")) == (None, {})


def test_a_missing_right_becomes_a_condition(memory: Site) -> None:
    refused(memory)["PATCH /api/v1/namespaces/shop/configmaps/b"] = 403
    two = view(work("web", config_map("a"), config_map("b")), work("db", config_map("d")))
    assert memory.does(two) == []
    assert conditions(memory.agent, "web") == {"Applied": "False", "Available": "False"}
    assert conditions(memory.agent, "db") == {"Applied": "True", "Available": "True"}
    refused(memory).clear()
    refused(memory)["GET /api/v1/namespaces/shop/configmaps/b"] = 403
    memory.does(two)
    assert conditions(memory.agent, "web")["Applied"] == "True", "a failure is tried again"
    memory.does(two)
    assert conditions(memory.agent, "web") == {"Applied": "True", "Available": "Unknown"}
    refused(memory).clear()
    refused(memory)["DELETE /api/v1/namespaces/shop/configmaps/b"] = 403
    memory.does(view(work("web", config_map("a"), generation=2)))
    assert conditions(memory.agent, "web")["Applied"] == "False"
    assert memory.does(view()) == [
        "work web: cannot remove configmaps b: agent may not DELETE /api/v1/namespaces/shop/configmaps/b"
    ]
    refused(memory).clear()
    assert memory.does(view()) == []
    memory.does(view())
    assert (memory.data("b"), memory.remembered()) == (None, [])


@pytest.mark.parametrize("part", ["GET /api/v1/namespaces/muster-agent", "PATCH /api/v1/namespaces/muster-agent"])
def test_an_agent_that_cannot_remember_applies_nothing(memory: Site, part: str) -> None:
    refused(memory)[part] = 403
    memory.does(view(work("web", config_map("a"))))
    assert memory.data("a") is None
    assert conditions(memory.agent, "web")["Applied"] == "False"


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
    memory.does(view())
    assert isinstance(memory.server, MemoryServer)
    asked = [one for one in memory.server.state.asked if "shop/configmaps" in one]
    assert asked == ["deployer: PATCH /api/v1/namespaces/shop/configmaps/a",
                     "deployer: DELETE /api/v1/namespaces/shop/configmaps/a"]  # fmt: skip


def test_it_acts_by_itself_until_it_is_stopped(memory: Site) -> None:
    changes, complaints = list[int](), list[str]()
    refused(memory)["configmaps"] = 0
    memory.agent.take(view(work("web", config_map("a"))))
    memory.agent.start(lambda: changes.append(1), complaints.append)
    wait_until(lambda: bool(complaints), lambda: "nothing was said")
    refused(memory).clear()
    memory.agent.take(view(work("web", config_map("a"), generation=2)))
    wait_until(lambda: bool(changes), lambda: "nothing was reported")
    memory.agent.stop()
    assert memory.data("a") == {}
    assert complaints[0].startswith("works cannot be applied now: ")


def test_a_last_report_that_cannot_be_read_is_waited_for(memory: Site) -> None:
    def away() -> Mapping[str, Tree]:
        raise RepositoryError("away")

    memory.agent.reported = away
    with pytest.raises(RepositoryError):
        memory.does(view(work("web", config_map("a"))))
    assert (memory.data("a"), memory.agent.status()) == (None, None)


CRATES: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "crates.shop.example"},
    "spec": {
        "group": "shop.example", "scope": "Namespaced", "names": {"plural": "crates", "kind": "Crate"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        }}}],
    },
}  # fmt: skip


@needs_hub
def test_kinds_that_a_work_brings_and_fields_that_no_kind_has(hub: Hub) -> None:
    site = Site(from_kubeconfig(hub.kubeconfig))
    crate = {"apiVersion": "shop.example/v1", "kind": "Crate", "metadata": {"name": "c", "namespace": "crates"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crates"}}
    hub.make_namespaces([config_map("x", MEMORY)])
    site.does(view(work("crates", {**crate, "spec": {"n": 1}}, CRATES, namespace)))
    assert conditions(site.agent, "crates") == {"Applied": "True", "Available": "True"}
    site.does(view(work("crates", {**crate, "spec": {"m": 1}}, CRATES, namespace, generation=2)))
    applied, *_ = status(site.agent, "crates")["conditions"]
    assert (applied["status"], "field not declared in schema" in applied["message"]) == ("False", True)
    site.does(view())
    wait_until(lambda: _is_gone(site, "/apis/shop.example/v1/namespaces/crates/crates/c"), lambda: "it is still there")
    site.server.close()


def _is_gone(site: Site, path: str) -> bool:
    try:
        site.server.get_json(path)
    except ApiError as error:
        return error.status == 404
    return False


def role(name: str, rules: list[Tree], namespace: str, subject: Tree) -> Iterator[Tree]:
    rbac = "rbac.authorization.k8s.io"
    yield {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": name, "namespace": namespace},
           "rules": rules}  # fmt: skip
    yield {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace},
           "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name}, "subjects": [subject]}  # fmt: skip


@needs_hub
def test_the_rights_of_a_real_server(hub: Hub, tmp_path: Path) -> None:
    """The user `muster` may remember and act as one service account; that one may write ConfigMaps in one namespace."""
    verbs = ["create", "delete", "get", "list", "patch", "update"]
    maps: list[Tree] = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]
    acting: list[Tree] = [{"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["deployer"],
                           "verbs": ["impersonate"]}]  # fmt: skip
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "muster"}
    account = {"kind": "ServiceAccount", "name": "deployer", "namespace": "yard"}
    hub.make_namespaces(config_map("x", name) for name in ("remembering", "yard", "elsewhere"))
    for body in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": "yard"}},
        *role("agent", maps, "remembering", user), *role("acting", acting, "yard", user),
        *role("deployer", maps, "yard", account),
    ):  # fmt: skip
        hub.apply(body)
    site = Site(from_kubeconfig(hub.kubeconfig, "muster"), "remembering")
    look = from_kubeconfig(hub.kubeconfig)

    def exists(namespace: str, name: str) -> bool:
        return any(one["metadata"]["name"] == name for one in look.list(f"/api/v1/namespaces/{namespace}/configmaps"))

    executor = {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "yard", "name": "deployer"}}}
    own, other = config_map("own", "yard"), config_map("other", "elsewhere")
    escalating = next(role("more", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}], "yard", account))
    site.does(view(
        work("by-agent", own), work("by-executor", own, executor=executor),
        work("too-far", other, escalating, executor=executor),
    ))  # fmt: skip
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
