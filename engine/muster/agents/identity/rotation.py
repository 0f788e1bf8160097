"""An agent's certificate: asked for, taken when it is signed, and asked for anew before it ends.

Source: seed 002 and upstream's `reg/register/csr`. The first request is a stranger's, which a person approves; each
later one is made in the name that the agent has by then, with another key. A new one is asked for when a fifth to a
quarter of the certificate's life is left, each certificate at an instant of its own, so that agents that joined
together do not ask together. Until the answer is here the old certificate and its request stay: what it vouches for
counts.

What ended is not used any more: a certificate that has expired, one whose request the hub denies by now (that is how
people revoke it), and one that the hub does not know any more. The agent is a stranger again then, and asks as one. A
request that is denied before it was signed is waited for until somebody takes that back, as upstream does; so no agent
drowns the hub in requests.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from muster.agents.hub.view import CertificateAnswer
from muster.agents.identity.request import CertificateRequest, new_request
from muster.agents.identity.store import AgentKeys, Store, identity_of
from muster.data.kinds import CSR
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import file_text
from muster.fleet.leases import CLUSTER_NAME
from muster.git.signatures.errors import IdentityError

#: Where an agent's requests lie on its ref.
FOLDER: Final = "requests/"
#: Upstream's agent asks anew when this part of the life is left, at random in between.
_EARLIEST, _LATEST = 0.25, 0.20
#: Reasons of the hub to receive nothing that an agent with another certificate would end.
_NO_CERTIFICATE: Final = ("UnknownKey", "CertificateExpired")
_USAGES: Final = ("digital signature", "client auth")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the last rotation went: a status, a reason and a message, as upstream words them."""

    status: str
    reason: str
    message: str
    type: str = "ClusterCertificateRotated"


@dataclass
class Rotation:
    """The certificate of one agent of a cluster. `lifetime_seconds`: what it asks for; None leaves it to the signer."""

    cluster: str
    store: Store
    signer_name: str
    lifetime_seconds: int | None = None
    outcome: Outcome | None = None
    _current: AgentKeys | None = field(default=None, init=False)
    _waiting: CertificateRequest | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._current, self._waiting = self.store.current(), self.store.waiting()

    @property
    def current(self) -> AgentKeys | None:
        """What the agent is known by."""
        return self._current

    def names(self) -> tuple[str, ...]:
        """The requests of which an answer matters."""
        return tuple(request.object_name(self.cluster) for request in self._requests())

    def go_on(self, answers: Mapping[str, CertificateAnswer], now: datetime, *, doubted: str = "") -> str:
        """Take what the hub answered, and ask anew where it is time. Return what is in the way, empty for nothing: a
        disk that is full shall not end a heartbeat. `doubted`: the reason why the hub receives nothing of the agent."""
        try:
            self._go_on(answers, now, doubted)
        except IdentityError as error:
            return str(error)
        return ""

    def _go_on(self, answers: Mapping[str, CertificateAnswer], now: datetime, doubted: str) -> None:
        self._take(answers, now)
        self._end(answers, now, doubted)
        if self._waiting is None and (self._current is None or is_due(self._current, now)):
            request = new_request(self.cluster, self._current.request.user if self._current else "")
            request = replace(request, manifest=file_text(self._object(request)).encode())
            self.store.wait_for(request)
            self._waiting = request

    def beside(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """What lies on the agent's ref, with its requests in the place of earlier ones."""
        others = {path: data for path, data in files.items() if not path.startswith(FOLDER)}
        return others | {
            f"{FOLDER}{request.object_name(self.cluster)}.yaml": request.manifest for request in self._requests()
        }

    def _take(self, answers: Mapping[str, CertificateAnswer], now: datetime) -> None:
        if self._waiting is None or (answer := answers.get(self._waiting.object_name(self.cluster))) is None:
            return
        if answer.denied:
            self._failed(f"the request {self._waiting.object_name(self.cluster)} was denied")
        elif answer.certificate:
            try:
                made = identity_of(self._waiting, answer.certificate)
            except IdentityError as error:
                self._failed(str(error))
                return
            if made.end <= now:
                self._failed("it had ended before it came")
                self.store.give_up()
                self._waiting = None
                return
            if self._current is not None:
                life = f"{format_time(made.begin)} to {format_time(made.end)}"
                message = f"client certificate rotated starting from {life}"
                self.outcome = Outcome("True", "ClientCertificateUpdated", message)
            self.store.become(made)
            self._current, self._waiting = made, None

    def _end(self, answers: Mapping[str, CertificateAnswer], now: datetime, doubted: str) -> None:
        """Forget a certificate that has ended."""
        if self._current is None:
            return
        answer = answers.get(self._current.request.object_name(self.cluster))
        revoked = answer is not None and answer.denied
        # Where the certificate stands, the hub has not looked since: a run that comes receives what it vouches for.
        unknown = doubted in _NO_CERTIFICATE and (answer is None or not answer.certificate)
        if revoked or unknown or self._current.end <= now:
            why = "the hub does not know it any more" if unknown else "it expired before another one was signed"
            self._failed("the hub denies it by now" if revoked else why)
            self.store.forget()
            if self._waiting is not None and self._waiting.user == self._current.request.user:
                self.store.give_up()  # in a name that is nobody's any more
                self._waiting = None
            self._current = None

    def _failed(self, why: str) -> None:
        if self._current is not None:
            self.outcome = Outcome(
                "False", "ClientCertificateUpdateFailed", f"Failed to rotated client certificate: {why}"
            )

    def _requests(self) -> list[CertificateRequest]:
        current = [self._current.request] if self._current else []
        return [*current, *([self._waiting] if self._waiting else [])]

    def _object(self, request: CertificateRequest) -> Tree:
        spec: Tree = {
            "request": base64.b64encode(request.pem).decode(), "signerName": self.signer_name, "usages": list(_USAGES),
        }  # fmt: skip
        if self.lifetime_seconds is not None:
            spec["expirationSeconds"] = self.lifetime_seconds
        if self._current is not None:
            spec["username"] = self._current.request.user
        metadata = {"name": request.object_name(self.cluster), "labels": {CLUSTER_NAME: self.cluster}}
        return CSR.body(metadata, spec=spec)


def is_due(identity: AgentKeys, now: datetime) -> bool:
    """Whether it is time to ask for another certificate."""
    left = (identity.end - now) / (identity.end - identity.begin)
    spread = int.from_bytes(hashlib.sha256(identity.pem).digest()[:4]) / (1 << 32)
    return left <= _LATEST + (_EARLIEST - _LATEST) * spread
