"""The agent that applies works: their life, outages, restarts and missing rights."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread

import pytest

from muster.agents.hub.view import HubView
from muster.agents.kube.apiserver import ApiError
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.tree import Tree
from muster.git.errors import RepositoryError
from tests.agents.works.site import (
    MEMORY,
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
from tests.support.hub import Hub, needs_hub, running_hub
from tests.support.hub import hub as hub
from tests.support.patience import wait_until

__all__ = ["memory", "site"]  # fixtures

DELETED = {"Foreground": "deleted", "Orphan": "kept"}


def test_a_work_is_applied_healed_changed_and_removed(site: Site) -> None:
    first = view(work("web", config_map("a", v="1"), config_map("b", v="1")))
    assert site.does(first) == []
    assert (site.data("a"), site.data("b"), site.remembered()) == ({"v": "1"}, {"v": "1"}, ["web"])
    assert conditions(site.agent, "web") == {"Applied": "True", "Available": "True"}
    manifest = status(site.agent, "web")["resourceStatus"]["manifests"][1]
    assert manifest["resourceMeta"]["name"] == "b"
    assert {one["type"]: one["status"] for one in manifest["conditions"]} == {
        "Applied": "True",
        "Available": "True",
        "StatusFeedbackSynced": "True",
    }

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
    keeping = {
        "propagationPolicy": "SelectivelyOrphan",
        "selectivelyOrphans": {
            "orphaningRules": [
                {"group": "", "resource": "configmaps", "namespace": "shop", "name": "s"},
            ]
        },
    }
    site.does(view(work("two", shared, config_map("own"), deleteOption=keeping)))
    site.does(view())
    assert (site.data("s"), site.data("own")) == ({"v": "1"}, None)
    # Both go at once.
    site.does(view(work("one", config_map("t")), work("two", config_map("t"))))
    site.does(view())
    assert site.data("t") is None
    site.does(view())
    assert site.remembered() == []


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


@needs_hub
def test_a_server_that_starts_again_changes_no_status(tmp_path: Path) -> None:
    """Asked all the time while it starts, it refuses: its roles are not there yet."""
    with running_hub(tmp_path / "hub") as hub:
        hub.make_namespaces(config_map("x", name) for name in (MEMORY, "shop"))
        group = "rbac.authorization.k8s.io"
        for name in (MEMORY, "shop"):
            head = {"apiVersion": f"{group}/v1", "metadata": {"name": "agent", "namespace": name}}
            rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
            hub.apply({**head, "kind": "Role", "rules": rules})
            role = {"apiGroup": group, "kind": "Role", "name": "agent"}
            who = [{"apiGroup": group, "kind": "User", "name": "muster"}]
            hub.apply({**head, "kind": "RoleBinding", "subjects": who, "roleRef": role})
        site = Site(from_kubeconfig(hub.kubeconfig, "muster"))
        said = view(work("web", config_map("a", v="1"), config_map("b", v="1")))
        wait_until(lambda: _works(lambda: site.does(said)), lambda: "the role does not hold")
        before, refusals = site.agent.status(), set[str]()
        hub.kill()
        starting = Thread(target=hub.start)
        starting.start()
        while starting.is_alive():
            try:
                refusals.update(site.does(said, later=True))
            except ApiError as error:
                refusals.add(str(error))
            assert site.agent.status() == before
        starting.join()
        wait_until(lambda: _works(lambda: site.does(said, later=True)), lambda: str(refusals))
        assert site.agent.status() == before
        assert refusals
        assert all("is not ready" in refusal or "does not answer" in refusal for refusal in refusals), refusals
        site.server.close()


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except ApiError:
        return False
    return True


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
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "crates.shop.example"},
    "spec": {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"plural": "crates", "kind": "Crate"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


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
