"""Klusterlets on a real API server: they renew Leases, each for one cluster, until they are killed."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import urllib3

from muster.data.kinds import LEASE, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.leases import LEASE_NAME
from tests.support.hub import Hub, RefusedError


class Klusterlets:
    """The klusterlets of some clusters of a hub, whose leases last `seconds`; each renews its own every so often."""

    def __init__(self, hub: Hub, names: Collection[str], seconds: int) -> None:
        self.hub, self.alive, self.seconds = hub, set(names), seconds
        self.renewed = dict[str, datetime]()
        hub.make_namespaces([{"metadata": {"namespace": name}} for name in names])
        for name in sorted(names):
            self.register(name)

    def register(self, name: str) -> None:
        """Make the ManagedCluster, with what its klusterlet reports, and the Lease."""
        body = MANAGED_CLUSTER.body(
            {"name": name}, spec={"hubAcceptsClient": True, "leaseDurationSeconds": self.seconds}
        )
        self.hub.apply(body)
        available = {
            "type": "ManagedClusterConditionAvailable",
            "status": "True",
            "reason": "ManagedClusterAvailable",
            "message": "Managed cluster is available",
            "lastTransitionTime": now(),
        }
        status: Tree = {"conditions": [available], "version": {"kubernetes": "v1.31.0"}}
        self.hub.apply({**body, "spec": None, "status": status}, status=True)
        self.renew(name)

    def renew(self, name: str, ago: timedelta = timedelta()) -> None:
        """Renew a cluster's Lease, as of some time `ago`."""
        at = datetime.now(UTC) - ago
        renewed = {"renewTime": at.isoformat(timespec="microseconds").replace("+00:00", "Z")}
        spec = {"leaseDurationSeconds": self.seconds, **renewed}
        self.hub.apply(LEASE.body({"name": LEASE_NAME, "namespace": name}, spec=spec), manager="klusterlet")
        self.renewed[name] = at

    def kill(self, *names: str) -> None:
        """End some of them."""
        self.alive.difference_update(names)

    @contextmanager
    def running(self, every: float) -> Iterator[None]:
        """Renew while the block runs. While the server is away, a klusterlet tries again."""
        stop = Event()

        def run() -> None:
            while not stop.wait(every):
                for name in sorted(self.alive):
                    if name in self.alive:
                        with suppress(RefusedError, urllib3.exceptions.HTTPError):
                            self.renew(name)

        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def now() -> str:
    """The present, as Kubernetes writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
