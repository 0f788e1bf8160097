"""One pass of `muster sync`: apply what is wanted, repair what was changed by hand, and prune what lost its reason.

What muster makes on a hub is an ApplySet (KEP-3659): each object has the label of its set, and a ConfigMap, the set's
parent, names the set's kinds and the repository that feeds it. Only such objects are ever deleted. Fields of objects
that others make are found by their field manager, and given up by applying nothing in their place.
"""

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.data.kinds import BY_GROUP_KIND, PLACEMENT, Kind
from muster.data.tree import Tree, dig
from muster.features.sync.hub import MANAGER, object_at, objects_of, parent_path, path_of
from muster.features.sync.wanted import OWNED, HubKey, Patch, api_version, group_kind, written_kinds
from muster.version import __version__

_PART_OF: Final = "applyset.kubernetes.io/part-of"
_ID: Final = "applyset.kubernetes.io/id"
_TOOLING: Final = "applyset.kubernetes.io/tooling"
_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
_NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
_REPOSITORY: Final = "muster.dev/repository"


class FedByAnotherError(Exception):
    """Another repository feeds this hub: that of the given first commit."""

    def __init__(self, repository: str, parent: "SyncParent") -> None:
        super().__init__(
            f"another repository feeds this hub: {repository} (ConfigMap {parent.namespace}/{parent.name}). Stop that "
            "one and delete the ConfigMap, or give another --name"
        )


class SyncParent(NamedTuple):
    """The ConfigMap that stands for the set on the hub, and the repository that feeds it."""

    namespace: str
    name: str
    repository: str

    @property
    def set_id(self) -> str:
        """The ApplySet's id, by KEP-3659: of the parent's name, namespace, kind and group."""
        told = hashlib.sha256(f"{self.name}.{self.namespace}.ConfigMap.".encode()).digest()
        return f"applyset-{base64.urlsafe_b64encode(told).decode().rstrip('=')}-v1"


@dataclass(frozen=True, slots=True)
class Synced:
    """What one pass did, by object: what was `created`, `changed` because muster decided anew, `healed` because
    somebody else changed it, `pruned`, or `unchanged`; `kept` is what an earlier run wrote of a system that this one
    does not write; `absent` are objects that others must make first, `failed` what the hub refused, and why."""

    created: list[HubKey] = field(default_factory=list)
    changed: list[HubKey] = field(default_factory=list)
    healed: list[HubKey] = field(default_factory=list)
    pruned: list[HubKey] = field(default_factory=list)
    absent: list[HubKey] = field(default_factory=list)
    failed: list[tuple[HubKey, str]] = field(default_factory=list)
    unchanged: list[HubKey] = field(default_factory=list)
    kept: list[HubKey] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Did anything change on the hub?"""
        return bool(self.created or self.changed or self.healed or self.pruned)


class _AppliedBody(NamedTuple):
    """What was applied, and the object's version on the hub after that."""

    body: Mapping[str, Tree]
    version: str


