"""A release: `python -m tests.support.release` makes it in dist/ of what is committed, and installs it to see it run.

A wheel and an sdist, their digests, and a statement of what they were made from: SLSA's provenance (v1) as an in-toto
statement (v1), not signed. Whoever checks out the commit and has the same tools gets the same bytes: nothing but the
commit goes in, times are the commit's, and a release that comes out differently the second time is none.

https://slsa.dev/spec/v1.0/provenance, https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PROVENANCE: Final = "provenance.json"
SUMS: Final = "SHA256SUMS"
#: What has a say in the bytes, besides the commit.
_TOOLS: Final = ("build", "hatchling")


def release(root: Path, out: Path) -> list[Path]:
    """Build the commit that is checked out, and return the wheel and the sdist. AssertionError where something is not
    committed, and where two builds differ."""
    assert not _git(root, "status", "--porcelain"), "commit everything first: a release is made of a commit"
    epoch = _git(root, "show", "--no-patch", "--format=%ct", "HEAD")
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        _build(root, first, epoch)
        _build(root, second, epoch)
        assert _digests(first) == _digests(second), "two builds of one commit differ"
        digests = _digests(first)
        for name in digests:
            (out / name).write_bytes((first / name).read_bytes())
    statement = _statement(root, digests, epoch)
    (out / PROVENANCE).write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")
    (out / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()), encoding="utf-8")
    return [out / name for name in digests]


def try_out(artifact: Path, folder: Path, environ: Mapping[str, str]) -> str:
    """Install an artifact into an empty environment with what it needs, lay down a fleet and validate it there; return
    what the commands print. CalledProcessError where one fails."""
    venv, fleet = folder / "venv", folder / "fleet"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-compile", str(artifact)], check=True)
    muster, printed = str(venv / "bin/muster"), ""
    for arguments in (["--version"], ["init", str(fleet)], ["validate", "--repo", str(fleet)]):
        done = subprocess.run([muster, *arguments], env=environ, cwd=folder, capture_output=True, text=True, check=True)
        printed += done.stdout
    return printed


def _build(root: Path, out: Path, epoch: str) -> None:
    """Build what the commit has, wherever and whenever."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", str(root), "archive", "HEAD"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "--extract", "--directory", folder], input=archive, check=True)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), folder]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def _statement(root: Path, digests: Mapping[str, str], epoch: str) -> dict[str, object]:
    commit, tree = (_git(root, "rev-parse", name) for name in ("HEAD", "HEAD^{tree}"))
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:muster-fleet:make-release:1",
                "externalParameters": {"commit": commit},
                "internalParameters": {
                    "SOURCE_DATE_EPOCH": epoch,
                    "python": ".".join(map(str, sys.version_info[:3])),
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit, "gitTree": tree}},
                    *({"name": name, "uri": f"pkg:pypi/{name}@{version(name)}"} for name in _TOOLS),
                ],
            },
            "runDetails": {"builder": {"id": "urn:muster-fleet:a-checkout"}},
        },
    }


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir(), reverse=True)}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    for made in release(ROOT, ROOT / "dist"):
        with TemporaryDirectory() as empty:
            print(made, try_out(made, Path(empty), os.environ).partition("\n")[0], sep=": ")
