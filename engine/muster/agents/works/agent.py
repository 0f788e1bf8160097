"""The work agent: applies the ManifestWorks that the hub has for its cluster, and reports their status.

Source: ocm `pkg/work/spoke`. It knows works only while the hub says that the cluster is accepted, and keeps those that
it read last while the hub does not answer: an outage changes nothing in the cluster. A work that is not in such a
list any more is removed. A work counts only if its spec has the digest that muster wrote beside it, so a spec that was
cut off or edited by hand is not applied, and what was applied for the work stays.

Each work is applied when it changes, after a failure, and regularly to undo changes that others made; between these
times its objects are read.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Final

from muster.agents.hub.view import ClusterWorks, HubView
from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.kube.discovery import Discovery
from muster.agents.works.applying import (
    ApplyError,
    apply_manifest,
    check_executor,
    executor_of,
    server_of,
)
from muster.agents.works.inventory import AppliedObject, InventoryStore, WorkInventory, is_outage, remove
from muster.agents.works.manifests import (
    READ_ONLY,
    Manifest,
    ManifestOptions,
    ResourceKey,
    in_order,
    is_orphaned,
    options_of,
    read_manifests,
)
from muster.agents.works.observing import ConditionValue, read_feedback, rule_conditions
from muster.agents.works.status import (
    COMPLETE,
    HAS_NO_KIND,
    IS_APPLIED,
    IS_AVAILABLE,
    IS_MISSING,
    ManifestResult,
    manifest_conditions,
    work_status,
)
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.objects import SPEC_DIGEST
from muster.git.errors import RepositoryError
from muster.rules.generations import spec_digest

#: Upstream reads every 10 seconds as well, and applies every 5 minutes.
STEP_SECONDS: Final = 10.0
APPLY_SECONDS: Final = 60.0
_NOT_FOUND: Final = 404
_DEFINITION: Final = "CustomResourceDefinition"
#: How often, and how many times, to ask for a kind that was defined a moment ago.
_CHECK_SECONDS, _LATEST_CHECKS = 0.5, 10


@dataclass(slots=True)
class _Work:
    """A work that the hub has, and what a step found out about it."""

    name: str
    generation: int
    spec: Tree
    digest: str
    manifests: list[Manifest]
    executor: str = ""
    results: dict[int, ManifestResult] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def keys(self) -> set[ResourceKey]:
        """The objects that it is about."""
        return {manifest.key for manifest in self.manifests if manifest.key is not None}

    def owned(self) -> dict[ResourceKey, AppliedObject]:
        """The objects that go with the work."""
        owned = dict[ResourceKey, AppliedObject]()
        for manifest in self.manifests:
            if (
                manifest.resource is None
                or manifest.key is None
                or manifest.problem
                or is_orphaned(self.spec, manifest.key)
            ):
                continue
            if options_of(self.spec, manifest.key).strategy != READ_ONLY:
                owned[manifest.key] = AppliedObject(
                    manifest.key, manifest.resource.version, manifest.resource.namespaced
                )
        return owned


@dataclass
class WorkAgent:
    """Applies the works of `cluster`, and remembers what it applied in `namespace`.

    `reported` returns the status of each work on the cluster's ref: a new process continues with it.
    """

    server: ApiServer
    cluster: str
    namespace: str
    reported: Callable[[], Mapping[str, Tree]]
    now: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    _works: ClusterWorks | None = None
    _status: dict[str, Tree] | None = None  # by work
    _finished: Mapping[str, Tree] | None = None  # the status after the last step
    _applied: dict[str, tuple[str, float]] = field(default_factory=dict)  # by work, its digest and when; no failures
    _lock: Lock = field(default_factory=Lock)
    _wake: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._kinds = Discovery(self.server.get_json)
        self._store = InventoryStore(self.server, self.cluster, self.namespace)

    def take(self, view: HubView) -> None:
        """Take the works of the hub's latest view, which counts only if it accepts the cluster."""
        works = view.works if view.accepted else None
        with self._lock:
            changed = works is not None and (self._works is None or works.digest != self._works.digest)
            self._works = works
        if changed:
            self._wake.set()

    def status(self) -> Mapping[str, Tree] | None:
        """Return the status to report of each work; None until that is known."""
        with self._lock:
            return self._finished if self._works is not None else None

    def step(self) -> list[str]:
        """Bring the cluster to what the works say, and return what went wrong and is in no work's status.

        RepositoryError if the last report cannot be read, ApiError if the API server does not answer.
        """
        with self._lock:
            works = self._works
        if works is None:
            return []
        if self._status is None:
            self._status = dict(self.reported())
        self._status = {name: status for name, status in self._status.items() if name in works.bodies}
        works_here = [self._work(name, body) for name, body in sorted(works.bodies.items())]
        problems = self._reconcile(works, [work for work in works_here if work is not None])
        with self._lock:
            self._finished = dict(self._status)
        return problems

    def start(self, on_change: Callable[[], None], complain: Callable[[str], None]) -> None:
        """Step regularly and at once for changed works, in a thread. `on_change` is called when a status changes."""
        Thread(target=self._run, args=(on_change, complain), daemon=True, name="muster-works").start()

    def stop(self) -> None:
        """Stop the thread after its current step."""
        self._stop.set()
        self._wake.set()

    def _run(self, on_change: Callable[[], None], complain: Callable[[str], None]) -> None:
        reported = list[str]()
        while not self._stop.is_set():
            before = self.status()
            try:
                problems = self.step()
            except (ApiError, RepositoryError) as error:
                problems = [f"works cannot be applied now: {error}"]
            except Exception as error:  # noqa: BLE001 - one work that cannot be handled must not end the agent
                problems = [f"works cannot be applied: {type(error).__name__}: {error}"]
            for problem in problems:
                if problem not in reported:
                    complain(problem)
            reported = problems
            if self.status() != before:
                with contextlib.suppress(Exception):
                    on_change()
            self._wake.wait(STEP_SECONDS)
            self._wake.clear()

    def _work(self, name: str, body: Tree) -> _Work | None:
        """A work to apply; None if its spec is not the one that muster wrote."""
        spec, digest = dig(body, "spec"), mapping_at(body, "metadata", "annotations").get(SPEC_DIGEST)
        generation = dig(body, "metadata", "generation")
        if not isinstance(generation, int) or digest is None or spec_digest(spec) != digest:
            return None
        return _Work(name, generation, spec, f"{digest}/{generation}", read_manifests(spec, self._kinds.find))

    def _reconcile(self, works: ClusterWorks, works_here: list[_Work]) -> list[str]:
        try:
            inventories = self._store.load()
            refusal = ""
        except ApiError as error:
            if is_outage(error):
                raise
            inventories, refusal = {}, f"the agent cannot remember what it applies: {error}"
        recorded = not refusal
        for work in works_here:
            recorded = self._apply_or_read(work, inventories, refusal) and recorded
        problems = [refusal] if refusal else []
        if recorded:  # else it is not known what others hold
            problems += self._prune(works, works_here, inventories)
        for work in works_here:
            self._conclude(work)
        return problems

    def _conclude(self, work: _Work) -> None:
        assert self._status is not None
        results = [work.results[manifest.ordinal] for manifest in work.manifests]
        before = self._status.get(work.name)
        self._status[work.name] = work_status(results, work.generation, before, self.now(), work.problems)
        failed = any(result.applied is not None and result.applied.status != "True" for result in results)
        if failed or work.problems:
            self._applied.pop(work.name, None)

    def _apply_or_read(self, work: _Work, inventories: dict[str, WorkInventory], refusal: str) -> bool:
        """Apply a work, or read its objects if it was applied lately. Return whether its objects are written down."""
        digest, since = self._applied.get(work.name, ("", 0.0))
        due = digest != work.digest or self.monotonic() - since >= APPLY_SECONDS
        try:
            work.executor = executor_of(work.spec)
        except ApplyError as error:
            refusal = refusal or str(error)
        refusal = refusal or self._apply_manifests(work, inventories, work.manifests, due=due)
        if refusal:
            work.results = {
                manifest.ordinal: ManifestResult(manifest.meta(), _failure(refusal)) for manifest in work.manifests
            }
        elif due:
            if late := self._late(work):
                refusal = self._apply_manifests(work, inventories, late, due=True)
            self._applied[work.name] = (work.digest, self.monotonic())
        return not refusal

    def _apply_manifests(
        self, work: _Work, inventories: dict[str, WorkInventory], manifests: Iterable[Manifest], *, due: bool
    ) -> str:
        """Apply or read manifests; return why nothing could be applied."""
        if due and (refusal := self._record(work, inventories, work.owned())):
            return refusal
        server, uids = server_of(self.server, work.executor), dict[ResourceKey, str]()
        for manifest in in_order(manifests):
            work.results[manifest.ordinal], obj = self._apply_manifest(server, work, manifest, due=due)
            if manifest.key is not None and (uid := dig(obj, "metadata", "uid")):
                uids[manifest.key] = str(uid)
        if not due:
            return ""
        entries = inventories[work.name].entries
        owned = {key: replace(entry, uid=uids.get(key) or entries[key].uid) for key, entry in work.owned().items()}
        return self._record(work, inventories, owned)

    def _late(self, work: _Work) -> list[Manifest]:
        """Return the manifests whose kinds the server serves only since the work's definitions were applied."""
        unknown = {manifest.ordinal for manifest in work.manifests if manifest.resource is None}
        if not unknown or not any(manifest.body.get("kind") == _DEFINITION for manifest in work.manifests):
            return []
        for _ in range(_LATEST_CHECKS):
            work.manifests = read_manifests(work.spec, self._kinds.find)
            if all(manifest.resource is not None for manifest in work.manifests):
                break
            self._stop.wait(_CHECK_SECONDS)
        return [
            manifest for manifest in work.manifests if manifest.ordinal in unknown and manifest.resource is not None
        ]

    def _record(
        self, work: _Work, inventories: dict[str, WorkInventory], owned: Mapping[ResourceKey, AppliedObject]
    ) -> str:
        """Write down the objects of a work beside those that it had before; return why that is not possible."""
        before = inventories.get(work.name, WorkInventory())
        entries = {key: entry for key, entry in owned.items() if entry.uid or key not in before.entries}
        # What the work says to leave alone is forgotten here; what it does not have any more is removed later.
        kept = {key: entry for key, entry in before.entries.items() if key in owned or key not in work.keys}
        inventories[work.name] = WorkInventory({**kept, **entries}, work.executor)
        return self._save(work.name, inventories)

    def _save(self, name: str, inventories: dict[str, WorkInventory]) -> str:
        try:
            self._store.save(name, inventories[name])
        except ApiError as error:
            if is_outage(error):
                raise
            return f"the agent cannot remember what it applies: {error}"
        return ""

    def _apply_manifest(
        self, server: ApiServer, work: _Work, manifest: Manifest, *, due: bool
    ) -> tuple[ManifestResult, Tree]:
        """Apply a manifest if it is due, and read what became of it."""
        assert self._status is not None
        options = options_of(work.spec, manifest.key) if manifest.key is not None else ManifestOptions()
        meta, applied, obj = manifest.meta(), None, None
        conditions = manifest_conditions(self._status.get(work.name), meta)
        if due and mapping_at(conditions.get(COMPLETE)).get("status") == "True":
            applied = IS_APPLIED  # it is not updated any more
        elif due:
            applied, obj = _tried(server, work, manifest, options)
        if manifest.resource is None or manifest.problem:
            return ManifestResult(meta, applied, HAS_NO_KIND), None
        obj, available = (obj, IS_AVAILABLE) if obj else _read(server, manifest)
        if obj is None:
            return ManifestResult(meta, applied, available), None
        return ManifestResult(
            meta, applied, available, read_feedback(obj, options.feedback), rule_conditions(obj, options.rules)
        ), obj

    def _prune(
        self, works: ClusterWorks, works_here: Iterable[_Work], inventories: dict[str, WorkInventory]
    ) -> list[str]:
        """Remove what works do not have any more, and what belongs to works that are gone."""
        by_name, problems = {work.name: work for work in works_here}, list[str]()
        for name in sorted(inventories):
            work = by_name.get(name)
            if work is None and name in works.bodies:
                continue  # its spec cannot be trusted, so what it has stays
            if work is not None and any(manifest.resource is None for manifest in work.manifests):
                continue  # an object whose kind is unknown may be one of those that look superfluous
            inventory = inventories[name]
            stale = {key: entry for key, entry in inventory.entries.items() if work is None or key not in work.keys}
            held = {key for key in stale if _is_held(key, name, by_name, inventories)}
            left, failures = remove(
                server_of(self.server, inventory.executor), [entry for key, entry in stale.items() if key not in held]
            )
            if failures and inventory.executor:  # it had the right when it applied; its account may be gone by now
                left, failures = remove(self.server, left.values())
            kept = {key: entry for key, entry in inventory.entries.items() if key not in stale}
            inventories[name] = WorkInventory({**kept, **left}, inventory.executor)
            failures += filter(None, [self._save(name, inventories)])
            if work is None:
                problems += [f"work {name}: {failure}" for failure in failures]
                self._applied.pop(name, None)
            else:
                work.problems += failures
        return problems


