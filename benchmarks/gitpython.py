"""What GitPython answers about a repository, beside what git answers, and what both cost.

python -m benchmarks.gitpython [refs]

Costs are CPU time, children's included: they move less with the machine than the clock does.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from git import Repo
from muster.git.agents.refs import agent_refs
from muster.git.changes import staged_changes
from muster.git.config import remotes, signs_commits
from muster.git.repository import current_branch, open_repository, resolve

ROUNDS = 15
GITIO = "import muster.git.snapshot, muster.git.landing.commit, muster.git.push"
SIGNED = "[commit]\n\tgpgSign = true\n"


def main() -> None:
    """Ask, then measure."""
    with tempfile.TemporaryDirectory() as directory:
        answers(Path(directory))
        costs(Path(directory), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)


def git(path: Path, *arguments: str, stdin: str = "") -> str:
    """Run git as a person would."""
    command = ["git", "-C", str(path), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def made(path: Path, *options: str) -> Path:
    """A repository with one commit."""
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main", *options)
    git(path, "commit", "--quiet", "--allow-empty", "--message=x")
    return path


@contextmanager
def environ(more: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process: GitPython knows no others."""
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def answers(root: Path) -> None:
    """Print what both say where the configuration or the repository is not the plainest."""
    plain, sha256 = made(root / "plain"), made(root / "sha256", "--object-format=sha256")
    (root / "global").write_text(SIGNED)
    by_url = made(root / "by-url")
    git(by_url, "remote", "add", "origin", "https://example.com/fleet.git")
    git(by_url, "config", "includeIf.hasconfig:remote.*.url:https://example.com/**.path", str(root / "global"))
    own = made(root / "own")
    git(own, "config", "extensions.worktreeConfig", "true")
    git(own, "config", "--worktree", "commit.gpgSign", "true")
    foreign = made(root / "foreign")
    subprocess.run(["chown", "-R", "65534", str(foreign)], check=True)
    variables = {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "commit.gpgSign",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_KEY_1": "remote.hub.url",
        "GIT_CONFIG_VALUE_1": "https://example.com/fleet.git",
    }
    shown("is signing on? set by GIT_CONFIG_COUNT", plain, signing, signs, variables)
    shown("is signing on? set by GIT_CONFIG_GLOBAL", plain, signing, signs, {"GIT_CONFIG_GLOBAL": str(root / "global")})
    shown("is signing on? set by includeIf hasconfig", by_url, signing, signs, {})
    shown("is signing on? set for this work tree", own, signing, signs, {})
    shown("which remotes? one by GIT_CONFIG_COUNT", plain, named, names, variables)
    shown("head of a SHA-256 repository", sha256, head, tip, {})
    shown("head of another user's repository", foreign, head, tip, {})
    (foreign / "staged.yaml").write_text("x\n")
    git(by_url, "--work-tree", str(foreign), "add", "staged.yaml")
    hook = {"GIT_DIR": str(by_url / ".git"), "GIT_INDEX_FILE": str(by_url / ".git/index")}
    shown("what is staged elsewhere than the hook's?", plain, staged, changed, hook)


def shown(
    question: str, path: Path, ours: Callable[[Path], object], theirs: Callable[[Path], object], more: Mapping[str, str]
) -> None:
    """Print both answers."""
    with environ(more):
        said = []
        for ask in (ours, theirs):
            try:
                said.append(str(ask(path)))
            except Exception as error:  # noqa: BLE001 - that it fails is an answer
                said.append(f"{type(error).__name__}: {error}")
    print(f"{question:45} {said[0][:40]!r:45} {said[1][:60]!r}")


def signing(path: Path) -> object:
    return signs_commits(open_repository(path, os.environ))


def signs(path: Path) -> object:
    return Repo(path).config_reader().get_value("commit", "gpgSign", default=False)


def named(path: Path) -> object:
    return remotes(open_repository(path, os.environ))


def names(path: Path) -> object:
    return tuple(remote.name for remote in Repo(path).remotes)


def head(path: Path) -> object:
    return resolve(open_repository(path, os.environ), "HEAD")


def tip(path: Path) -> object:
    return Repo(path).head.commit.hexsha


def staged(path: Path) -> object:
    repository = open_repository(path, os.environ)
    return tuple(change.path for change in staged_changes(repository, resolve(repository, "HEAD")))


def changed(path: Path) -> object:
    return Repo(path).git.diff("--cached", "--name-only")


def costs(root: Path, refs: int) -> None:
    """Print what is saved, or not."""
    path = made(root / "many")
    commit = git(path, "rev-parse", "HEAD").strip()
    git(path, "update-ref", "--stdin", stdin="".join(f"create refs/heads/agents/c{n} {commit}\n" for n in range(refs)))
    git(path, "pack-refs", "--all")
    opened, repo = open_repository(path, os.environ), Repo(path)
    git_here = ["git", "-C", str(path), "rev-parse", "HEAD"]
    report("muster.git imported", lambda: python(GITIO))
    report("... and GitPython", lambda: python(f"{GITIO}; import git"))
    report("one command: subprocess", lambda: subprocess.run(git_here, capture_output=True, check=True))
    report("one command: GitPython's driver, as muster", lambda: opened.git.run("rev-parse", "HEAD"))
    report("one command: repo.git", lambda: repo.git.rev_parse("HEAD"))
    report("open: muster", lambda: open_repository(path, os.environ))
    report("open: Repo", lambda: Repo(path, search_parent_directories=True))
    report("branch: muster", lambda: current_branch(opened))
    report("branch: Repo", lambda: repo.active_branch.name)
    report("remotes: muster", lambda: remotes(opened))
    report("remotes: Repo, anew", lambda: Repo(path).remotes)
    report(f"{refs} agents' refs: muster", lambda: agent_refs(opened))
    report(f"{refs} agents' refs: Repo", lambda: [(ref.path, ref.object.hexsha) for ref in repo.heads][:1], rounds=1)


def python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def report(title: str, case: Callable[[], object], *, rounds: int = ROUNDS) -> None:
    """Print the median CPU time of some rounds."""
    taken = []
    for _ in range(rounds):
        start = spent()
        case()
        taken.append(spent() - start)
    print(f"{title:45} {statistics.median(taken) * 1000:9.2f} ms")


def spent() -> float:
    """CPU seconds of this process and of those that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
