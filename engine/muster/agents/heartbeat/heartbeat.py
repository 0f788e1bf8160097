"""The heartbeat of a cluster: the agent renews a Lease and reports the cluster's status on the cluster's own ref.

Source: seeds 000 and 002 and upstream's registration agent. Until the hub accepts the cluster, the agent only asks to
join. Afterwards it renews the Lease and reports. While the hub keeps saying that the clocks differ, the agent renews
the Lease and leaves the report as it was. It ignores the hub's first statements of that kind: a hub judges the clock by
the Lease, so it says the same of every cluster that was silent, and an agent that comes back must report.

The hub sets the interval ("managed agent can adjust the lease update time accordingly"): before each renewal the agent
reads the current lease duration. It renews within that duration, measured from start to start, so that neither the
push nor the jitter lets the Lease expire; the hub waits for five durations. If the hub does not answer, the agent
retries at once and then with growing pauses, and what the hub said last stays valid.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from muster.agents.heartbeat.availability import AVAILABLE, RETRY_SECONDS, Availability, FailureThreshold
from muster.agents.heartbeat.facts import ADD_ONS, ClusterFacts
from muster.agents.hub.view import HubView, bounded
from muster.data.kinds import LEASE, MANAGED_CLUSTER
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.leases import CLUSTER_NAME, DEFAULT_SECONDS, GRACE_FACTOR, LEASE_NAME
from muster.git.errors import RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents, update

if TYPE_CHECKING:
    from muster.agents.hub.pushed_ref import PushedRef
    from muster.agents.hub.relayed_ref import RelayedRef
    from muster.agents.identity.rotation import Outcome, Rotation

CLUSTER_FILE, LEASE_FILE = "cluster.yaml", "lease.yaml"
#: The part of a lease's duration after which it is renewed: random, so that agents that start together drift apart, and
#: early enough for a slow push.
EARLIEST, LATEST = 0.8, 0.95
#: How often an agent that is not accepted reads the hub. It pushes only what is missing on its ref.
JOIN_SECONDS: Final = 10.0
#: The first pause after a failure, as a part of the lease's duration, and its upper bound in seconds; it doubles.
_FIRST_PAUSE, _LONGEST_FIRST_PAUSE = 0.25, 1.0
_MOST_SECONDS, _LEAST_SECONDS = 30.0, 5.0  # of one exchange with the remote
_RACES = 5
#: How long the hub must report a clock difference before the agent acts on it, if that is longer than its grace period.
_UNSYNCED: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AgentStatement:
    """What an agent reports at one instant. `verdict` None: a failure that is not confirmed yet."""

    instant: datetime
    verdict: Availability | None
    facts: ClusterFacts


@dataclass
class Heartbeat:
    """The heartbeat of one cluster.

    `check` checks the cluster (None: no answer yet) and `read_hub` reads the hub; `wait` sleeps and returns True to
    stop. `lease_seconds` is the agent's own proposal, valid until the hub decides. `extra_files` are written beside the
    agent's own files on the ref. With a `rotation` the agent has a certificate, or asks for one.
    """

    ref: "PushedRef | RelayedRef"
    holder: str
    check: Callable[[], Availability | None]
    facts: Callable[[], ClusterFacts]
    read_hub: Callable[[], HubView]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    wait: Callable[[float], bool]
    lease_seconds: int = DEFAULT_SECONDS
    extra_files: Mapping[str, bytes] = field(default_factory=dict)
    rotation: "Rotation | None" = None
    #: Add-ons whose Leases are renewed together with the cluster's.
    add_ons: tuple[str, ...] = ()
    _threshold: FailureThreshold = field(default_factory=FailureThreshold)
    _hub: HubView | None = None
    _contents: RefContents | None = None
    _clock_skewed: bool = False
    _failure_pending: bool = False  # the check fails, and has not failed for long enough

    def beat(self) -> str:
        """Report once and return a summary. Waits until a failure of the cluster is confirmed or over.

        RepositoryError if the hub does not take the report.
        """
        return self._beat(patient=True)

    def run(self, say: Callable[[str], None], complain: Callable[[str], None]) -> None:
        """Report until `wait` returns True. A failure of the cluster never delays the renewal of the Lease."""
        failures, trouble, waited, reported = 0, "", "", ""
        while True:
            began = self.monotonic()
            try:
                done, waits = self._beat(patient=False), self._waits_for()
                if done != reported or not waits:
                    say(done)
                if waits and waits != waited:
                    say(f"waits since {format_time(self.now())} {waits}")
                waited, reported = waits, done
                failures, trouble = 0, ""
                due = began + self.pause()
            except RepositoryError as error:
                if error.message != trouble:
                    complain(error.message)
                trouble = error.message
                due = self.monotonic() + self._retry_pause(failures)
                failures += 1
            if self.wait(max(0.0, due - self.monotonic())):
                return

    def _waits_for(self) -> str:
        """What the agent waits for and what to do in the fleet's repository; empty for nothing."""
        request = self.rotation.asks_with if self.rotation is not None else ""
        if self._hub is None or not self._hub.accepted:
            asks = f" and for the certificate {request}" if request else ""
            return f"to be accepted{asks}: muster accept {self.ref.cluster}"
        if self.rotation is not None and self.rotation.current is None and request:
            # The view does not say whether somebody has approved it.
            return f"for the certificate {request}: muster accept {self.ref.cluster} approves it, then muster sign"
        return ""

    def period(self) -> float:
        """Seconds from one renewal to the next."""
        return self._lease_seconds() * random.uniform(EARLIEST, LATEST)  # noqa: S311 - it only spreads load

    def pause(self) -> float:
        """Seconds from the start of one beat to the start of the next."""
        if self._hub is None or not self._hub.accepted:
            return min(self.period(), JOIN_SECONDS)
        return min(self.period(), RETRY_SECONDS) if self._failure_pending else self.period()

    def _retry_pause(self, failures: int) -> float:
        """Seconds after a failure: several retries fit into the hub's grace period, none is later than a renewal."""
        first = min(self._lease_seconds() * _FIRST_PAUSE, _LONGEST_FIRST_PAUSE)
        pause = first * float(1 << min(failures, 20)) * random.uniform(0.5, 1)  # noqa: S311
        return min(pause, self.period())

    def _lease_seconds(self) -> int:
        if self._hub is None or not self._hub.accepted:
            return self.lease_seconds
        return self._hub.lease_seconds or DEFAULT_SECONDS

    def _beat(self, *, patient: bool) -> str:
        hub = self._updated_hub()
        trouble = self._rotate(hub)
        doubt = f"the hub ignores it: {': '.join(hub.doubt)}" if hub.doubt and hub.accepted else ""
        return "; ".join(text for text in (self._report(hub, patient=patient), doubt, trouble) if text)

    def _rotate(self, hub: HubView) -> str:
        """Continue the rotation of the certificate; return what prevents it."""
        if self.rotation is None:
            return ""
        unsigned = self.rotation.current is None
        trouble = self.rotation.advance(hub.answers, self.now(), doubted=hub.doubt[0] if hub.doubt else "")
        if unsigned and self.rotation.current is not None:
            self._contents = None  # from now on the agent signs, so it reads first which of the files are its own
        return trouble

    def _report(self, hub: HubView, *, patient: bool) -> str:
        if not hub.accepted:
            self._push(self._join_files, "Ask to join", renews=False)
            return "asked to join"
        verdict = self._verdict()
        while patient and self._failure_pending and not self.wait(RETRY_SECONDS):
            verdict = self._verdict()
        facts = self.facts() if verdict and verdict.status == "True" else ClusterFacts()
        statement = AgentStatement(self.now(), verdict, facts)
        self._push(lambda contents: self._report_files(contents, hub, statement), "Renew", renews=True)
        if self._clock_skewed:
            return "renewed; the hub says that the clocks differ, so nothing else is reported"
        return f"renewed, {AVAILABLE} is {verdict.status}" if verdict else "renewed"

    def _verdict(self) -> Availability | None:
        verdict = self.check()
        confirmed = None if verdict is None else self._threshold.confirmed(verdict, self.monotonic())
        self._failure_pending = verdict is not None and confirmed is None
        return confirmed

    def _updated_hub(self) -> HubView:
        """Read the hub; if it does not answer, return its last answer. A new process continues from its own Lease."""
        try:
            self._hub = self.read_hub()
        except RepositoryError:
            if self._hub is None:
                self._contents = self._bounded_ref().look()
                seconds = dig(_load(self._contents.files.get(LEASE_FILE, b"")), "spec", "leaseDurationSeconds")
                if bounded(seconds) is None:
                    raise
                self._hub = HubView(accepted=True, lease_seconds=bounded(seconds))
        return self._hub

    def _bounded_ref(self) -> "PushedRef | RelayedRef":
        """The ref, with a time limit for each exchange that leaves time for another one within the grace period."""
        limit = min(_MOST_SECONDS, max(_LEAST_SECONDS, float(self._lease_seconds())))
        return replace(self.ref, limit_seconds=limit)

    def _push(self, make: Callable[[RefContents], dict[str, bytes]], message: str, *, renews: bool) -> None:
        """Write files to the ref, on top of its present contents. Without `renews`, write only if something differs."""

        def news(contents: RefContents) -> dict[str, bytes] | None:
            files = make(contents)
            return files if renews or not contents.commit or files != contents.files else None

        ref, known = self._bounded_ref(), self._contents
        self._contents = None  # until the result of the push is known
        contents = known if known and renews else ref.look(known or NO_CONTENTS)
        done = update(ref, news, f"{message}\n", attempts=range(_RACES), known=contents)
        if not isinstance(done, RefContents):
            raise RepositoryError(f"{self.ref.ref} kept moving", "does another agent report for the same cluster?")
        self._contents = done

    def _join_files(self, contents: RefContents) -> dict[str, bytes]:
        return {**self._kept_files(contents), CLUSTER_FILE: _yaml(self._cluster({}))}

    def _kept_files(
        self, contents: RefContents, folders: Mapping[str, Mapping[str, bytes]] = MappingProxyType({})
    ) -> dict[str, bytes]:
        """The files beside this agent's report: those of other agents, its own certificate requests, and the folders
        that it fills."""
        left = contents.files if self.rotation is None else self.rotation.with_requests(contents.files)
        left = {path: content for path, content in left.items() if not path.startswith(tuple(folders))}
        return {
            **left,
            **{path: text for files in folders.values() for path, text in files.items()},
            **self.extra_files,
        }

    def _report_files(self, contents: RefContents, hub: HubView, statement: AgentStatement) -> dict[str, bytes]:
        before = mapping_at(_load(contents.files.get(CLUSTER_FILE, b"")), "status")
        since, resumed = self._held_since(contents, statement.instant)
        if resumed:
            # The verdict from before a silence is outdated, and would now look as fresh as the renewal.
            before = {**before, "conditions": [c for c in mappings_at(before, "conditions") if c["type"] != AVAILABLE]}
        patience = max(_UNSYNCED, GRACE_FACTOR * self._lease_duration())
        self._clock_skewed = not hub.synced and statement.instant - since >= patience
        status = before if self._clock_skewed else reported_status(before, statement)
        if self.rotation is not None and (outcome := self.rotation.outcome) is not None:
            conditions = _with_condition(mappings_at(status, "conditions"), outcome.type, outcome, statement.instant)
            status = {**status, "conditions": conditions}
        return {
            **self._kept_files(contents, statement.facts.folders),
            CLUSTER_FILE: _yaml(self._cluster(status)),
            LEASE_FILE: _yaml(self._lease(LEASE_NAME, statement.instant, since)),
            **{f"{ADD_ONS}{name}.yaml": _yaml(self._lease(name, statement.instant, since)) for name in self.add_ons},
        }

    def _held_since(self, contents: RefContents, instant: datetime) -> tuple[datetime, bool]:
        """Since when the lease is held without a gap, and whether it starts anew now."""
        spec = mapping_at(_load(contents.files.get(LEASE_FILE, b"")), "spec")
        renewed, acquired = try_time(spec.get("renewTime")), try_time(spec.get("acquireTime"))
        lasted = bounded(spec.get("leaseDurationSeconds")) or 0
        patience = GRACE_FACTOR * max(self._lease_duration(), timedelta(seconds=lasted))
        resumed = renewed is None or instant - renewed >= patience
        return (instant if resumed or acquired is None else acquired), resumed

    def _lease_duration(self) -> timedelta:
        return timedelta(seconds=self._lease_seconds())

    def _cluster(self, status: Tree) -> Tree:
        spec = {"hubAcceptsClient": False, "leaseDurationSeconds": self.lease_seconds}
        return MANAGED_CLUSTER.body({"name": self.ref.cluster}, spec=spec, **({"status": status} if status else {}))

    def _lease(self, name: str, instant: datetime, since: datetime) -> Tree:
        cluster = self.ref.cluster
        labels = {"labels": {CLUSTER_NAME: cluster}} if name == LEASE_NAME else {}
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self._lease_seconds(),
            "acquireTime": format_time(since),
            "renewTime": format_time(instant),
        }
        return LEASE.body({"name": name, "namespace": cluster, **labels}, spec=spec)


