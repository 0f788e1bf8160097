"""What the hub has decided of a cluster, as its agent reads it: one file of the branch that muster reconciles, and one
for each request for a certificate whose answer is waited for; or of the branch that has what is derived, where
`fleet.yaml` names one.

Looked at before each renewal, so it is cheap: the remote is asked where the branch points, and only where that moved,
the newest commit is fetched; where the server allows it none of its files but those. What was fetched before is kept
in a temporary repository, so that the next fetch brings what changed; after a while a new one takes its place, so that
an agent which runs for months leaves nothing behind.
"""

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, CSR, MANAGED_CLUSTER
from muster.data.locations import SHARDS, SUFFIX, derived_path, file_name
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.loader import load_documents
from muster.fleet.approvals import CERTIFICATE, DECIDED
from muster.fleet.hearing import VERIFIED
from muster.fleet.leases import DURATION, LEASE_SECONDS, LONGEST_SECONDS
from muster.git.apart import derived_branch
from muster.git.changes import changed_paths
from muster.git.errors import RepositoryError, UnreadableError
from muster.git.objects import Objects
from muster.git.paths import MAX_BLOB_BYTES
from muster.git.push import fetch_ref, remote_tip, scratch_repository
from muster.git.repository import Repository, branch_tip

if TYPE_CHECKING:
    from muster.git.signatures.certificate import Issued

_FETCHES: Final = 200  # into one temporary repository


@dataclass(frozen=True, slots=True)
class CertificateAnswer:
    """What became of a request for a certificate: `certificate` as PEM, empty until it is signed."""

    certificate: bytes = b""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class HubView:
    """`accepted`: whether the hub lets the cluster in. `synced`: False where it says that the clocks differ.
    `lease_seconds`: how long the lease lasts by the hub's word, None where it says nothing else than the default.
    `doubt`: why what the agent says was not received, as a reason and a sentence; empty where it was, or need not be
    signed. `answers`: to the requests that were asked about, by their names."""

    accepted: bool = False
    synced: bool = True
    lease_seconds: int | None = None
    doubt: tuple[str, str] | tuple[()] = ()
    answers: Mapping[str, CertificateAnswer] = field(default_factory=dict)


@dataclass
class Hub:
    """The hub's branch, as one agent sees it. `limit_seconds` bounds each exchange; `requests` names those for
    certificates of which an answer is waited for."""

    remote: str
    branch: str
    cluster: str
    environ: Mapping[str, str] = field(repr=False)
    limit_seconds: float = 30.0
    requests: Callable[[], Collection[str]] = tuple
    _tip: str | None = None  # of the branch that is reconciled
    _apart: str = ""  # the branch that has what is derived, where that is another
    _read: str | None = None  # the commit of which the view is
    _view: HubView = field(default_factory=HubView)
    _scratch: Repository | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    _fetches: int = 0

    def look(self) -> HubView:
        """Return what the branch says of the cluster now; of an unknown one nothing.

        RepositoryError where the hub does not answer, has no such branch, or says what nobody can read: then what was
        known before stands.
        """
        try:
            return self._looked()
        except RepositoryError:
            self.close()  # whatever was wrong, it shall not be wrong for ever
            raise

    def close(self) -> None:
        """Remove the temporary repository. Looking again makes another."""
        self._stack.close()
        self._scratch, self._tip, self._read, self._fetches = None, None, None, 0

    def _looked(self) -> HubView:
        if self._fetches >= _FETCHES:
            self.close()
        if self._scratch is None:
            self._scratch = self._stack.enter_context(
                scratch_repository(
                    {**self.environ, "GIT_TERMINAL_PROMPT": "0"}, self.remote, limit_seconds=self.limit_seconds
                )
            )
            self._scratch.git.output("remote", "add", "hub", self.remote)
        scratch = self._scratch
        tip = self._asked(scratch, self.branch)
        if tip is None:
            raise RepositoryError(f"the hub has no branch {self.branch}", "give the branch that muster reconciles")
        if tip != self._tip:
            self._apart = derived_branch(scratch, self._fetched(scratch, self.branch), self._apart)
            self._tip = tip
        apart = self._asked(scratch, self._apart) if self._apart else None
        if (apart or tip) != self._read:
            self._view = self._view_at(scratch, self._fetched(scratch, self._apart) if apart else tip)
            self._read = apart or tip
        return self._view

    def _asked(self, scratch: Repository, branch: str) -> str | None:
        return remote_tip(scratch, remote=self.remote, ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds)

    def _fetched(self, scratch: Repository, branch: str) -> str:
        self._fetches += 1
        return fetch_ref(
            scratch, remote="hub", ref=f"refs/heads/{branch}", limit_seconds=self.limit_seconds, shallow=True
        )

    def _view_at(self, scratch: Repository, tip: str) -> HubView:
        body = self._body(scratch, tip, MANAGED_CLUSTER.id(self.cluster))
        bodies = {name: self._body(scratch, tip, CSR.id(name)) for name in self.requests()}
        return replace(
            view_of(body), answers={name: answer_of(body) for name, body in bodies.items() if body is not None}
        )

    def _body(self, scratch: Repository, tip: str, id_: ObjectId) -> Tree:
        """The derived part of an object; None where there is none."""
        for shards in SHARDS:
            path = derived_path(id_, shards)
            # Where the server leaves files out of a fetch, this asks for the one.
            found = scratch.git.run("cat-file", "blob", f"{tip}:{path}", limit_seconds=self.limit_seconds)
            if found.status == 0:
                return read_body(found.stdout, path)
        return None


