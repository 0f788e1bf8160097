"""A real forge: Gitea with a database of its own on loopback, and its API."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import urllib3

from muster.data.tree import Tree
from tests.support.git import git_environ
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.programs import MADE

FOLDER: Final = MADE / "gitea"
needs_gitea = pytest.mark.skipif(not (FOLDER / "gitea").exists(), reason="gitea is not built (make servers)")
PASSWORD: Final = "correct-horse-battery"
ADMIN: Final = "root-of-forge"
_SETTINGS: Final = """\
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = {as_root}
RUN_MODE = prod
[server]
STATIC_ROOT_PATH = {folder}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
SQLITE_JOURNAL_MODE = OFF
[security]
INSTALL_LOCK = true
DISABLE_GIT_HOOKS = false
PASSWORD_HASH_ALGO = pbkdf2$1$16
[webhook]
ALLOWED_HOST_LIST = loopback
[repository]
DEFAULT_PUSH_CREATE_PRIVATE = true
[log]
LEVEL = Warn
[api]
DEFAULT_PAGING_NUM = 1
[actions]
ENABLED = false
"""


class RefusedError(Exception):
    """The forge's answer to a request that it refuses."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Gitea:
    """A running forge: users with tokens, and the API as one of them."""

    def __init__(self, directory: Path, port: int) -> None:
        self.directory, self.host = directory, f"127.0.0.1:{port}"
        self.url = f"http://{self.host}"
        self.tokens = dict[str, str]()
        self._pool = urllib3.PoolManager(retries=False)

    def api(self, method: str, path: str, body: Tree = None, user: str = ADMIN) -> Tree:
        """The answer to a request to the API with the user's token. RefusedError."""
        headers = {"Authorization": f"token {self.tokens[user]}"}
        answer = self._pool.request(method, f"{self.url}/api/v1{path}", json=body, headers=headers, timeout=60)
        if answer.status >= 400:
            raise RefusedError(answer.status, answer.data.decode(errors="replace"))
        found: Tree = answer.json() if answer.data else None
        return found

    def add_user(self, name: str) -> None:
        """Make a user, with a token that may write repositories and comments."""
        self.api(
            "POST",
            "/admin/users",
            {
                "username": name,
                "email": f"{name}@example.com",
                "password": PASSWORD,
                "must_change_password": False,
            },
        )
        self.tokens[name] = self.new_token(
            "generate-access-token", "--username", name, "--raw", "--scopes", "write:repository,write:issue,read:user"
        )

    def remote(self, user: str, path: str) -> str:
        """The URL with which a user reads and writes a repository."""
        return f"http://{user}:{self.tokens[user]}@{self.host}/{path}.git"

    def repository(self, path: str) -> Path:
        """The bare repository on the forge's disk."""
        return self.directory / "data/gitea-repositories" / f"{path}.git"

    def new_token(self, *arguments: str) -> str:
        """Run `gitea admin user` here, and return the token that it prints, among lines of its log."""
        done = subprocess.run(
            [
                FOLDER / "gitea",
                "--config",
                self.directory / "app.ini",
                "--work-path",
                self.directory,
                "admin",
                "user",
                *arguments,
            ],
            env=git_environ(self.directory),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (token,) = [word for word in done.stdout.split() if len(word) == 40 and set(word) <= set("0123456789abcdef")]
        return token

    def answers(self) -> bool:
        """Does it serve its API?"""
        try:
            return self._pool.request("GET", f"{self.url}/api/v1/version", timeout=5).status == 200
        except urllib3.exceptions.HTTPError:
            return False


@contextmanager
def running_gitea(directory: Path) -> Iterator[Gitea]:
    """Run a new forge until the block ends."""
    directory.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = _SETTINGS.format(as_root=str(os.geteuid() == 0).lower(), folder=FOLDER, port=port)
    (directory / "app.ini").write_text(settings)
    forge = Gitea(directory, port)
    command = [f"{FOLDER}/gitea", "--config", f"{directory}/app.ini", "--work-path", f"{directory}", "web"]
    with (directory / "log.txt").open("w") as log:
        process = subprocess.Popen(command, env=git_environ(directory), stdout=log, stderr=log)
    try:
        wait_until(forge.answers, lambda: (directory / "log.txt").read_text()[-2000:])
        forge.tokens[ADMIN] = forge.new_token(
            "create",
            "--username",
            ADMIN,
            "--password",
            PASSWORD,
            "--email",
            "root@example.com",
            "--admin",
            "--must-change-password=false",
            "--access-token",
            "--access-token-scopes",
            "all",
        )
        yield forge
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        shutil.rmtree(directory)