def _is_held(key: ResourceKey, name: str, works: Mapping[str, _Work], inventories: Mapping[str, WorkInventory]) -> bool:
    """Does another work have the object?"""
    if any(key in work.keys for other, work in works.items() if other != name):
        return True
    return any(key in inventory.entries for other, inventory in inventories.items() if other != name)


def _tried(server: ApiServer, work: _Work, manifest: Manifest, options: ManifestOptions) -> tuple[ConditionValue, Tree]:
    """Apply a manifest. Return its condition Applied, and the object."""
    try:
        check_executor(server, work.executor, manifest, work.spec)
        return IS_APPLIED, apply_manifest(server, manifest, options)
    except ApplyError as error:
        return ConditionValue("False", error.reason, f"Failed to apply manifest: {error}"), None
    except ApiError as error:
        if is_outage(error):
            raise
        return _failure(str(error)), None


def _failure(message: str) -> ConditionValue:
    return ConditionValue("False", "AppliedManifestFailed", f"Failed to apply manifest: {message}")


def _read(server: ApiServer, manifest: Manifest) -> tuple[Tree, ConditionValue]:
    try:
        return server.get_json(manifest.path), IS_AVAILABLE
    except ApiError as error:
        if is_outage(error):
            raise
        if error.status == _NOT_FOUND:
            return None, IS_MISSING
        return None, ConditionValue("Unknown", "FetchingResourceFailed", f"Failed to fetch resource: {error}")