def reported_status(before: Mapping[str, Tree], statement: AgentStatement) -> dict[str, Tree]:
    """Return the status to report.

    Facts that could not be read keep their values, and so does the condition if the verdict is not confirmed yet. A
    fact that was read and is empty is removed. Capacity entries of other writers stay, as upstream leaves them.
    """
    facts = dict(statement.facts.status)
    if "capacity" in facts:
        facts["capacity"] = {**mapping_at(before, "capacity"), **facts["capacity"]}
    removed = {name for name, value in facts.items() if value in ([], {})}
    conditions = list(mappings_at(before, "conditions"))
    if statement.verdict is not None:
        conditions = _with_condition(conditions, AVAILABLE, statement.verdict, statement.instant)
    kept = {name: value for name, value in {**before, **facts}.items() if name not in removed}
    return {**kept, "conditions": conditions}


def _with_condition(
    conditions: Iterable[Tree], type_: str, verdict: "Availability | Outcome", instant: datetime
) -> list[Tree]:
    """Conditions with one of them set. Its transition time changes only with its status."""
    before = list(conditions)
    others = [condition for condition in before if condition.get("type") != type_]
    old: Tree = next((condition for condition in before if condition.get("type") == type_), {})
    same = old.get("status") == verdict.status and "lastTransitionTime" in old
    since = old["lastTransitionTime"] if same else format_time(instant)
    values = {"status": verdict.status, "reason": verdict.reason, "message": verdict.message}
    return [*others, {"type": type_, **values, "lastTransitionTime": since}]


def _yaml(body: Tree) -> bytes:
    return file_text(body).encode()


def _load(data: bytes) -> Tree:
    documents = load_documents(data, "").documents
    return documents[0].body if documents else {}
