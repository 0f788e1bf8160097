"""A live hub as a relay: threads that read its collections into a mirror."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.kubeconfig import from_inside, from_kubeconfig
from muster.agents.kube.plugin import AccessError
from muster.agents.relay.hub_reader import CollectionReader, Troubles, explained
from muster.agents.relay.mirror import HubMirror
from muster.data.names import did_you_mean
from muster.git.agents.settings import AgentSettings, agent_settings
from muster.git.errors import RepositoryError
from muster.git.push import fetch_ref, scratch_repository

#: Instead of a kubeconfig: the hub in whose cluster the relay runs.
IN_CLUSTER: Final = "in-cluster"
_LIMIT_SECONDS: Final = 60.0  # of one request: a page of works may have tens of megabytes
_LIST_SECONDS: Final = 600.0  # of a collection: there may be a thousand such pages


def hub_server(given: str, context: str | None) -> ApiServer:
    """Return the API server of a kubeconfig, or that around this process. AccessError if that cannot be read."""
    server = from_inside() if given == IN_CLUSTER else from_kubeconfig(Path(given), context)
    if server is None:
        raise AccessError(f"{IN_CLUSTER}: this runs outside of a cluster")
    server.limit_seconds, server.list_seconds = _LIMIT_SECONDS, _LIST_SECONDS
    return server


def fleet_settings(remote: str, branch: str, environ: Mapping[str, str]) -> AgentSettings:
    """Return what the fleet's branch says about agents. RepositoryError if the repository does not answer."""
    with scratch_repository(environ, remote) as scratch:
        scratch.git.output("remote", "add", "hub", remote)  # so that only the files that are read are fetched
        return agent_settings(scratch, fetch_ref(scratch, remote="hub", ref=f"refs/heads/{branch}", shallow=True))


def why_unnamed(settings: AgentSettings, name: str) -> str:
    """Return why the fleet hears no relay of this name; empty if it does."""
    if name in settings.relays:
        return ""
    hint = did_you_mean(name, settings.relays)
    return f"the Fleet does not hear {name}: spec.agents.relays does not name it{hint and f'; {hint}'}"


def why_unheard(settings: AgentSettings, name: str) -> str:
    """Return why the fleet does not hear this relay of a hub; empty if it does."""
    if why := why_unnamed(settings, name):
        return why
    unsigned = f"the Fleet does not hear {name}: it asks for signatures, and the agents of a hub sign nothing"
    return unsigned if settings.signed else ""


def list_all(server: ApiServer, mirror: HubMirror) -> list[CollectionReader]:
    """List every collection once, for `--once`. RepositoryError if the server refuses or does not answer."""
    readers = [CollectionReader(server, collection, mirror) for collection in mirror.collections]
    for reader in readers:
        try:
            while not reader.is_listed:
                reader.advance()
        except ApiError as error:
            raise RepositoryError(explained(error)) from error
    return readers


@contextmanager
def following(server: ApiServer, mirror: HubMirror, log: Callable[..., None]) -> Iterator[list[CollectionReader]]:
    """Read every collection in a thread of its own while the block runs. The threads keep no process alive."""
    stop, troubles = Event(), Troubles(log)
    readers = [CollectionReader(server, collection, mirror, troubles) for collection in mirror.collections]
    for reader in readers:
        Thread(target=reader.follow, args=(stop,), daemon=True, name=f"muster-{reader.collection.kind.plural}").start()
    try:
        yield readers
    finally:
        stop.set()
        server.close()


def summary(mirror: HubMirror, readers: Sequence[CollectionReader]) -> str:
    """Return what the relay has of the hub, and what it does not read, by kind."""
    counts = ", ".join(f"{number} {kind}" for kind, number in mirror.counts().items())
    passed = Counter[str]()
    for reader in readers:
        for reason, number in reader.passed_over.items():
            passed[f"{reader.collection.kind.name} {reason}"] += number
    over = ", ".join(f"{number} {what}" for what, number in sorted(passed.items()))
    return f"listed: {counts or 'nothing'}{over and f'; passed over: {over}'}"
