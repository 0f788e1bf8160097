"""What the hub has decided of a cluster, as its agent reads it: one file of the branch that muster reconciles.

Only the newest commit is fetched, and where the server allows it none of its files but this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.fleet.leases import LEASE_SECONDS
from muster.fleet.locations import SHARDS, derived_path
from muster.gitio.errors import RepositoryError
from muster.gitio.push import scratch_repository
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.tree import Tree, dig, mappings_at
from muster.yamlio.loader import load_documents

_REF = "refs/remotes/hub/branch"


@dataclass(frozen=True, slots=True)
class View:
    """`accepted`: whether the hub lets the cluster in. `synced`: False where it says that the clocks differ.
    `lease_seconds`: how long the lease lasts where the hub stretches it, else None."""

    accepted: bool = False
    synced: bool = True
    lease_seconds: int | None = None


def view(remote: str, branch: str, cluster: str, environ: Mapping[str, str]) -> View:
    """Read what the hub's branch says of a cluster; of an unknown one nothing. RepositoryError without an answer."""
    with scratch_repository({**environ, "GIT_TERMINAL_PROMPT": "0"}, remote) as scratch:
        git = scratch.git
        git.output("remote", "add", "hub", remote)
        done = git.run("fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "hub",
                       f"+refs/heads/{branch}:{_REF}")  # fmt: skip
        if done.status:
            raise RepositoryError(f"{branch} of the hub cannot be read", done.stderr.strip())
        for shards in SHARDS:
            path = derived_path(MANAGED_CLUSTER.id(cluster), shards)
            found = git.run("cat-file", "blob", f"{_REF}:{path}")
            if found.status == 0:
                return _read(found.stdout)
    return View()


def _read(data: bytes) -> View:
    documents = load_documents(data, "").documents
    body: Tree = documents[0].body if documents else {}
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    seconds = dig(body, *LEASE_SECONDS)
    return View(
        accepted=status.get("HubAcceptedManagedCluster") == "True",
        synced=status.get("ManagedClusterConditionClockSynced") != "False",
        lease_seconds=seconds if isinstance(seconds, int) and seconds > 0 else None,
    )
