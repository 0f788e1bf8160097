"""An agent's certificate: the agent requests one, takes it when it is signed, and requests the next before it expires.

Source: seed 002 and upstream's `reg/register/csr`. A person approves the first request, which nobody can vouch for;
each later request has the agent's present name and a new key. The next request is due when 20 to 25 percent of the
certificate's life is left, at a different instant for each certificate, so that agents that joined together do not ask
together. Until the answer arrives, the old certificate and its request stay valid.

An invalid certificate is dropped: one that has expired, one whose request the hub denies by now (the way to revoke
it), and one that the hub does not know any more. The agent then starts again with a first request. A request that is
denied before it was signed stays pending until somebody takes the denial back, as upstream does; so no agent floods the
hub with requests.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from muster.agents.hub.view import CertificateAnswer
from muster.agents.identity.request import CertificateRequest, new_request
from muster.agents.identity.store import AgentIdentity, Store, identity_of
from muster.data.kinds import CSR
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import file_text
from muster.dataclass import dataclass
from muster.fleet.leases import CLUSTER_NAME
from muster.git.errors import IdentityError
from muster.rules.policies.csr import key_fingerprint

#: The folder of an agent's requests on its ref.
FOLDER: Final = "requests/"
#: Upstream's agent requests anew when this part of the life is left, at random in between.
_EARLIEST, _LATEST = 0.25, 0.20
#: Reasons why the hub ignores an agent that another certificate would resolve.
_NO_CERTIFICATE: Final = ("UnknownKey", "CertificateExpired")
_USAGES: Final = ("digital signature", "client auth")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the last rotation: the status, reason and message of a condition, in upstream's words."""

    status: str
    reason: str
    message: str
    type: str = "ClusterCertificateRotated"


@dataclass
class Rotation:
    """The certificate of one agent of a cluster. `lifetime_seconds` is the lifetime to request; None: the signer's."""

    cluster: str
    store: Store
    signer_name: str
    lifetime_seconds: int | None = None
    outcome: Outcome | None = None
    _current: AgentIdentity | None = field(default=None, init=False)
    _pending: CertificateRequest | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._current, self._pending = self.store.current(), self.store.pending()

    @property
    def current(self) -> AgentIdentity | None:
        """The agent's current identity; None without a valid certificate."""
        return self._current

    @property
    def asks_with(self) -> str:
        """The name of the pending request and the fingerprint of its key; empty if none is pending."""
        if self._pending is None:
            return ""
        fingerprint = key_fingerprint(base64.b64encode(self._pending.pem).decode())
        return f"{self._pending.object_name(self.cluster)} with the key {fingerprint}"

    def request_names(self) -> tuple[str, ...]:
        """The names of the requests whose answers matter."""
        return tuple(request.object_name(self.cluster) for request in self._requests())

    def advance(self, answers: Mapping[str, CertificateAnswer], now: datetime, *, doubted: str = "") -> str:
        """Take the hub's answers and request a certificate if one is due.

        `doubted` is the reason why the hub ignores the agent. Returns what prevents the rotation, empty for nothing: a
        full disk must not end a heartbeat.
        """
        try:
            self._take_answer(answers, now)
            self._drop_invalid(answers, now, doubted)
            if self._pending is None and (self._current is None or is_due(self._current, now)):
                request = new_request(self.cluster, self._current.request.user if self._current else "")
                request = replace(request, manifest=file_text(self._object(request)).encode())
                self.store.set_pending(request)
                self._pending = request
        except IdentityError as error:
            return str(error)
        return ""

    def with_requests(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of the agent's ref with the present requests instead of earlier ones."""
        others = {path: data for path, data in files.items() if not path.startswith(FOLDER)}
        return others | {
            f"{FOLDER}{request.object_name(self.cluster)}.yaml": request.manifest for request in self._requests()
        }

    def _take_answer(self, answers: Mapping[str, CertificateAnswer], now: datetime) -> None:
        if self._pending is None or (answer := answers.get(self._pending.object_name(self.cluster))) is None:
            return
        if answer.denied:
            self._failed(f"the request {self._pending.object_name(self.cluster)} was denied")
        elif answer.certificate:
            try:
                made = identity_of(self._pending, answer.certificate)
            except IdentityError as error:
                self._failed(str(error))
                return
            if made.end <= now:
                self._failed("it had expired before it arrived")
                self._drop_pending()
                return
            if self._current is not None:
                life = f"{format_time(made.begin)} to {format_time(made.end)}"
                message = f"client certificate rotated starting from {life}"
                self.outcome = Outcome("True", "ClientCertificateUpdated", message)
            self.store.set_current(made)
            self._current, self._pending = made, None

    def _drop_invalid(self, answers: Mapping[str, CertificateAnswer], now: datetime, doubted: str) -> None:
        """Drop a current certificate that is revoked, unknown to the hub or expired."""
        if self._current is None:
            return
        answer = answers.get(self._current.request.object_name(self.cluster))
        revoked = answer is not None and answer.denied
        # If the hub has the certificate, its doubt is older than the certificate: the next run receives the agent.
        unknown = doubted in _NO_CERTIFICATE and (answer is None or not answer.certificate)
        if revoked or unknown or self._current.end <= now:
            why = "the hub does not know it any more" if unknown else "it expired before another one was signed"
            self._failed("the hub denies it by now" if revoked else why)
            self.store.drop_current()
            if self._pending is not None and self._pending.user == self._current.request.user:
                self._drop_pending()  # its name is not valid any more
            self._current = None

    def _drop_pending(self) -> None:
        self.store.drop_pending()
        self._pending = None

    def _failed(self, why: str) -> None:
        if self._current is not None:
            message = f"Failed to rotated client certificate: {why}"  # upstream's words
            self.outcome = Outcome("False", "ClientCertificateUpdateFailed", message)

    def _requests(self) -> list[CertificateRequest]:
        current = [self._current.request] if self._current else []
        return [*current, *([self._pending] if self._pending else [])]

    def _object(self, request: CertificateRequest) -> Tree:
        spec: Tree = {
            "request": base64.b64encode(request.pem).decode(),
            "signerName": self.signer_name,
            "usages": list(_USAGES),
        }
        if self.lifetime_seconds is not None:
            spec["expirationSeconds"] = self.lifetime_seconds
        if self._current is not None:
            spec["username"] = self._current.request.user
        metadata = {"name": request.object_name(self.cluster), "labels": {CLUSTER_NAME: self.cluster}}
        return CSR.body(metadata, spec=spec)


def is_due(identity: AgentIdentity, now: datetime) -> bool:
    """Is it time to request another certificate?"""
    left = (identity.end - now) / (identity.end - identity.begin)
    spread = int.from_bytes(hashlib.sha256(identity.pem).digest()[:4]) / (1 << 32)
    return left <= _LATEST + (_EARLIEST - _LATEST) * spread
