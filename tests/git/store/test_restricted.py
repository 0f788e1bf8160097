"""What a hostile repository's configuration names is not run, by any verb of muster; what a user's names is."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.git.directory import DirectorySnapshot
from muster.git.errors import Committed, Refused, RepositoryError
from muster.git.repository import open_repository
from muster.git.store.restricted import TRUST
from tests.features.pulses.test_walkthrough import cluster
from tests.git.committing import commit
from tests.support.git import clone, new_repository

#: Every way to have a program run, `{}`, by what is put where. A path begins with `.git/`, a key does not.
WAYS: dict[str, dict[str, str]] = {
    "fsmonitor": {"core.fsmonitor": "{}"},
    "clean": {"filter.clean.clean": "{}", ".git/info/attributes": "clusters/a.yaml filter=clean\n"},
    "smudge": {"filter.smudge.smudge": "{}", ".git/info/attributes": "derived/** filter=smudge\n"},
    "process": {
        "filter.process.process": "{}",
        ".git/info/attributes": "clusters/b.yaml filter=process\n",
        "filter.process.required": "true",
    },
    "textconv": {"diff.x.textconv": "{}", ".git/info/attributes": "*.yaml diff=x\n"},
    "diff.external": {"diff.external": "{}"},
    "ssh": {"core.sshCommand": "{} </dev/null", "remote.other.url": "ssh://127.0.0.1/x"},
    "askpass": {"core.askPass": "{}"},
    "ext": {"remote.ext.url": "ext::{} %S"},
    "insteadOf": {"remote.instead.url": "x://{}", "url.ext::.insteadOf": "x://"},
    "credentials": {"credential.helper": "{}", "credential.https://example.invalid.helper": "{}"},
    "gpg": {"gpg.program": "{}", "commit.gpgSign": "true"},
    "alternates": {"core.alternateRefsCommand": "{}"},
    **{
        f"hook {name}": {f".git/hooks/{name}": "#!/bin/sh\n{}\n"}
        for name in (
            "reference-transaction",
            "post-index-change",
            "pre-push",
            "post-merge",
            "post-checkout",
            "pre-auto-gc",
            "post-rewrite",
            "fsmonitor-watchman",
        )
    },
}
#: What is run where the repository's configuration is trusted: these are tried in earnest.
TRUSTED = {"clean", "smudge", "process", "textconv", "ssh"}
COMMANDS = """
import sys
from muster.commandline import run
path = sys.argv[1]
for name in "ab":
    open(f"{path}/clusters/{name}.yaml", "a").write("# edited\\r\\n")
for line in ("validate", "plan --worktree", "reconcile", "explain ManagedCluster/a generation",
             *(f"reconcile --push --remote {remote}" for remote in ("other", "ext", "instead", "origin"))):
    run([*line.split(), "--repo", path, *(["--now", "2026-01-01T00:10:00Z"] if line != "validate" else [])])
"""


def ran(directory: Path, ways: Iterable[str], **environ: str) -> set[str]:
    """Run muster's commands on a clone that has programs to run; return which were."""
    seed = new_repository(directory / "seed")
    seed.commit({"clusters/a.yaml": cluster("a"), "clusters/b.yaml": cluster("b")})
    seed.commit_to("refs/heads/agents/a", {"x.yaml": "x: 1\n"})
    repo = clone(clone(seed, directory / "origin.git", "--mirror"), directory / "clone")
    attributes = ""
    for number, way in enumerate(ways):
        program = directory / f"program{number}"
        program.write_text(f"#!/bin/sh\ntouch '{directory}/ran {way}'\ncat\nexit 1\n")
        program.chmod(0o755)
        for where, what in WAYS[way].items():
            if where.startswith(".git/"):
                attributes += what if "attributes" in where else ""
                repo.write(where, attributes or what.format(program)).chmod(0o755)
            else:
                repo.git("config", where, what.format(program))
    command = [sys.executable, "-c", COMMANDS, str(repo.path)]
    environment = {**repo.environ, **environ, "MUSTER_CACHE_DIR": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return {path.name.removeprefix("ran ") for path in directory.glob("ran *")}


def test_nothing_is_run(tmp_path: Path) -> None:
    assert ran(tmp_path, WAYS) == set()


def test_what_is_tried_would_run(tmp_path: Path) -> None:
    """Where the configuration is trusted, it does; hooks, monitors and odd transports never do."""
    assert ran(tmp_path, WAYS.keys() - {"gpg"}, **{TRUST: "1"}) == TRUSTED


@pytest.mark.parametrize(
    "key", ["core.gitProxy", "remote.origin.vcs", "remote.origin.uploadpack", "remote.origin.receivepack"]
)
def test_what_cannot_be_prevented_is_refused(tmp_path: Path, key: str) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.git("config", key, "x")
    with pytest.raises(RepositoryError, match=f"would run a program: {key.lower()}"):
        open_repository(repo.path, repo.environ)
    with pytest.raises(RepositoryError):
        DirectorySnapshot(repo.path, repo.environ)
    open_repository(repo.path, {**repo.environ, TRUST: "1"})


def test_the_users_word_counts(tmp_path: Path) -> None:
    """What he has configured for all his repositories stands where one of them says something else."""
    repo = new_repository(tmp_path / "fleet")
    mine = tmp_path / "gitconfig"
    for file, value in ((mine, "mine"), (repo.path / ".git/config", "theirs")):
        for key in ("core.sshCommand", "filter.lfs.clean", "credential.helper", "gpg.program"):
            repo.git("config", "--file", str(file), key, value)
    repo.git("config", "filter.other.smudge", "theirs")
    opened = open_repository(repo.path, {**repo.environ, "GIT_CONFIG_GLOBAL": str(mine)})
    for key in ("core.sshCommand", "filter.lfs.clean", "gpg.program"):
        assert opened.git.line("config", "--get", key) == "mine"
    assert opened.git.output("config", "--get-all", "credential.helper").split(b"\n") == [
        b"mine",
        b"theirs",
        b"",
        b"mine",
        b"",
    ]
    assert opened.git.line("config", "--get", "filter.other.smudge") == ""


def test_files_are_not_written_as_their_filter_would_not(tmp_path: Path) -> None:
    """Else files that are kept elsewhere, or encrypted, would come into the work tree as they are stored."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({".gitattributes": "*.bin filter=kept\n", "a.bin": "a\n"})
    repo.git("config", "filter.kept.smudge", "cat")
    refused = commit(repo, {"a.bin": "b\n"})
    assert isinstance(refused, Refused)
    assert "the git filter kept is configured in the repository itself" in refused.message
    assert commit(repo.with_environ(**{TRUST: "1"}), {"a.bin": "b\n"}) == Committed(repo.tip())
    assert commit(repo, {"derived/a.yaml": "a\n"}) == Committed(repo.tip())


def test_settings_of_the_environment_stay(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Eve"}
    opened = open_repository(repo.path, {**repo.environ, **given})
    assert opened.git.line("config", "--get", "user.name") == "Eve"
    assert opened.git.line("config", "--get", "core.hooksPath") == os.devnull
