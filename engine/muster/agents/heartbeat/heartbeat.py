"""The heartbeat of a cluster: a Lease that is renewed, and what the cluster is, on the cluster's own ref.

Source: seeds 000 and 002 and upstream's registration agent. Until the hub accepts the cluster, the agent only asks to
be let in. Afterwards it renews the Lease and reports. Where the hub goes on saying that the clocks differ, it renews
and leaves the report as it was. It does not take the first such word for that: a hub judges the clock by the Lease, and
so says the same of every cluster that was silent; whoever comes back has news, and the hub must have it.

How often is the hub's to say ("managed agent can adjust the lease update time accordingly"): before each renewal the
agent looks what the lease's duration is now. It renews within it, from start to start, so that neither the push's own
duration nor the jitter ever lets the Lease run out; the hub waits for five of them. A hub that does not answer is tried
again at once and then ever more seldom, and what it said last goes on counting.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from muster.agents.heartbeat.availability import AVAILABLE, RETRY_SECONDS, Availability, FailurePatience
from muster.agents.hub.view import HubView, bounded
from muster.data.kinds import LEASE, MANAGED_CLUSTER
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.fleet.leases import CLUSTER_NAME, DEFAULT_SECONDS, GRACE_FACTOR, LEASE_NAME
from muster.git.errors import RepositoryError
from muster.git.rootref import NOTHING, Standing, update

if TYPE_CHECKING:
    from muster.agents.hub.pushed_ref import OwnRef
    from muster.agents.identity.rotation import Outcome, Rotation
    from muster.agents.relay.relayed_ref import RelayedRef

CLUSTER_FILE, LEASE_FILE = "cluster.yaml", "lease.yaml"
#: The folder of the Leases of add-ons.
ADD_ONS: Final = "addons/"
#: When in a lease's duration it is renewed: at random, so that agents that start together do not stay together, and
#: early enough that a slow push still comes in time.
EARLIEST, LATEST = 0.8, 0.95
#: How often an agent that is not accepted looks whether it is by now. It pushes only what is not there yet.
ASKING_SECONDS: Final = 10.0
#: The first pause after a failure is this part of the lease's duration, and at most a second; it doubles.
_FIRST_PAUSE, _LONGEST_FIRST_PAUSE = 0.25, 1.0
_MOST_SECONDS, _LEAST_SECONDS = 30.0, 5.0  # of one exchange with the remote
_RACES = 5
#: How long the hub may go on about the clocks before it is believed, if that is longer than its grace.
_UNSYNCED: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AgentStatement:
    """What an agent has to say at one instant. `verdict` None: a failure that is too young to be believed."""

    instant: datetime
    verdict: Availability | None
    facts: Mapping[str, Tree]


@dataclass
class Heart:
    """One cluster's heartbeats. `look` asks the cluster (None: no answer yet), `view` the hub; `wait` sleeps, and says
    whether to stop.

    `lease_seconds` is the agent's own wish, which counts until the hub has a word; `further` files lie beside the
    agent's own on the ref. With a `rotation` it has a certificate, or asks for one.
    """

    ref: "OwnRef | RelayedRef"
    holder: str
    look: Callable[[], Availability | None]
    facts: Callable[[], Mapping[str, Tree]]
    view: Callable[[], HubView]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    wait: Callable[[float], bool]
    lease_seconds: int = DEFAULT_SECONDS
    further: Mapping[str, bytes] = field(default_factory=dict)
    rotation: "Rotation | None" = None
    #: Add-ons whose Leases are renewed with the cluster's.
    add_ons: tuple[str, ...] = ()
    _patience: FailurePatience = field(default_factory=FailurePatience)
    _seen: HubView | None = None
    _standing: Standing | None = None
    _withheld: bool = False
    _young: bool = False  # whether the cluster fails, and has not for long enough to be believed

    def beat(self) -> str:
        """Report once and return what was said. RepositoryError where the hub does not take it.

        A failure of the cluster is looked at again until it has lasted, or is over.
        """
        return self._beat(patient=True)

    def run(self, say: Callable[[str], None], complain: Callable[[str], None]) -> None:
        """Go on until `wait` says to stop. A failure of the cluster never keeps the Lease from being renewed."""
        failures, trouble = 0, ""
        while True:
            began = self.monotonic()
            try:
                say(self._beat(patient=False))
                failures, trouble = 0, ""
                due = began + self.pause()
            except RepositoryError as error:
                if error.message != trouble:
                    complain(error.message)
                trouble = error.message
                due = self.monotonic() + self._pause_after(failures)
                failures += 1
            if self.wait(max(0.0, due - self.monotonic())):
                return

    def period(self) -> float:
        """Seconds from one renewal to the next."""
        return self._seconds() * random.uniform(EARLIEST, LATEST)  # noqa: S311 - it only spreads load

    def pause(self) -> float:
        """Seconds from the start of one beat to that of the next."""
        if self._seen is None or not self._seen.accepted:
            return min(self.period(), ASKING_SECONDS)
        return min(self.period(), RETRY_SECONDS) if self._young else self.period()

    def _pause_after(self, failures: int) -> float:
        """Seconds after a failure: several tries fall within the hub's patience, and none is later than a renewal."""
        first = min(self._seconds() * _FIRST_PAUSE, _LONGEST_FIRST_PAUSE)
        pause = first * float(1 << min(failures, 20)) * random.uniform(0.5, 1)  # noqa: S311
        return min(pause, self.period())

    def _seconds(self) -> int:
        """How long the lease lasts."""
        if self._seen is None or not self._seen.accepted:
            return self.lease_seconds
        return self._seen.lease_seconds or DEFAULT_SECONDS

    def _beat(self, *, patient: bool) -> str:
        view = self._look_at_hub()
        trouble = self._rotated(view)
        doubt = f"the hub counts nothing of it: {': '.join(view.doubt)}" if view.doubt and view.accepted else ""
        return "; ".join(text for text in (self._told(view, patient=patient), doubt, trouble) if text)

    def _rotated(self, view: HubView) -> str:
        """Go on with the certificate; return what is in the way. Who signs from now on looks first what is there."""
        if self.rotation is None:
            return ""
        stranger = self.rotation.current is None
        trouble = self.rotation.go_on(view.answers, self.now(), doubted=view.doubt[0] if view.doubt else "")
        if stranger and self.rotation.current is not None:
            self._standing = None
        return trouble

    def _told(self, view: HubView, *, patient: bool) -> str:
        if not view.accepted:
            self._push(self._asking, "Ask to be let in", renews=False)
            return "asked to be let in"
        verdict = self._believed()
        while patient and self._young and not self.wait(RETRY_SECONDS):
            verdict = self._believed()
        said = AgentStatement(self.now(), verdict, self.facts() if verdict and verdict.status == "True" else {})
        self._push(lambda standing: self._files(standing, view, said), "Renew", renews=True)
        if self._withheld:
            return "renewed; the hub says that the clocks differ, so nothing else is reported"
        return f"renewed, {AVAILABLE} is {verdict.status}" if verdict else "renewed"

    def _believed(self) -> Availability | None:
        found = self.look()
        believed = None if found is None else self._patience.believed(found, self.monotonic())
        self._young = found is not None and believed is None
        return believed

    def _look_at_hub(self) -> HubView:
        """What the hub says, or said last. A new process that cannot read it goes on where the last one stopped."""
        try:
            self._seen = self.view()
        except RepositoryError:
            if self._seen is None:
                self._standing = self._sender().look()
                seconds = dig(_loaded(self._standing.files.get(LEASE_FILE, b"")), "spec", "leaseDurationSeconds")
                if bounded(seconds) is None:
                    raise
                self._seen = HubView(accepted=True, lease_seconds=bounded(seconds))
        return self._seen

    def _sender(self) -> "OwnRef | RelayedRef":
        """The ref, with a bound on each exchange that leaves time for another one before the hub loses patience."""
        return replace(self.ref, limit_seconds=min(_MOST_SECONDS, max(_LEAST_SECONDS, float(self._seconds()))))

    def _push(self, make: Callable[[Standing], dict[str, bytes]], message: str, *, renews: bool) -> None:
        """Put what is to be said on the ref: on what was left there, and where others moved it, on what they left.

        What does not renew anything is sent only if it does not stand there yet.
        """

        def news(standing: Standing) -> dict[str, bytes] | None:
            files = make(standing)
            return files if renews or not standing.commit or files != standing.files else None

        sender, known = self._sender(), self._standing
        self._standing = None  # until it is known what was taken
        standing = known if known and renews else sender.look(known or NOTHING)
        done = update(sender, news, f"{message}\n", attempts=range(_RACES), standing=standing)
        if not isinstance(done, Standing):
            raise RepositoryError(f"{self.ref.ref} kept moving", "does another agent speak for the same cluster?")
        self._standing = done

    def _asking(self, standing: Standing) -> dict[str, bytes]:
        return {**self._beside(standing), CLUSTER_FILE: _text(self._cluster({}))}

    def _beside(self, standing: Standing) -> dict[str, bytes]:
        """What lies on the ref beside this agent's word: what others left, and its own requests."""
        left = standing.files if self.rotation is None else self.rotation.beside(standing.files)
        return {**left, **self.further}

    def _files(self, standing: Standing, view: HubView, said: AgentStatement) -> dict[str, bytes]:
        """The ref's files."""
        before = mapping_at(_loaded(standing.files.get(CLUSTER_FILE, b"")), "status")
        since, resumed = self._held(standing, said.instant)
        if resumed:
            before = {**before, "conditions": [c for c in mappings_at(before, "conditions") if c["type"] != AVAILABLE]}
        self._withheld = not view.synced and said.instant - since >= max(_UNSYNCED, GRACE_FACTOR * self._duration())
        status = before if self._withheld else status_of(before, said)
        if self.rotation is not None and (rotated := self.rotation.outcome) is not None:
            conditions = _with(mappings_at(status, "conditions"), rotated.type, rotated, said.instant)
            status = {**status, "conditions": conditions}
        return {
            **self._beside(standing),
            CLUSTER_FILE: _text(self._cluster(status)),
            LEASE_FILE: _text(self._lease(LEASE_NAME, said.instant, since)),
            **{f"{ADD_ONS}{name}.yaml": _text(self._lease(name, said.instant, since)) for name in self.add_ons},
        }  # fmt: skip

    def _held(self, standing: Standing, instant: datetime) -> tuple[datetime, bool]:
        """Since when the lease is held without a gap, and whether that is since now.

        What was said of the cluster before a silence is no news of it afterwards: it would come with a fresh renewal.
        """
        spec = mapping_at(_loaded(standing.files.get(LEASE_FILE, b"")), "spec")
        renewed, acquired = try_time(spec.get("renewTime")), try_time(spec.get("acquireTime"))
        lasted = bounded(spec.get("leaseDurationSeconds")) or 0
        patience = GRACE_FACTOR * max(self._duration(), timedelta(seconds=lasted))
        resumed = renewed is None or instant - renewed >= patience
        return (instant if resumed or acquired is None else acquired), resumed

    def _duration(self) -> timedelta:
        return timedelta(seconds=self._seconds())

    def _cluster(self, status: Tree) -> Tree:
        spec = {"hubAcceptsClient": False, "leaseDurationSeconds": self.lease_seconds}
        return MANAGED_CLUSTER.body({"name": self.ref.cluster}, spec=spec, **({"status": status} if status else {}))

    def _lease(self, name: str, instant: datetime, since: datetime) -> Tree:
        cluster = self.ref.cluster
        labels = {"labels": {CLUSTER_NAME: cluster}} if name == LEASE_NAME else {}
        metadata = {"name": name, "namespace": cluster, **labels}
        spec = {
            "holderIdentity": self.holder, "leaseDurationSeconds": self._seconds(),
            "acquireTime": format_time(since), "renewTime": format_time(instant),
        }  # fmt: skip
        return LEASE.body(metadata, spec=spec)


