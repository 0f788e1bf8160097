"""`muster sync --watch`: a pass after each commit, and at an interval for what was changed by hand."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.discovery import Discovery
from muster.cli.documents import object_document
from muster.cli.following import follow_refs
from muster.cli.outcome import say
from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.features.export.projected import ProjectedObjects, projected_files, unknown_projections
from muster.features.sync.hub import HubKey, HubKind, kind_at
from muster.features.sync.sync import FedByAnotherError, Synced, Syncer
from muster.features.sync.wanted import unreadable, wanted
from muster.fleet.derived import content_id
from muster.fleet.fleet import Fleet
from muster.fleet.projected import entries_of, is_as_recorded
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

    def __init__(
        self,
        repository: Repository,
        revision: str | None,
        syncer: Syncer,
        systems: Sequence[str],
        projections: frozenset[str] = frozenset(),
    ) -> None:
        """Sync `revision`, HEAD if it is None, with the fields of `systems` and the objects of `projections`."""
        self._repository, self._revision = repository, revision or "HEAD"
        self._syncer, self._systems, self._projections = syncer, systems, projections
        self._warned = frozenset[str]()

    def synced(self) -> tuple[str, Synced]:
        """Sync once; return the commit, too. ApiError, FedByAnotherError or RepositoryError if that fails."""
        commit, fleet = _committed(self._repository, self._revision)
        projected = committed_objects(self._repository, commit, fleet, self._projections)
        warnings = [*unknown_projections(fleet, self._projections)]
        lost = unreadable(fleet)
        if lost:
            warnings.append(f"{lost} cannot be read, so nothing is pruned")
        for path in projected.unsure:
            warnings.append(f"{path} is not as muster wrote it, so it is not synced, and nothing is pruned")
        say(*(f"warning: {warning}" for warning in warnings if warning not in self._warned), err=True)
        self._warned = frozenset(warnings)
        prune = not (lost or projected.unsure)
        return commit, self._syncer.sync(wanted(fleet, self._systems), self._systems, projected, prune=prune)

    def follow(self, stop: Event, wake: Event, interval: float, tell: Callable[[str, Synced], None]) -> None:
        """Sync until `stop` is set: when a ref changes, and every `interval` seconds. A hub that does not answer is
        asked again, after ever longer pauses; each trouble is said once."""
        trouble, pause, last, failed = "", _FIRST_PAUSE_SECONDS, "", list[tuple[HubKey, str]]()

        def look() -> float:
            nonlocal trouble, pause, last, failed
            try:
                commit, done = self.synced()
            except (ApiError, FedByAnotherError, RepositoryError) as error:
                present = error.trouble if isinstance(error, ApiError) else str(error)
                if present != trouble:
                    say(f"error: {error}", err=True)
                trouble, wait = present, pause
                pause = min(2 * pause, _LAST_PAUSE_SECONDS)
                return wait
            if trouble:
                say("the hub answers again", err=True)
            if done or done.failed != failed or commit != last:
                tell(commit, done)
            trouble, pause, last, failed = "", _FIRST_PAUSE_SECONDS, commit, done.failed
            return interval

        follow_refs(self._repository, look, stop, wake)


def _committed(repository: Repository, revision: str) -> tuple[str, Fleet]:
    commit = evaluated_commit(repository, resolve(repository, revision))
    snapshot = CommitSnapshot(repository, commit)
    return commit, check_snapshot(snapshot)


def projected_kinds(
    repository: Repository, revision: str | None, chosen: frozenset[str], hub: ApiServer | None
) -> tuple[list[HubKind], list[str]]:
    """Return the kinds of objects in files of chosen Projections, and what is not known of the others. ApiError if the
    hub does not answer."""
    commit, fleet = _committed(repository, revision or "HEAD") if chosen else ("", None)
    if fleet is None:
        return [], []
    discovery, kinds, unknown = (
        Discovery(hub.get_json) if hub else None,
        set[HubKind](),
        [*unknown_projections(fleet, chosen)],
    )
    objects = committed_objects(repository, commit, fleet, chosen).objects
    for version, name in sorted({(str(obj.body["apiVersion"]), obj.id.kind) for obj in objects if not obj.fault}):
        registered = BY_GROUP_KIND.get((version.rpartition("/")[0], name))
        kind = HubKind.of(registered) if registered else kind_at(discovery, version, name) if discovery else None
        if kind is not None:
            kinds.add(kind)
        elif discovery is None:
            unknown.append(f"no rule for {name} of {version}: give --kubeconfig, so that the hub says its resource")
        else:
            unknown.append(f"no rule for {name} of {version}: the hub has no such kind")
    return sorted(kinds), unknown


def committed_objects(repository: Repository, commit: str, fleet: Fleet, chosen: frozenset[str]) -> ProjectedObjects:
    """Return the objects of chosen Projections as they are committed, if they are as muster wrote them."""
    projected = ProjectedObjects(chosen)
    entries = ((id_, entries_of(fleet.previous[id_])) for id_ in sorted(fleet.previous))
    files = {file.path: file for file in projected_files(entries, chosen)}
    if not files:
        return projected
    snapshot = CommitSnapshot(repository, commit, only=files)
    contents = {source.path: source.read() for source in snapshot.files()}
    for path, file in sorted(files.items()):
        data = contents.get(path)
        if data is None or not is_as_recorded(file.record, content_id(data)):
            projected.unsure.append(path)
        else:
            projected.add(file.projection, path, data)
    return projected.checked()


def lines_of(commit: str, done: Synced, *, verbose: bool = False) -> Iterator[str]:
    """What a pass did, in words; `verbose`: also which files have no objects."""
    parts = [
        f"{len(keys)} {word} ({_names(keys)})"
        for word, keys in (
            ("created", done.created),
            ("changed", done.changed),
            ("taken over", done.taken),
            ("repaired", done.healed),
            ("pruned", done.pruned),
        )
        if keys
    ]
    yield f"{commit[:12]}: {', '.join(parts) or 'nothing to do'}, {len(done.unchanged)} unchanged"
    if done.kept:
        yield f"  kept from an earlier run with --karmada, --hive or --projections: {_names(done.kept)}"
    if done.absent:
        yield f"  not on the hub, so left alone: {_names(done.absent)}"
    if verbose and done.others:
        counts = ", ".join(f"{number} of {name}" for name, number in sorted(done.others.items()))
        yield f"  files without Kubernetes objects, so not synced: {counts}"
    for key, why in done.failed:
        yield printable(f"  refused: {_name(key)}: {why}")


def _names(keys: Sequence[HubKey]) -> str:
    more = f" and {len(keys) - _MOST_NAMES} more" if len(keys) > _MOST_NAMES else ""
    return ", ".join(map(_name, keys[:_MOST_NAMES])) + more


def _name(key: HubKey) -> str:
    named = "/".join(part for part in (key.kind.name.lower(), key.namespace, key.name) if part)
    return f"{named} status" if key.status else named


def document_of(commit: str, done: Synced) -> Tree:
    """What a pass did, for programs."""
    named = ("created", "changed", "taken", "healed", "pruned", "kept", "absent")
    return {
        "commit": commit,
        **{sort: [_key_document(key) for key in getattr(done, sort)] for sort in named},
        "failed": [{**_key_document(key), "reason": why} for key, why in done.failed],
        "unchanged": len(done.unchanged),
        "otherFiles": dict(sorted(done.others.items())),
    }


def _key_document(key: HubKey) -> dict[str, Tree]:
    subresource = {"subresource": "status"} if key.status else {}
    return {**object_document(ObjectId(key.kind.group, key.kind.name, key.namespace, key.name)), **subresource}
