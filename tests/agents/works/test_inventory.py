"""What the agent remembers of what it applied."""

import pytest

from muster.agents.kube.apiserver import ApiError
from tests.agents.works.servers import MemoryServer
from tests.agents.works.site import (
    Site,
    conditions,
    config_map,
    memory,
    refused,
    site,
    view,
    work,
)
from tests.support.hub import hub as hub

__all__ = ["memory", "site"]  # fixtures


def test_an_object_that_somebody_made_anew_is_not_deleted(site: Site) -> None:
    site.does(view(work("web", config_map("a"))))
    site.server.delete("/api/v1/namespaces/shop/configmaps/a")
    site.server.apply("/api/v1/namespaces/shop/configmaps/a", config_map("a", v="mine"), "somebody")
    site.does(view())
    assert site.data("a") == {"v": "mine"}
    assert site.remembered() == []


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


@pytest.mark.parametrize("part", ["GET /api/v1/namespaces/muster-agent", "PATCH /api/v1/namespaces/muster-agent"])
def test_an_agent_that_cannot_remember_applies_nothing(memory: Site, part: str) -> None:
    refused(memory)[part] = 403
    memory.does(view(work("web", config_map("a"))))
    assert memory.data("a") is None
    assert conditions(memory.agent, "web")["Applied"] == "False"
