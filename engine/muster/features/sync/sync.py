"""One pass of `muster sync`: apply what is wanted, repair what was changed by hand, and prune what lost its reason.

Only objects of the set are deleted, and by a take-over decisions that its own replace. Fields of objects that others
make are given up by applying nothing in their place. `muster.features.sync.ownership` says which those are.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.discovery import Discovery
from muster.data.kinds import BY_GROUP_KIND, PLACEMENT
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.features.export.projected import NO_PROJECTIONS, ProjectedObject, ProjectedObjects, is_chosen
from muster.features.sync.hub import (
    HubKey,
    HubKind,
    kind_at,
    kind_in_any_version,
    object_at,
    objects_of,
    parent_path,
    path_of,
)
from muster.features.sync.ownership import (
    COMMON_MANAGER,
    PART_OF,
    Ownership,
    SyncParent,
    applied_parts,
)
from muster.features.sync.wanted import OWNED, Patch, unwritten_kinds
from muster.version import __version__

_ID: Final = "applyset.kubernetes.io/id"
_TOOLING: Final = "applyset.kubernetes.io/tooling"
_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
_NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
_REPOSITORY: Final = "muster.dev/repository"
#: Which Projection's file has an object.
_PROJECTION: Final = "muster.dev/projection"
_PLACEMENT: Final = HubKind.of(PLACEMENT)
#: Kinds whose objects others make, too: those are looked at for fields of muster's.
_SHARED: Final = frozenset(HubKind.of(kind) for kind in (PLACEMENT, *(rule.kind for rule in OWNED)))
#: What other objects need is applied first.
_FIRST: Final = frozenset((("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")))


class FedByAnotherError(Exception):
    """Another repository feeds this hub: that of the given first commit."""

    def __init__(self, repository: str, parent: "SyncParent") -> None:
        super().__init__(
            f"another repository feeds this hub: {repository} (ConfigMap {parent.namespace}/{parent.name}). Stop that "
            "one and delete the ConfigMap, or give another --name"
        )


@dataclass(frozen=True, slots=True)
class Synced:
    """What one pass did, by object: what was `created`, `changed` because muster decided anew, `healed` because
    somebody else changed it, `pruned`, or `unchanged`; `kept` is what an earlier run wrote of a system or Projection
    that this one does not write; `taken` are objects of others that are muster's now; `absent` are
    objects that others must make first, `failed` what was not done, and why. `others` is the number of files without
    objects, by Projection."""

    created: list[HubKey] = field(default_factory=list)
    changed: list[HubKey] = field(default_factory=list)
    healed: list[HubKey] = field(default_factory=list)
    pruned: list[HubKey] = field(default_factory=list)
    absent: list[HubKey] = field(default_factory=list)
    failed: list[tuple[HubKey, str]] = field(default_factory=list)
    unchanged: list[HubKey] = field(default_factory=list)
    kept: list[HubKey] = field(default_factory=list)
    taken: list[HubKey] = field(default_factory=list)
    others: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Did anything change on the hub?"""
        return bool(self.created or self.changed or self.healed or self.pruned or self.taken)


_Answer = TypeVar("_Answer")


class _AppliedBody(NamedTuple):
    """What was applied, and the object's version on the hub after that."""

    body: Mapping[str, Tree]
    version: str


