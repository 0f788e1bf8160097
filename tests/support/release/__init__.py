"""A release: `python -m tests.support.release` makes it in dist/ of what is committed, and runs what it made.

A wheel and an sdist; muster.pyz, an image and a chart, where that which makes them is at hand, with bills of what is
inside; their digests, and a statement of what they were made from: SLSA's provenance (v1) as an in-toto statement (v1).
Whoever checks out the commit and has the same tools and packages gets the same bytes: nothing else goes in, times are
the commit's, and a release whose distributions come out differently the second time is none.

https://slsa.dev/spec/v1.0/provenance, https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from tests.support.release.making import Making, UnavailableError, call

ROOT: Final = Path(__file__).resolve().parents[3]
PROVENANCE: Final = "provenance.json"
SUMS: Final = "SHA256SUMS"
#: What has a say in the bytes, besides the commit.
_TOOLS: Final = ("build", "hatchling")
#: Makes parts of a release besides the distributions, by what they are called.
Parts = Mapping[str, Callable[[Making], None]]
NONE: Final[Parts] = MappingProxyType({})


def release(root: Path, out: Path, parts: Parts = NONE, key: str = "") -> tuple[list[Path], dict[str, str]]:
    """Build the commit that is checked out, and return what was made, and why which parts were not. AssertionError if
    something is not committed, or two builds differ. `key`: the file of an ssh key, which signs the digests."""
    assert not _git(root, "status", "--porcelain"), "commit everything first: a release is made of a commit"
    epoch, missing = _git(root, "show", "--no-patch", "--format=%ct", "HEAD"), dict[str, str]()
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        first, second, source = (Path(folder) / name for name in ("first", "second", "source"))
        _say("Making the distributions, twice.")
        _build(root, first, epoch)
        _build(root, second, epoch)
        assert _digests(first) == _digests(second), "two builds of one commit differ"
        _extract(root, source)
        (wheel,) = first.glob("*.whl")
        commit, tree = (_git(root, "rev-parse", name) for name in ("HEAD", "HEAD^{tree}"))
        making = Making(source, out, Path(folder), int(epoch), commit, wheel.name.split("-")[1], wheel)
        for name in _digests(first):
            making.add(name).write_bytes((first / name).read_bytes())
        for name, make in parts.items():
            _say(f"Making {name[:1].lower()}{name[1:]}.")
            try:
                make(making)
            except UnavailableError as error:
                missing[name] = str(error)
    statement = json.dumps(_statement(making, tree), indent=2) + "\n"
    making.add(PROVENANCE).write_text(statement, encoding="utf-8")
    sums = out / SUMS
    sums.write_text("".join(f"{_digest(path)}  {path.name}\n" for path in making.files), encoding="utf-8")
    signature = out / f"{SUMS}.sig"
    signature.unlink(missing_ok=True)
    if key:
        call(["ssh-keygen", "-Y", "sign", "-q", "-n", "file", "-f", key, str(sums)])
        making.files.append(signature)
    return [*making.files, sums], missing


def _say(line: str) -> None:
    """Say what takes minutes."""
    print(line, file=sys.stderr, flush=True)


def _build(root: Path, out: Path, epoch: str) -> None:
    """Build what the commit has, wherever and whenever."""
    with TemporaryDirectory() as folder:
        _extract(root, Path(folder))
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), folder]
        call(command, environ={**os.environ, "SOURCE_DATE_EPOCH": epoch})


def _extract(root: Path, folder: Path) -> None:
    """Write the commit's files to a folder."""
    folder.mkdir(exist_ok=True)
    archive = subprocess.run(["git", "-C", str(root), "archive", "HEAD"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive, check=True)


def _statement(making: Making, tree: str) -> dict[str, object]:
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": _digest(path)}} for path in making.files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:muster-fleet:make-release:1",
                "externalParameters": {"commit": making.commit},
                "internalParameters": {
                    "SOURCE_DATE_EPOCH": str(making.epoch),
                    "python": ".".join(map(str, sys.version_info[:3])),
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": making.commit, "gitTree": tree}},
                    *({"name": name, "uri": f"pkg:pypi/{name}@{version(name)}"} for name in _TOOLS),
                    *making.dependencies,
                ],
            },
            "runDetails": {"builder": {"id": "urn:muster-fleet:a-checkout"}},
        },
    }


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in sorted(folder.iterdir(), reverse=True)}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
