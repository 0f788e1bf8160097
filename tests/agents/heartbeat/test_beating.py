"""Agents as real processes beside a real hub, for a few seconds. `make soak` does it for minutes."""

from pathlib import Path

from tests.support.beating import beating
from tests.support.patience import wait_until


def test_an_agent_renews_as_often_as_the_hub_says_and_makes_no_commits(tmp_path: Path) -> None:
    with beating(tmp_path, {"quick": 2}, interval=1) as world:
        commits = world.commits()
        gaps = world.gaps(("quick",), 6)
        assert world.obeys("quick") == 2
        assert len(gaps["quick"]) >= 2
        assert (world.statuses("quick")[-1], world.commits()) == ("True", commits)
        # An API server that hangs or fails is reported, and never keeps the lease from being renewed.
        world.server.answers["/livez"] = (500, "etcd is gone")
        since = world.renewed("quick")
        wait_until(lambda: world.renewed("quick") != since, lambda: str(world.agents["quick"].lines))