def status_of(before: Mapping[str, Tree], said: AgentStatement) -> dict[str, Tree]:
    """Return the status to report: facts that could not be read stay, and so does a verdict that is not believed yet.

    What could be read and is empty goes.

    Of capacity, what only others have written stays too, as upstream leaves it.
    """
    facts = dict(said.facts)
    if "capacity" in facts:
        facts["capacity"] = {**mapping_at(before, "capacity"), **facts["capacity"]}
    over = {name for name, value in facts.items() if value in ([], {})}
    conditions = list(mappings_at(before, "conditions"))
    if said.verdict is not None:
        conditions = _with(conditions, AVAILABLE, said.verdict, said.instant)
    told = {name: value for name, value in {**before, **facts}.items() if name not in over}
    return {**told, "conditions": conditions}


def _with(conditions: Iterable[Tree], type_: str, verdict: "Availability | Outcome", instant: datetime) -> list[Tree]:
    """Conditions with one set: its time is that of its last change of status."""
    known = list(conditions)
    others = [condition for condition in known if condition.get("type") != type_]
    old: Tree = next((condition for condition in known if condition.get("type") == type_), {})
    same = old.get("status") == verdict.status and "lastTransitionTime" in old
    since = old["lastTransitionTime"] if same else format_time(instant)
    said = {"status": verdict.status, "reason": verdict.reason, "message": verdict.message}
    return [*others, {"type": type_, **said, "lastTransitionTime": since}]


def _text(body: Tree) -> bytes:
    return file_text(body).encode()


def _loaded(data: bytes) -> Tree:
    documents = load_documents(data, "").documents
    return documents[0].body if documents else {}
