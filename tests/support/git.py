"""Real git repositories for tests: in temporary directories, with identity, dates and environment pinned.

    repo = new_repository(tmp_path / "fleet")
    first = repo.commit({"clusters/a/cluster.yaml": "..."})
    open_repository(repo.path, repo.environ)

The same calls give the same commit ids on every machine.
"""

import atexit
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp

DATE = "2026-01-01T00:00:00Z"
Content = str | bytes | None  # None deletes the file


def git_environ(home: Path, **more: str) -> dict[str, str]:
    """Return an environment in which git sees no configuration but the repository's and asks nobody anything.

    Processes of muster find in it the expressions that one before them has compiled. With what pytest sets it has every
    name of this process's environment: to remove one, muster starts git through /usr/bin/env, a millisecond each.
    """
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CACHE_HOME": _cache(),
        "LC_ALL": "C",
        "TZ": "UTC",
        # A file that there is not, and not /dev/null: a test that writes to it as root would put a file in its place.
        "GIT_CONFIG_GLOBAL": str(home / "none.gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_TEST_FSYNC": "0",  # no repository here outlives its test
        "GIT_TEMPLATE_DIR": "",  # a dozen sample hooks for each of thousands of repositories
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": DATE,
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_COMMITTER_DATE": DATE,
        **{name: value for name, value in os.environ.items() if name.startswith("PYTEST_")},
        **more,
    }


@dataclass(frozen=True)
class Repo:
    """A repository at `path`, and the environment to use it with."""

    path: Path
    environ: Mapping[str, str]

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        """Run git here and return its output without the last newline."""
        return os.fsdecode(self.git_bytes(*arguments, stdin=stdin, check=check)).removesuffix("\n")

    def git_bytes(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
        """Run git here and return its output as it is."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=self.environ, input=stdin, capture_output=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {arguments} in {self.path}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def write(self, path: str, content: Content) -> Path:
        """Write (or delete) a file of the work tree, making its directories. `path` may hold surrogates."""
        file = self.path / path
        if content is None:
            file.unlink()
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, files: Mapping[str, Content] | None = None, message: str = "Change") -> str:
        """Write `files`, stage everything that changed, commit, and return the commit's id."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "--all", "--force")
        self.git("-c", "maintenance.auto=false", "commit", "--quiet", "--allow-empty", "--message", message)
        return self.tip()

    def commit_run(
        self, files: Mapping[str, Content] | None = None, subject: str = "Run", *, now: str = DATE, more: str = ""
    ) -> str:
        """Commit derived files as a run does that evaluated HEAD, and return the commit's id."""
        return self.commit(files, f"{subject}\n\nMuster-Now: {now}\nMuster-Source: {self.tip()}{more}")

    def tip(self, revision: str = "HEAD") -> str:
        """Return the id that `revision` names."""
        return self._loose(revision) or self.git("rev-parse", "--verify", revision)

    def _loose(self, revision: str) -> str:
        """The id of a branch with a file of its own, without a process, of which there are thousands; empty for others:
        in a linked work tree, packed, or in another format of refs."""
        git_dir = self.path / ".git"
        git_dir = git_dir if git_dir.is_dir() else self.path
        try:
            ref = f"refs/heads/{revision}"
            if revision == "HEAD":
                ref = os.fsdecode((git_dir / "HEAD").read_bytes()).removeprefix("ref: ").rstrip()
            tip = (git_dir / ref).read_text() if ref.startswith("refs/heads/") else ""
        except OSError:
            return ""
        return tip.rstrip() if tip[:1].isalnum() and ":" not in tip else ""

    def show(self, path: str, revision: str = "HEAD") -> str:
        """Return the content of a file at a revision."""
        return self.git("show", f"{revision}:{path}")

    def paths(self, revision: str = "HEAD") -> list[str]:
        """Return the paths of a revision."""
        return [path for path in self.git("ls-tree", "-r", "-z", "--name-only", revision).split("\0") if path]

    def status(self) -> list[str]:
        """Return the lines of `git status --porcelain`, unquoted."""
        return [line for line in self.git("status", "--porcelain", "-z").split("\0") if line]

    def refs(self) -> dict[str, str]:
        """Return every ref with what it points at."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def commit_to(self, ref: str, files: Mapping[str, str | bytes], *, date: str = DATE) -> str:
        """Make a root commit of `files` on `ref` (an agent's, say), leaving HEAD and the work tree alone."""
        lines = [
            b"M 100644 inline %b\ndata %d\n%b\n" % (_quoted(path), len(_bytes(text)), _bytes(text))
            for path, text in files.items()
        ]
        commit = b"commit %b\nmark :1\ncommitter Ada <ada@example.com> %d +0000\ndata 4\nBeat\n" % (
            os.fsencode(ref),
            _seconds(date),
        )
        # Without a `from` it has no parent, whatever is there: --force lets it take the place of that.
        return self.git("fast-import", "--quiet", "--force", stdin=commit + b"".join(lines) + b"\nget-mark :1\n")

    def with_environ(self, **more: str) -> "Repo":
        """Return the same repository with more in its environment."""
        return replace(self, environ={**self.environ, **more})


@cache
def _cache() -> str:
    """A folder for as long as this process lives."""
    folder = mkdtemp(prefix="muster-tests-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def new_repository(path: Path, *, bare: bool = False, object_format: str = "sha1") -> Repo:
    """Create an empty repository whose branch is `main`."""
    copytree(_empty(bare=bare, object_format=object_format), path)
    return Repo(path, git_environ(path.parent))


@cache
def _empty(*, bare: bool, object_format: str) -> Path:
    """An empty repository to copy, which takes a third of the time of making one."""
    path = Path(_cache()) / f"empty-{bare}-{object_format}"
    path.mkdir()
    more = ["--bare"] if bare else []
    Repo(path, git_environ(path.parent)).git(
        "init", "--quiet", "--initial-branch=main", f"--object-format={object_format}", *more
    )
    return path


def clone(origin: Repo, path: Path, *options: str) -> Repo:
    """Clone `origin` to `path`."""
    origin.git("clone", "--quiet", *options, str(origin.path), str(path))
    return Repo(path, origin.environ)


def copy(original: Path, path: Path) -> Repo:
    """Copy a repository, with its work tree."""
    copytree(original, path, symlinks=True)
    return Repo(path, git_environ(path.parent))


def add_worktree(repo: Repo, path: Path, branch: str) -> Repo:
    """Check `branch` out in a linked worktree at `path`, creating the branch if there is none."""
    known = repo.git("branch", "--list", branch)
    repo.git("worktree", "add", "--quiet", *([str(path), branch] if known else ["-b", branch, str(path)]))
    return Repo(path, repo.environ)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _quoted(path: str) -> bytes:
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def _seconds(date: str) -> int:
    return int(datetime.fromisoformat(date).timestamp())
