"""`muster sync --watch` over twenty commits, a change by hand, and a hub that goes away and comes back."""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.features.sync.following import Follower
from muster.features.sync.sync import Synced as Pass
from muster.features.sync.sync import Syncer, SyncParent
from muster.git.repository import open_repository
from tests.features.sync.test_cli import Synced
from tests.features.sync.test_cli import synced as synced
from tests.support.hub import Hub, needs_hub, running_hub
from tests.support.patience import wait_until

pytestmark = needs_hub


@pytest.fixture(name="hub")
def _hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub of its own, because it is stopped."""
    with running_hub(tmp_path / "hub") as made:
        yield made


def test_twenty_commits_with_a_hub_that_goes_away(synced: Synced, hub: Hub) -> None:
    others = [hub.get({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": synced.namespace}})]
    told = list[Pass]()
    parent = SyncParent(synced.namespace, "muster", "a repository")
    follower = Follower(
        open_repository(synced.repo.path, dict(os.environ)), None,
        Syncer(from_kubeconfig(hub.kubeconfig, "muster"), parent), (),
    )  # fmt: skip
    stop, wake = Event(), Event()
    thread = Thread(target=follower.follow, args=(stop, wake, 0.2, lambda _, done: told.append(done)), daemon=True)
    thread.start()
    try:
        for number in range(3, 23):
            if number == 10:
                hub.stop()
            if number == 14:
                hub.start()
            synced.join(f"c{number}")
            synced.reconciled()
        names = sorted(f"c{number}" for number in range(1, 23))
        wait_until(lambda: sorted(synced.chosen()) == names, lambda: f"{synced.chosen()} {told[-3:]}")
        decision = synced.decision()
        metadata = {name: decision["metadata"][name] for name in ("name", "namespace")}
        hub.apply({**decision, "metadata": metadata, "status": {"decisions": []}}, status=True, manager="somebody")
        wait_until(lambda: any(done.healed for done in told), lambda: f"{synced.chosen()} {told[-3:]}")
        wait_until(lambda: sorted(synced.chosen()) == names, lambda: f"{synced.chosen()} {told[-3:]}")
    finally:
        stop.set()
        wake.set()
        thread.join(30)
    assert not thread.is_alive()
    assert [hub.get(body) for body in others] == others, "nothing else is touched"
    assert not any(done.failed for done in told)
