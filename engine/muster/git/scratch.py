"""A scratch repository: what is tried out is committed there, over all that a repository has, and nothing reaches it.

It borrows the other's objects (`objects/info/alternates`), so making one costs as much however large that is. It has no
hooks, no remotes, no configuration of its own, and goes with the block that made it.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from muster.git.process import Git, without_location
from muster.git.pulse_memory import REF
from muster.git.repository import Repository, common_directory, open_repository, ref_tip

_IDENTITY = {"GIT_AUTHOR_NAME": "muster", "GIT_AUTHOR_EMAIL": "muster@invalid", "GIT_COMMITTER_NAME": "muster",
             "GIT_COMMITTER_EMAIL": "muster@invalid"}  # fmt: skip


@contextmanager
def scratch_of(repository: Repository, commit: str) -> Iterator[Repository]:
    """Yield a bare repository whose branch `main` is at a commit of another, and that remembers the same pulses."""
    with TemporaryDirectory(prefix="muster-scratch-") as folder:
        path, environ = Path(folder), {**without_location(repository.git.environ), **_IDENTITY}
        git = Git(path, environ)
        git.output(
            "init", "--quiet", "--bare", "--template=", "--initial-branch=main",
            f"--object-format={repository.object_format}", ".",
        )  # fmt: skip
        origin = common_directory(repository).resolve()
        (path / "objects/info").mkdir(exist_ok=True)
        (path / "objects/info/alternates").write_text(f"{origin / 'objects'}\n", encoding="utf-8")
        if (origin / "shallow").is_file():
            shutil.copyfile(origin / "shallow", path / "shallow")
        git.output("update-ref", "refs/heads/main", commit)
        if (pulses := ref_tip(repository, REF)) is not None:
            git.output("update-ref", REF, pulses)
        yield open_repository(path, environ)