class Syncer:
    """Feeds one hub. It remembers what it applied, so that a pass without news only lists."""

    def __init__(self, hub: ApiServer, parent: SyncParent, *, dry_run: bool = False, take_over: bool = False) -> None:
        """Feed `hub` as the set of `parent`. `take_over`: what others made of what it wants becomes part of it."""
        self._hub, self._parent, self._dry_run = hub, parent, dry_run
        self._ownership = Ownership(parent, take_over=take_over)
        self._seen: dict[HubKey, _AppliedBody] = {}

    def sync(
        self,
        patches: Iterable[Patch],
        systems: Iterable[str] = (),
        projected: ProjectedObjects = NO_PROJECTIONS,
        *,
        prune: bool = True,
    ) -> Synced:
        """Make the hub have what is wanted, and with `prune` nothing else of muster's. What an earlier run wrote of
        systems that are not among `systems`, or of Projections that are not chosen, stays: a forgotten option must not
        delete clusters.

        FedByAnotherError if another repository feeds it, ApiError if the hub does not answer; what it refuses of single
        objects is in the result.
        """
        done, discovery = Synced(others=projected.others), Discovery(self._hub.get_json)
        recorded = self._recorded()
        before = self._kinds_before(recorded, discovery, done)
        patches = [*patches, *_projected(projected, discovery, done)]
        made = {patch.key.kind for patch in patches if patch.made}
        if not self._dry_run:
            self._put_parent(before.keys() | {kind.group_kind for kind in made}, patches)
        there, unseen = dict[HubKey, Tree](), set[HubKind]()
        for kind in sorted({*filter(None, before.values()), *(patch.key.kind for patch in patches), *_SHARED}):
            listed = self._asked(HubKey(kind, "", ""), done, partial(self._listed, kind))
            if listed is None:
                unseen.add(kind)
            there.update((_key(kind, body), body) for body in listed or ())
        decided = (patch.key[1:3] for patch in patches if patch.key.kind == _PLACEMENT)
        self._ownership.look(decided, {self._parent.namespace, *recorded.get(_NAMESPACES, "").split(",")}, there)
        for patch in patches:
            if patch.key.kind not in unseen:
                self._apply(patch, there, done)
        if prune:
            wanted = {patch.key for patch in patches} | {_wanted_key(obj) for obj in projected.objects}
            self._prune(wanted, unwritten_kinds(systems), projected.chosen, there, done)
        held = {kind.group_kind for kind in made} | {key.kind.group_kind for key in done.kept} & before.keys()
        if prune and not self._dry_run and held != before.keys() and not done.failed:
            self._put_parent(held, patches)
        return done

    def _listed(self, kind: HubKind) -> list[Tree]:
        """The objects of a kind: all if others make some, too, else those of this set."""
        query = {} if kind in _SHARED else {"labelSelector": f"{PART_OF}={self._parent.set_id}"}
        return [*objects_of(self._hub, kind, **query)]

    # -- the parent

    def _recorded(self) -> Mapping[str, str]:
        """The annotations of the parent. FedByAnotherError if they name another repository."""
        parent = object_at(self._hub, parent_path(self._parent.namespace, self._parent.name))
        annotations = mapping_at(parent, "metadata", "annotations")
        feeding = annotations.get(_REPOSITORY, "")
        if feeding and feeding != self._parent.repository:
            raise FedByAnotherError(feeding, self._parent)
        return annotations

    def _kinds_before(
        self, recorded: Mapping[str, str], discovery: Discovery, done: Synced
    ) -> dict[str, HubKind | None]:
        """The kinds that the parent names, as it names them; None for one of which the hub does not say what it is."""
        kinds = dict[str, HubKind | None]()
        for named in filter(None, recorded.get(_KINDS, "").split(",")):
            name, _, group = named.partition(".")
            registered = BY_GROUP_KIND.get((group, name))
            try:
                kind = HubKind.of(registered) if registered else kind_in_any_version(self._hub, discovery, group, name)
            except ApiError as error:
                _refuse(done, HubKey(HubKind(group, name, ""), "", ""), error)
                kinds[named] = None
                continue
            if kind is not None:  # of a kind that is gone, no object is left
                kinds[named] = kind
        return kinds

    def _put_parent(self, kinds: Iterable[str], patches: Iterable[Patch]) -> None:
        namespaces = {patch.key.namespace for patch in patches if patch.made} - {self._parent.namespace, ""}
        path = parent_path(self._parent.namespace, self._parent.name)
        head = {"apiVersion": "v1", "kind": "ConfigMap"}
        name = {"name": self._parent.name, "namespace": self._parent.namespace}
        after = self._hub.apply(
            path,
            {
                **head,
                "metadata": {
                    **name,
                    "labels": {_ID: self._parent.set_id},
                    "annotations": {
                        _TOOLING: f"muster/v{__version__}",
                        _KINDS: ",".join(sorted(kinds)),
                        _NAMESPACES: ",".join(sorted(namespaces)),
                        _REPOSITORY: self._parent.repository,
                    },
                },
            },
            self._parent.manager,
        )
        if any(applied_parts(after, (COMMON_MANAGER,))):
            self._hub.apply(path, {**head, "metadata": name}, COMMON_MANAGER)

    # -- objects

    def _apply(self, patch: Patch, there: Mapping[HubKey, Tree], done: Synced) -> None:
        key = patch.key
        now = there.get(key._replace(status=False))
        if now is None and not patch.made:
            done.absent.append(key)
            return
        if now is None and key.kind not in _SHARED:  # only objects of this set were listed
            answer = self._asked(key, done, lambda: [object_at(self._hub, path_of(key))], of=patch.projection)
            if answer is None:
                return
            (now,) = answer
        taken = False
        if now is not None and patch.made and not self._ownership.is_part(now):
            taken = not self._ownership.lost(key, now)
            if taken and not self._ownership.may_take(now):
                done.failed.append((key, _said(self._ownership.reason_against(now), patch.projection)))
                return
        if now is None and key.status and self._dry_run:
            return  # nothing was created
        body = self._labelled(patch)
        seen, version = self._seen.get(key), _version(now)
        if seen is not None and seen.body == body and seen.version == version:
            done.unchanged.append(key)
            return
        after = self._asked(key, done, partial(self._applied, key, body, now), of=patch.projection)
        if after is not None:
            self._note(key, now, after, done, body, taken=taken)

    def _asked(
        self, key: HubKey, done: Synced, request: Callable[[], _Answer], ignored: Collection[int] = (), of: str = ""
    ) -> _Answer | None:
        """The hub's answer; None if it refuses, which is noted unless the status is to be ignored. ApiError if it does
        not answer. `of`: the Projection that asks for it."""
        try:
            return request()
        except ApiError as error:
            if error.status == 0 or error.status not in ignored:
                _refuse(done, key, error, of)
            return None

    def _applied(self, key: HubKey, body: Mapping[str, Tree], now: Tree) -> Tree:
        """Apply the set's fields, and release those that the manager of all sets still has of the object."""
        after = self._sent(key, body, self._parent.manager)
        part = "status" if key.status else ""
        before = applied_parts(now, (COMMON_MANAGER,))
        if not self._dry_run and any(patch.subresource == part for patch in before):
            return self._sent(key, _named(key), COMMON_MANAGER)
        return after

    def _sent(self, key: HubKey, body: Mapping[str, Tree], manager: str) -> Tree:
        return self._hub.apply(path_of(key), body, manager, dry_run=self._dry_run)

    def _note(
        self, key: HubKey, now: Tree, after: Tree, done: Synced, body: Mapping[str, Tree], *, taken: bool
    ) -> None:
        seen = self._seen.get(key)
        if now is None:
            if not key.status:
                done.created.append(key)
        elif taken and not key.status:
            done.taken.append(key)
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
        metadata = dict(patch.body["metadata"])
        metadata["labels"] = {**mapping_at(metadata, "labels"), PART_OF: self._parent.set_id}
        if patch.projection:
            metadata["annotations"] = {**mapping_at(metadata, "annotations"), _PROJECTION: patch.projection}
        return {**patch.body, "metadata": metadata}

    def _prune(
        self,
        wanted: set[HubKey],
        unwritten: Collection[HubKind],
        chosen: frozenset[str],
        there: Mapping[HubKey, Tree],
        done: Synced,
    ) -> None:
        for key, body in there.items():
            whole = self._ownership.is_part(body) or self._ownership.replaces(key, body)
            if whole and dig(body, "metadata", "deletionTimestamp") is not None:
                continue
            of = dig(body, "metadata", "annotations", _PROJECTION)
            kept = key.kind in unwritten if key.kind in _SHARED else not is_chosen(str(of or ""), chosen)
            managers = dict[HubKey, list[str]]()
            for part in () if whole else self._ownership.given_up(key, body):
                managers.setdefault(key._replace(status=part.subresource == "status"), []).append(part.manager)
            for left in [key] if whole else managers:
                if left in wanted:
                    continue
                if kept:
                    done.kept.append(left)
                elif whole:
                    self._delete(key, body, done)
                else:
                    self._give_up(left, managers[left], done)

    def _delete(self, key: HubKey, body: Tree, done: Synced) -> None:
        uid, gone = body["metadata"]["uid"], (404, 409)  # somebody else deleted it, or made it anew
        if self._asked(key, done, partial(self._removed, key, uid), gone) is None:
            return
        for half in (key, key._replace(status=True)):
            self._seen.pop(half, None)
        done.pruned.append(key)

    def _removed(self, key: HubKey, uid: str) -> Tree:
        return self._hub.delete(path_of(key), uid, propagation="Background", dry_run=self._dry_run)

    def _give_up(self, key: HubKey, managers: Iterable[str], done: Synced) -> None:
        """Remove the fields of these managers from an object that others make."""
        for manager in managers:
            if self._asked(key, done, partial(self._sent, key, _named(key), manager)) is None:
                return
        self._seen.pop(key, None)
        done.pruned.append(key)


