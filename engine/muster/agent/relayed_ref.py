"""A cluster's word as a relay takes it over HTTP, for an agent that does not push."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import urllib3

from muster.agent.hub import View, bounded
from muster.gitio.errors import RepositoryError
from muster.gitio.outcomes import Moved
from muster.gitio.rootref import NOTHING, Standing
from muster.model.agentref import agent_ref
from muster.model.tree import Tree, read_json

_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class RelayedRef:
    """What the relay at `url` knows of a cluster. `token_file` is read for each request; no request takes longer than
    `limit_seconds`.

    Satisfies `muster.gitio.rootref.Replaceable`.
    """

    url: str
    cluster: str
    limit_seconds: float
    token_file: Path

    @property
    def ref(self) -> str:
        """The full name of the ref that it stands for."""
        return agent_ref(self.cluster)

    def look(self, known: Standing = NOTHING) -> Standing:
        """Return what the relay knows of the cluster. RepositoryError without an answer."""
        said = self._asked("GET", "", None)
        if said.get("commit") is None:
            return NOTHING
        if said["commit"] == known.commit:
            return known
        files = said.get("files")
        found = {str(path): str(text).encode() for path, text in files.items()} if isinstance(files, dict) else {}
        return Standing(str(said["commit"]), found)

    def replace(self, standing: Standing, files: Mapping[str, bytes], message: str) -> Standing | Moved:  # noqa: ARG002 - a relay's commit has a message of its own
        """Say something else of the cluster; Moved where the relay knows something else than `standing` by now.

        RepositoryError where the relay refuses, or does not answer.
        """
        texts = {path: content.decode("utf-8", "replace") for path, content in files.items()}
        said = self._asked("PUT", "", {"expected": standing.commit, "files": texts})
        return Standing(str(said["commit"]), files) if "commit" in said else Moved(None)

    def view(self) -> View:
        """Return what the hub says of the cluster. RepositoryError without an answer."""
        said = self._asked("GET", "/hub", None)
        return View(said.get("accepted") is True, said.get("synced") is not False, bounded(said.get("leaseSeconds")))

    def _asked(self, method: str, below: str, body: Tree) -> dict[str, Tree]:
        """What is answered; nothing where the relay says that it knows something else."""
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise RepositoryError(f"{self.token_file} cannot be read: {error}", "it holds the relay's token") from error
        url = f"{self.url.rstrip('/')}/v1/agents/{self.cluster}{below}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}"}
        try:
            timeout = urllib3.Timeout(total=self.limit_seconds)
            with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
                answer = pool.request(method, url, body=data, headers=headers, preload_content=False, redirect=False)
                said = read_json(answer.read(_MOST_BYTES)) if answer.status != HTTPStatus.UNAUTHORIZED else {}
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise RepositoryError(f"the relay does not answer: {type(error).__name__}", "try again") from error
        if answer.status == HTTPStatus.CONFLICT:
            return {}
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise RepositoryError(f"the relay does not take the token for {self.cluster}", f"see {self.token_file}")
        if answer.status != HTTPStatus.OK or not isinstance(said, dict):
            why = said.get("error") if isinstance(said, dict) else None
            raise RepositoryError(f"the relay refuses ({answer.status}): {why or 'no reason is given'}")
        return said
