"""A cluster's word as a relay takes it over HTTP, for an agent that does not push."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import urllib3

from muster.agents.hub.view import HubView
from muster.agents.relay.protocol import PREFIX, files_of, texts, view_said
from muster.data.agentref import agent_ref
from muster.data.tree import Tree, read_json
from muster.git.errors import Moved, RepositoryError
from muster.git.objects import SHA1, commit_text
from muster.git.relayed import COMMIT
from muster.git.rootref import NOTHING, Seal, Standing

_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """How an agent shows a relay who it is, read for each request: by the token in a file, or by the certificate and
    key in another, once that is there. `authority`: who signed the relay's own certificate, where the system does not
    know."""

    token_file: Path | None = None
    certificate: Path | None = None
    authority: Path | None = None

    def headers(self) -> dict[str, str]:
        """What goes with each request. RepositoryError where the token cannot be read."""
        if self.token_file is None:
            return {}
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise RepositoryError(f"{self.token_file} cannot be read: {error}", "it holds the relay's token") from error
        return {"Authorization": f"Bearer {token}"}

    def pool(self, limit_seconds: float) -> urllib3.PoolManager:
        """What connects."""
        shown = str(self.certificate) if self.certificate is not None and self.certificate.is_file() else None
        return urllib3.PoolManager(
            timeout=urllib3.Timeout(total=limit_seconds), retries=False, cert_file=shown, key_file=shown,
            ca_certs=None if self.authority is None else str(self.authority),
        )  # fmt: skip

    def __str__(self) -> str:
        given = (("token", self.token_file), ("certificate", self.certificate))
        return " or ".join(f"the {what} in {path}" for what, path in given if path is not None)


@dataclass
class RelayedRef:
    """What the relay at `url` knows of a cluster. No request takes longer than `limit_seconds`. With a `seal` what is
    said is signed, as of `clock`.

    Satisfies `muster.git.rootref.Replaceable`.
    """

    url: str
    cluster: str
    limit_seconds: float
    credentials: Credentials
    clock: Callable[[], datetime]
    seal: Seal | None = None
    requests: Callable[[], Collection[str]] = tuple
    _object_format: str = SHA1

    @property
    def ref(self) -> str:
        """The full name of the ref that it stands for."""
        return agent_ref(self.cluster)

    def look(self, known: Standing = NOTHING) -> Standing:
        """Return what the relay knows of the cluster. RepositoryError without an answer."""
        said = self._asked("GET", "", None)
        self._object_format = str(said.get("objectFormat", SHA1))
        if said.get("commit") is None:
            return NOTHING
        if said["commit"] == known.commit:
            return known
        try:
            files = files_of(said.get("files"))
        except ValueError as error:
            raise RepositoryError(f"the relay says what makes no sense: {error}") from error
        signed = files.pop(COMMIT, b"")
        if self.seal is not None and not self.seal.vouches(signed):
            files = {}  # whoever signs vouches for all of it
        return Standing(str(said["commit"]), files)

    def replace(self, standing: Standing, files: Mapping[str, bytes], message: str) -> Standing | Moved:
        """Say something else of the cluster; Moved where the relay knows something else than `standing` by now.

        RepositoryError where the relay refuses, or does not answer.
        """
        sent = texts({**files, **self._signed(files, message)})
        said = self._asked("PUT", "", {"expected": standing.commit, "files": sent})
        return Standing(str(said["commit"]), files) if "commit" in said else Moved(None)

    def view(self) -> HubView:
        """Return what the hub says of the cluster. RepositoryError without an answer."""
        query = urlencode([("request", name) for name in self.requests()])
        return view_said(self._asked("GET", f"/hub{query and '?'}{query}", None))

    def _signed(self, files: Mapping[str, bytes], message: str) -> dict[str, bytes]:
        """The commit that goes along; a stranger, who has no certificate yet, signs nothing."""
        if self.seal is None:
            return {}
        who = f"{self.cluster} <{self.cluster}@agents.invalid>"
        made = commit_text(files, who, self.clock(), message, self._object_format)
        signed = self.seal.sealed(made)
        return {} if signed == made else {COMMIT: signed}

    def _asked(self, method: str, below: str, body: Tree) -> dict[str, Tree]:
        """What is answered; nothing where the relay says that it knows something else."""
        url = f"{self.url.rstrip('/')}{PREFIX}{self.cluster}{below}"
        data, headers = None if body is None else json.dumps(body).encode(), self.credentials.headers()
        try:
            with self.credentials.pool(self.limit_seconds) as pool:
                answer = pool.request(method, url, body=data, headers=headers, preload_content=False, redirect=False)
                body = answer.read(_MOST_BYTES)
            said = read_json(body) if answer.status in (HTTPStatus.OK, HTTPStatus.CONFLICT) else _reason(body)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise RepositoryError(f"the relay does not answer: {type(error).__name__}", "try again") from error
        if answer.status == HTTPStatus.CONFLICT:
            return {}
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise RepositoryError(f"the relay lets nobody in as {self.cluster} by {self.credentials}")
        if answer.status != HTTPStatus.OK or not isinstance(said, dict):
            why = said.get("error") if isinstance(said, dict) else None
            raise RepositoryError(f"the relay refuses ({answer.status}): {why or 'no reason is given'}")
        return said


def _reason(body: bytes) -> Tree:
    """What a refusal says. Not every one is the relay's own: a proxy may stand before it."""
    try:
        return read_json(body)
    except ValueError:
        return {}