def _named(key: HubKey) -> dict[str, Tree]:
    """An object of which nothing is said but its name."""
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": key.kind.api_version, "kind": key.kind.name, "metadata": metadata}


def _projected(projected: ProjectedObjects, discovery: Discovery, done: Synced) -> Iterator[Patch]:
    """The objects of Projections as the hub takes them; those that it cannot take are noted, for each kind that it does
    not have once."""
    lacking = dict[tuple[str, HubKind], list[HubKey]]()
    for obj in sorted(projected.objects, key=lambda obj: (obj.id[:2] not in _FIRST, obj.id)):
        key, version = _wanted_key(obj), str(obj.body["apiVersion"])
        if obj.fault:
            done.failed.append((key, _said(obj.fault, obj.projection)))
            continue
        try:
            missing = (obj.projection, key.kind) in lacking
            kind = None if missing else kind_at(discovery, version, obj.id.kind)
        except ApiError as error:
            _refuse(done, key, error, obj.projection)
            continue
        if kind is None:
            lacking.setdefault((obj.projection, key.kind), []).append(key)
        elif kind.namespaced != bool(obj.id.namespace):
            why = "its kind needs metadata.namespace" if kind.namespaced else "its kind has no namespaces"
            done.failed.append((key, _said(why, obj.projection)))
        else:
            yield Patch(key._replace(kind=kind), obj.body, made=True, projection=obj.projection)
    for (projection, kind), keys in lacking.items():
        why = f"the hub has no kind {kind.name} in {kind.api_version}"
        more = f", for {len(keys)} objects" if len(keys) > 1 else ""
        done.failed.append((keys[0], _said(f"{why}{more}", projection)))


def _wanted_key(obj: ProjectedObject) -> HubKey:
    version = str(obj.body["apiVersion"]).rpartition("/")[2]
    return HubKey(HubKind(obj.id.group, obj.id.kind, version), obj.id.namespace, obj.id.name)


def _refuse(done: Synced, key: HubKey, error: ApiError, projection: str = "") -> None:
    """Note what the hub refuses. ApiError if it does not answer."""
    if error.status == 0:
        raise error
    done.failed.append((key, _said(str(error), projection)))


def _said(why: str, projection: str) -> str:
    return f"{why} (Projection {projection})" if projection else why


def _key(kind: HubKind, body: Tree) -> HubKey:
    return HubKey(kind, dig(body, "metadata", "namespace") or "", body["metadata"]["name"])


def _version(body: Tree) -> str:
    return str(dig(body, "metadata", "resourceVersion") or "")


def _content(body: Tree, *, status: bool) -> Tree:
    """An object without its status, or its status alone; without its type, which lists omit, and its history."""
    if status:
        return body.get("status")
    history = ("managedFields", "resourceVersion", "generation")
    metadata = {name: value for name, value in body["metadata"].items() if name not in history}
    return {**body, "metadata": metadata, "status": None, "apiVersion": None, "kind": None}
