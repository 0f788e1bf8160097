"""A cluster's ref behind a relay, read and written over HTTP, for an agent that does not push."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import urllib3

from muster.agents.hub.protocol import PREFIX, decode_files, decode_view, decode_works, encode_files
from muster.agents.hub.view import ClusterWorks, HubView
from muster.data.agentref import agent_ref
from muster.data.tree import Tree, read_json
from muster.dataclass import dataclass
from muster.git.agents.relays import COMMIT
from muster.git.errors import Moved, RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents, Seal
from muster.git.store.objects import SHA1, commit_text
from muster.net.deadline import Deadline
from muster.net.http import exchange, new_pool, reason

_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """How an agent authenticates at a relay: by the token in a file, or by the certificate and key in another file,
    once it exists. Both are read for each request. `authority` signed the relay's own certificate; None: an
    authority of the system."""

    token_file: Path | None = None
    certificate: Path | None = None
    authority: Path | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers of a request. RepositoryError if the token cannot be read."""
        if self.token_file is None:
            return {}
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            hint = "the file must hold the token for the relay"
            raise RepositoryError(f"{self.token_file} cannot be read: {error}", hint) from error
        return {"Authorization": f"Bearer {token}"}

    def pool(self) -> urllib3.PoolManager:
        """Return a connection pool."""
        file = str(self.certificate) if self.certificate is not None and self.certificate.is_file() else None
        authority = None if self.authority is None else str(self.authority)
        return new_pool(cert_file=file, key_file=file, ca_certs=authority)

    def __str__(self) -> str:
        given = (("token", self.token_file), ("certificate", self.certificate))
        return " or ".join(f"the {what} in {path}" for what, path in given if path is not None)


@dataclass
class RelayedRef:
    """The files of a cluster at the relay at `url`. With a `seal` they are signed, as of `clock`.

    `limit_seconds` bounds each request; `requests` returns the names of certificate requests whose answers are read.
    `with_works`: read the cluster's ManifestWorks, too. Satisfies `muster.git.memory.rootref.Replaceable`.
    """

    url: str
    cluster: str
    limit_seconds: float
    credentials: Credentials
    clock: Callable[[], datetime]
    seal: Seal | None = None
    requests: Callable[[], Collection[str]] = tuple
    with_works: bool = False
    _object_format: str = SHA1
    _works: ClusterWorks | None = None

    @property
    def ref(self) -> str:
        """The full name of the ref that the relay writes for."""
        return agent_ref(self.cluster)

    def look(self, known: RefContents = NO_CONTENTS) -> RefContents:
        """Return the cluster's files at the relay. RepositoryError without an answer."""
        answer = self._request("GET", "", None)
        self._object_format = str(answer.get("objectFormat", SHA1))
        if answer.get("commit") is None:
            return NO_CONTENTS
        if answer["commit"] == known.commit:
            return known
        try:
            files = decode_files(answer.get("files"))
        except ValueError as error:
            raise RepositoryError(f"the relay's answer is malformed: {error}") from error
        signed = files.pop(COMMIT, b"")
        if self.seal is not None and not self.seal.vouches(signed):
            files = {}  # a signature covers all files, so those of others are not taken over
        return RefContents(str(answer["commit"]), files)

    def replace(self, known: RefContents, files: Mapping[str, bytes], message: str) -> RefContents | Moved:
        """Replace the cluster's files; Moved if the relay has other files than `known` by now.

        RepositoryError if the relay refuses, or does not answer.
        """
        sent = encode_files({**files, **self._signed(files, message)})
        answer = self._request("PUT", "", {"expected": known.commit, "files": sent})
        return RefContents(str(answer["commit"]), files) if "commit" in answer else Moved(None)

    def view(self) -> HubView:
        """Return what the hub says about the cluster. RepositoryError without an answer."""
        fields = [("request", name) for name in self.requests()]
        if self.with_works:
            fields.append(("works", self._works.digest if self._works else ""))
        query = urlencode(fields)
        answer = self._request("GET", f"/hub{query and '?'}{query}", None)
        view = decode_view(answer)
        if self.with_works and view.accepted:
            self._works = decode_works(answer, self.cluster, self._works)
            view = replace(view, works=self._works)
        return view

    def _signed(self, files: Mapping[str, bytes], message: str) -> dict[str, bytes]:
        """The signed commit of the files; nothing if the agent has no certificate yet."""
        if self.seal is None:
            return {}
        who = f"{self.cluster} <{self.cluster}@agents.invalid>"
        made = commit_text(files, who, self.clock(), message, self._object_format)
        signed = self.seal.sealed(made)
        return {} if signed == made else {COMMIT: signed}

    def _request(self, method: str, below: str, body: Tree) -> dict[str, Tree]:
        """Send a request and return the answer; an empty one if the relay has other files than expected."""
        url = f"{self.url.rstrip('/')}{PREFIX}{self.cluster}{below}"
        data, headers = None if body is None else json.dumps(body).encode(), self.credentials.headers()
        deadline = Deadline.after(self.limit_seconds)
        try:
            with self.credentials.pool() as pool:
                answer = exchange(pool, deadline, method, url, body=data, headers=headers)
                body = answer.read(_MOST_BYTES)
            content = read_json(body) if answer.status in (HTTPStatus.OK, HTTPStatus.CONFLICT) else _reason(body)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            no_answer = f"the relay does not answer: {self.url}: {reason(error, deadline)}"
            raise RepositoryError(no_answer, "try again, or check --relay") from error
        if answer.status == HTTPStatus.CONFLICT:
            return {}
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise RepositoryError(f"the relay does not accept {self.credentials} for {self.cluster}")
        if answer.status != HTTPStatus.OK or not isinstance(content, dict):
            why = content.get("error") if isinstance(content, dict) else None
            raise RepositoryError(f"the relay refuses ({answer.status}): {why or 'it gives no reason'}")
        return content


def _reason(body: bytes) -> Tree:
    """The body of a refusal; empty if it is not JSON, because a proxy may have answered instead."""
    try:
        return read_json(body)
    except ValueError:
        return {}