class Syncer:
    """Feeds one hub. It remembers what it applied, so that a pass without news only lists."""

    def __init__(self, hub: ApiServer, parent: SyncParent, *, dry_run: bool = False) -> None:
        """Feed `hub` as the set of `parent`."""
        self._hub, self._parent, self._dry_run = hub, parent, dry_run
        self._seen: dict[HubKey, _AppliedBody] = {}

    def sync(self, patches: Iterable[Patch], systems: Iterable[str] = (), *, prune: bool = True) -> Synced:
        """Make the hub have what is wanted, and with `prune` nothing else of muster's. What an earlier run wrote of
        systems that are not among `systems` stays: a forgotten option must not delete clusters.

        FedByAnotherError if another repository feeds it, ApiError if the hub does not answer; what it refuses of single
        objects is in the result.
        """
        done, patches = Synced(), list(patches)
        before = self._kinds_before()
        made = {patch.key.kind for patch in patches if patch.made}
        if not self._dry_run:
            self._put_parent(before | made, patches)
        kinds = before | {patch.key.kind for patch in patches} | {rule.kind for rule in OWNED} | {PLACEMENT}
        there = {
            _key(kind, body): body for kind in sorted(kinds, key=group_kind) for body in objects_of(self._hub, kind)
        }
        for patch in patches:
            self._apply(patch, there, done)
        if prune:
            self._prune({patch.key for patch in patches}, written_kinds(systems), there, done)
        made |= {key.kind for key in done.kept} & before
        if prune and not self._dry_run and made != before and not done.failed:
            self._put_parent(made, patches)
        return done

    # -- the parent

    def _kinds_before(self) -> set[Kind]:
        parent = object_at(self._hub, parent_path(self._parent.namespace, self._parent.name))
        annotations = dig(parent, "metadata", "annotations") or {}
        feeding = annotations.get(_REPOSITORY, "")
        if feeding and feeding != self._parent.repository:
            raise FedByAnotherError(feeding, self._parent)
        named = (one.partition(".") for one in annotations.get(_KINDS, "").split(",") if one)
        return {kind for name, _, group in named if (kind := BY_GROUP_KIND.get((group, name))) is not None}

    def _put_parent(self, kinds: Iterable[Kind], patches: Iterable[Patch]) -> None:
        namespaces = {patch.key.namespace for patch in patches if patch.made} - {self._parent.namespace, ""}
        self._hub.apply(parent_path(self._parent.namespace, self._parent.name), {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": self._parent.name, "namespace": self._parent.namespace,
                "labels": {_ID: self._parent.set_id},
                "annotations": {
                    _TOOLING: f"muster/v{__version__}", _KINDS: ",".join(sorted(map(group_kind, kinds))),
                    _NAMESPACES: ",".join(sorted(namespaces)), _REPOSITORY: self._parent.repository,
                },
            },
        }, MANAGER)  # fmt: skip

    # -- objects

    def _apply(self, patch: Patch, there: Mapping[HubKey, Tree], done: Synced) -> None:
        key = patch.key
        now = there.get(key._replace(status=False))
        if now is None and not patch.made:
            done.absent.append(key)
            return
        if now is not None and patch.made and not self._is_ours(now):
            done.failed.append((key, "an object of this name exists, and muster did not make it"))
            return
        if now is None and key.status and self._dry_run:
            return  # nothing was created
        body = self._labelled(patch)
        seen, version = self._seen.get(key), _version(now)
        if seen is not None and seen.body == body and seen.version == version:
            done.unchanged.append(key)
            return
        after = self._asked(key, done, lambda: self._hub.apply(path_of(key), body, MANAGER, dry_run=self._dry_run))
        if after is not None:
            self._note(key, now, after, done, body)

    def _asked(self, key: HubKey, done: Synced, request: Callable[[], Tree], ignored: Collection[int] = ()) -> Tree:
        """The hub's answer; None if it refuses, which is noted unless the status is to be ignored. ApiError if it does
        not answer."""
        try:
            return request()
        except ApiError as error:
            if error.status == 0:
                raise
            if error.status not in ignored:
                done.failed.append((key, str(error)))
            return None

    def _note(self, key: HubKey, now: Tree, after: Tree, done: Synced, body: Mapping[str, Tree]) -> None:
        seen = self._seen.get(key)
        if now is None:
            if not key.status:
                done.created.append(key)
        elif _content(after, status=key.status) == _content(now, status=key.status):
            done.unchanged.append(key)
        elif seen is not None and seen.body == body:
            done.healed.append(key)
        else:
            done.changed.append(key)
        if not self._dry_run:
            # Both halves of an object share its version: our own apply of one is no news to the other.
            other = key._replace(status=not key.status)
            if other in self._seen and self._seen[other].version == _version(now):
                self._seen[other] = self._seen[other]._replace(version=_version(after))
            self._seen[key] = _AppliedBody(body, _version(after))

    def _labelled(self, patch: Patch) -> Mapping[str, Tree]:
        if not patch.made or patch.key.status:
            return patch.body
        metadata = patch.body["metadata"]
        labels = {**(metadata.get("labels") or {}), _PART_OF: self._parent.set_id}
        return {**patch.body, "metadata": {**metadata, "labels": labels}}

    def _prune(
        self, wanted: set[HubKey], written: Collection[Kind], there: Mapping[HubKey, Tree], done: Synced
    ) -> None:
        for key, body in there.items():
            ours = self._is_ours(body)
            if ours and dig(body, "metadata", "deletionTimestamp") is not None:
                continue
            parts = ("",) if ours else _applied_parts(body)
            for left in (key._replace(status=part == "status") for part in parts):
                if left in wanted:
                    continue
                if left.kind not in written:
                    done.kept.append(left)
                elif ours:
                    self._delete(key, body, done)
                else:
                    self._give_up(left, done)

    def _delete(self, key: HubKey, body: Tree, done: Synced) -> None:
        uid, gone = body["metadata"]["uid"], (404, 409)  # somebody else deleted it, or made it anew
        if self._asked(key, done, lambda: self._hub.delete(path_of(key), uid, dry_run=self._dry_run), gone) is None:
            return
        for half in (key, key._replace(status=True)):
            self._seen.pop(half, None)
        done.pruned.append(key)

    def _give_up(self, key: HubKey, done: Synced) -> None:
        """Remove muster's fields from an object that others make."""
        metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        body = {"apiVersion": api_version(key.kind), "kind": key.kind.name, "metadata": metadata}
        if self._asked(key, done, lambda: self._hub.apply(path_of(key), body, MANAGER, dry_run=self._dry_run)) is None:
            return
        self._seen.pop(key, None)
        done.pruned.append(key)

    def _is_ours(self, body: Tree) -> bool:
        return bool(dig(body, "metadata", "labels", _PART_OF) == self._parent.set_id)


def _applied_parts(body: Tree) -> Iterator[str]:
    """The parts of an object of which muster manages fields: the object (empty) and its status."""
    for entry in dig(body, "metadata", "managedFields") or ():
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply" and entry.get("fieldsV1"):
            yield str(entry.get("subresource") or "")


def _key(kind: Kind, body: Tree) -> HubKey:
    return HubKey(kind, dig(body, "metadata", "namespace") or "", body["metadata"]["name"])


def _version(body: Tree) -> str:
    return str(dig(body, "metadata", "resourceVersion") or "")


def _content(body: Tree, *, status: bool) -> Tree:
    """An object without its status, or its status alone; and without what the server keeps of its history."""
    if status:
        return body.get("status")
    history = ("managedFields", "resourceVersion", "generation")
    metadata = {name: value for name, value in body["metadata"].items() if name not in history}
    return {**body, "metadata": metadata, "status": None}