def view(remote: str, branch: str, cluster: str, environ: Mapping[str, str]) -> HubView:
    """Look once. RepositoryError without an answer."""
    hub = Hub(remote, branch, cluster, environ)
    try:
        return hub.look()
    finally:
        hub.close()


def bounded(seconds: Tree) -> int | None:
    """A duration as an agent obeys it, a day at most; None where it is none."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        return None
    return min(seconds, LONGEST_SECONDS)


def read_body(data: bytes, path: str) -> Tree:
    """The derived part in a file of the hub. RepositoryError where nobody can read it."""
    loaded = load_documents(data, path)
    if loaded.problems or not loaded.documents:
        raise RepositoryError(f"{path} of the hub cannot be read", "the next reconcile writes it anew")
    return loaded.documents[0].body


def answer_of(body: Tree) -> CertificateAnswer:
    """What became of a request for a certificate, by its derived part."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    text = dig(body, *CERTIFICATE)
    try:
        certificate = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        certificate = b""
    denied = status.get("Denied") == "True" or dig(body, *DECIDED, "denied") is True
    return CertificateAnswer(certificate, denied)


def view_of(body: Tree) -> HubView:
    """What a cluster's derived part says to its agent."""
    status = {str(c.get("type")): c.get("status") for c in mappings_at(body, "status", "conditions")}
    own = mapping_at(body, "metadata", "annotations").get(DURATION)
    told = int(own) if isinstance(own, str) and own.isascii() and own.isdigit() and len(own) < 12 else None
    return HubView(
        accepted=status.get(ACCEPTED) == "True",
        synced=status.get("ManagedClusterConditionClockSynced") != "False",
        lease_seconds=bounded(dig(body, *LEASE_SECONDS)) or bounded(told),
        doubt=_doubt_of(body),
    )


def _doubt_of(body: Tree) -> tuple[str, str] | tuple[()]:
    """Why what a cluster's agent says was not received, by the cluster's derived part."""
    for one in mappings_at(body, "status", "conditions"):
        if one.get("type") == VERIFIED and one.get("status") == "False":
            return str(one.get("reason", "")), f"{one.get('message', '')} (since {one.get('lastTransitionTime', '')})"
    return ()


#: Where more has changed, everything is read anew as it is asked for.
_MOST_CHANGES: Final = 1000


@dataclass
class HubCopy:
    """The branch in a repository here, and that which has what is derived, where `fleet.yaml` names one. Safe to ask
    from many threads."""

    repository: Repository
    branch: str
    _people: str = ""  # where the branch pointed at the last turn
    _apart: str = ""  # the other one
    _tip: str = ""  # the commit that has what is derived
    _views: dict[str, HubView] = field(default_factory=dict)
    _issued: Mapping[str, Sequence["Issued"]] | None = None
    _lock: Lock = field(default_factory=Lock)
    _objects: Objects | None = None

    def turn(self) -> None:
        """Look where the branch points now; what was read of an object that is another there is forgotten."""
        people = branch_tip(self.repository, self.branch) or ""
        if people and people != self._people:
            self._people, self._apart = people, derived_branch(self.repository, people, self._apart)
        tip = (branch_tip(self.repository, self._apart) if self._apart else None) or people
        if tip == self._tip:
            return
        changed = self._changed(tip)
        with self._lock:
            views = {} if changed is None else {
                name: view for name, view in self._views.items() if file_name(name) not in changed
            }  # fmt: skip
            self._tip, self._views, self._issued = tip, views, None

    def issued(self, cluster: str) -> Sequence["Issued"]:
        """Return the certificates of a cluster's agents that stood at the last turn."""
        from muster.git.identities import issued_at

        with self._lock:  # thousands ask when the branch has moved, and one looks
            if self._issued is None:
                self._issued = issued_at(self.repository, self._tip) if self._tip else {}
            return self._issued.get(cluster, ())

    def view(self, cluster: str, requests: Collection[str] = ()) -> HubView:
        """Return what the branch says of a cluster, and of requests for certificates, as of the last turn.

        RepositoryError where nobody can read it.
        """
        with self._lock:
            tip, found = self._tip, self._views.get(cluster)
            self._objects = objects = self._objects or Objects(self.repository.git, max_bytes=MAX_BLOB_BYTES)
        if found is None:
            found = view_of(_body(objects, tip, MANAGED_CLUSTER.id(cluster)))
            with self._lock:
                if tip == self._tip:
                    self._views[cluster] = found
        if not requests:
            return found
        bodies = {name: _body(objects, tip, CSR.id(name)) for name in requests}
        return replace(found, answers={name: answer_of(body) for name, body in bodies.items() if body is not None})

    def _changed(self, tip: str) -> frozenset[str] | None:
        """The names of the files that are others there; None where that is not to be told, or they are many."""
        if not self._tip or not tip:
            return None
        try:
            changes = changed_paths(self.repository, self._tip, tip)
        except RepositoryError:
            return None
        names = (change.path.rsplit("/", 1)[-1].removesuffix(SUFFIX) for change in changes)
        return frozenset(names) if len(changes) <= _MOST_CHANGES else None


def _body(objects: Objects, tip: str, id_: ObjectId) -> Tree:
    """The derived part of an object; None where there is none."""
    paths = [derived_path(id_, shards) for shards in SHARDS]
    for path, answer in zip(paths, objects.read([f"{tip}:{path}" for path in paths] if tip else []), strict=False):
        if not isinstance(answer, UnreadableError):
            return read_body(answer.content, path)
    return None
