"""`muster sync --watch`: a pass after each commit, and at an interval for what was changed by hand."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Final

from muster.agents.kube.apiserver import ApiError
from muster.cli.documents import object_document
from muster.cli.following import follow_refs
from muster.cli.outcome import say
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.features.sync.sync import FedByAnotherError, Synced, Syncer
from muster.features.sync.wanted import HubKey, unreadable, wanted
from muster.git.derivedbranch import evaluated_commit
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, resolve
from muster.git.snapshot import CommitSnapshot
from muster.run.checking import check_snapshot

_FIRST_PAUSE_SECONDS: Final = 1.0
_LAST_PAUSE_SECONDS: Final = 60.0
#: So many objects of one sort are named.
_MOST_NAMES: Final = 5


class Follower:
    """Syncs one revision of a repository, whatever commit it is."""

    def __init__(self, repository: Repository, revision: str | None, syncer: Syncer, systems: Sequence[str]) -> None:
        """Sync `revision`, HEAD if it is None, with the fields of `systems`."""
        self._repository, self._revision = repository, revision or "HEAD"
        self._syncer, self._systems = syncer, systems

    def synced(self) -> tuple[str, Synced]:
        """Sync once; return the commit, too. ApiError, FedByAnotherError or RepositoryError if that fails."""
        commit = evaluated_commit(self._repository, resolve(self._repository, self._revision))
        with CommitSnapshot(self._repository, commit) as snapshot:
            fleet = check_snapshot(snapshot)
        if lost := unreadable(fleet):
            say(f"warning: {lost} cannot be read, so nothing is pruned", err=True)
        return commit, self._syncer.sync(wanted(fleet, self._systems), self._systems, prune=not lost)

    def follow(self, stop: Event, wake: Event, interval: float, tell: Callable[[str, Synced], None]) -> None:
        """Sync until `stop` is set: when a ref changes, and every `interval` seconds. A hub that does not answer is
        asked again, after ever longer pauses; each trouble is said once."""
        trouble, pause, last = "", _FIRST_PAUSE_SECONDS, ""

        def look() -> float:
            nonlocal trouble, pause, last
            try:
                commit, done = self.synced()
            except (ApiError, FedByAnotherError, RepositoryError) as error:
                if str(error) != trouble:
                    say(f"error: {error}", err=True)
                trouble, wait = str(error), pause
                pause = min(2 * pause, _LAST_PAUSE_SECONDS)
                return wait
            if trouble:
                say("the hub answers again", err=True)
            if done or done.failed or commit != last:
                tell(commit, done)
            trouble, pause, last = "", _FIRST_PAUSE_SECONDS, commit
            return interval

        follow_refs(self._repository, look, stop, wake)


def lines_of(commit: str, done: Synced) -> Iterator[str]:
    """What a pass did, in words."""
    told = [
        f"{len(keys)} {word} ({_names(keys)})"
        for word, keys in (("created", done.created), ("changed", done.changed), ("repaired", done.healed),
                           ("pruned", done.pruned)) if keys
    ]  # fmt: skip
    yield f"{commit[:12]}: {', '.join(told) or 'nothing to do'}, {len(done.unchanged)} unchanged"
    if done.kept:
        yield f"  kept from an earlier run with --karmada or --hive: {_names(done.kept)}"
    if done.absent:
        yield f"  not on the hub, so left alone: {_names(done.absent)}"
    for key, why in done.failed:
        yield printable(f"  refused: {_name(key)}: {why}")


def _names(keys: Sequence[HubKey]) -> str:
    more = f" and {len(keys) - _MOST_NAMES} more" if len(keys) > _MOST_NAMES else ""
    return ", ".join(map(_name, keys[:_MOST_NAMES])) + more


def _name(key: HubKey) -> str:
    where = f"{key.namespace}/" if key.namespace else ""
    return f"{key.kind.name.lower()}/{where}{key.name}{' status' if key.status else ''}"


def document_of(commit: str, done: Synced) -> Tree:
    """What a pass did, for programs."""
    named = ("created", "changed", "healed", "pruned", "kept", "absent")
    return {
        "commit": commit,
        **{sort: [_key_document(key) for key in getattr(done, sort)] for sort in named},
        "failed": [{**_key_document(key), "reason": why} for key, why in done.failed],
        "unchanged": len(done.unchanged),
    }


def _key_document(key: HubKey) -> dict[str, Tree]:
    subresource = {"subresource": "status"} if key.status else {}
    return {**object_document(key.kind.id(key.name, key.namespace)), **subresource}
