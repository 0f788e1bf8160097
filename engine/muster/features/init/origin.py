"""Where this muster came from, as far as others can install it from there.

The distribution `muster-fleet` is published nowhere, so what an index has under that name, or under `muster`, is
somebody else's. What a fleet repository installs in its jobs and hooks is therefore what installed this muster (PEP
610: `direct_url.json` of the installed distribution), pinned by commit or digest; where that is no use to another
machine, a person has to say. Nothing in `direct_url.json` is trusted: what a shell, YAML or GitHub's expressions could
take for more than a URL is no source, and credentials are never repeated.
"""

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit

import muster
from muster.data.tree import Tree, dig, read_json
from muster.data.yaml.emitter import inline, quoted
from muster.git.errors import RepositoryError
from muster.git.process import Git, without_location

DISTRIBUTION: Final = "muster-fleet"

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HOST: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?", re.ASCII)
#: Of a URL's or file's path, what no shell, no YAML, no expression of GitHub's and no requirement of pip's acts upon.
_PATH: Final = re.compile(r"/(?:[-A-Za-z0-9._~/+@:]|%[0-9A-Fa-f]{2})*", re.ASCII)
_USER: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9._]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class InstallOrigin:
    """Where this muster came from, and what of it another machine can use.

    `told` says it to people. `requirement` is what pip installs anywhere, pinned; `repository` and `commit` are for
    pre-commit; each is empty where there is none. `here` is what pip installs on this machine only; a `repository` that
    is a path is of use on this machine only, too. `known` is what is known of the source for who has to fill it in.
    """

    told: str
    requirement: str = ""
    repository: str = ""
    commit: str = ""
    here: str = ""
    known: str = ""


def origin() -> InstallOrigin:
    """Return where the running muster came from."""
    home = Path(muster.__file__).resolve().parent
    try:
        found = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return _not_installed(home)
    direct = _direct_url(found)
    path = _path_of(direct)
    editable = dig(direct, "dir_info", "editable") is True
    if editable and path is not None and home.is_relative_to(path.resolve()):
        return _checkout(path)
    if Path(str(found.locate_file("muster"))).resolve() != home:
        return _not_installed(home)
    if path is not None and dig(direct, "dir_info") is not None and not _same_code(home, path / "engine" / "muster"):
        return InstallOrigin("a directory on this machine that has changed since")
    return origin_of(direct)


def origin_of(direct: Tree) -> InstallOrigin:
    """Return what a `direct_url.json` says; None for a distribution that has none, as from an index."""
    if direct is None:
        return InstallOrigin("an index, where muster is not published")
    if not isinstance(dig(direct, "url"), str):
        return InstallOrigin("a source that its direct_url.json does not name")
    path = _path_of(direct)
    if dig(direct, "subdirectory"):
        return InstallOrigin("a subdirectory of something larger")
    if isinstance(dig(direct, "vcs_info"), dict):
        return _of_git(direct, path)
    if isinstance(dig(direct, "archive_info"), dict):
        return _of_archive(direct, path)
    return _checkout(path) if path is not None else InstallOrigin("a source of an unknown sort")


def public_url(url: str) -> str:
    """Return the URL without credentials; empty where it is none that can be repeated in a file, or asks for some.

    ssh's user stays: it is the account and not the secret. A query or fragment may be one, and a URL is no use without.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    keep = f"{name}@" if parts.scheme == "ssh" and at and _USER.fullmatch(name) else ""
    sound = (
        parts.scheme in ("https", "http", "ssh")
        and _HOST.fullmatch(host)
        and _PATH.fullmatch(parts.path)
        and not (parts.query or parts.fragment)
        and url.isascii()
        and url.isprintable()
    )
    return f"{parts.scheme}://{keep}{host}{parts.path}" if sound else ""


def _direct_url(found: Distribution) -> Tree:
    text = found.read_text("direct_url.json")
    try:
        return None if text is None else read_json(text)
    except ValueError:
        return {}


def _path_of(direct: Tree) -> Path | None:
    """The path of a `file:` URL; None for any other."""
    url = dig(direct, "url")
    if not isinstance(url, str) or not url.startswith("file:///"):
        return None
    path = unquote(url.removeprefix("file://"))
    return None if "\0" in path else Path(path)


def _of_git(direct: Tree, path: Path | None) -> InstallOrigin:
    commit = dig(direct, "vcs_info", "commit_id")
    if dig(direct, "vcs_info", "vcs") != "git" or not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        return InstallOrigin("a version control system other than git")
    if path is not None:
        return _local_repository(path, commit)
    url = public_url(direct["url"])
    if not url:
        return InstallOrigin("a git URL that cannot be repeated in a file", known=f"commit {commit}")
    return _remote_repository(url, commit)


def _of_archive(direct: Tree, path: Path | None) -> InstallOrigin:
    info = direct["archive_info"]
    digest = dig(info, "hashes", "sha256") or str(dig(info, "hash") or "").removeprefix("sha256=")
    pinned = isinstance(digest, str) and _SHA256.fullmatch(digest) is not None
    known = f"sha256 {digest}" if pinned else ""
    if path is not None:
        text = path.as_uri() if path.is_absolute() else ""
        usable = pinned and _PATH.fullmatch(text.removeprefix("file://"))
        here = f"{DISTRIBUTION} @ {text}#sha256={digest}" if usable else ""
        return InstallOrigin("a file on this machine", here=here, known=known)
    url = public_url(direct["url"])
    if not url or not pinned:
        return InstallOrigin(
            "a URL that cannot be repeated in a file" if pinned else "a URL without a digest", known=known
        )
    return InstallOrigin(f"{url}, sha256 {digest[:12]}", requirement=f"{DISTRIBUTION} @ {url}#sha256={digest}")


def _not_installed(home: Path) -> InstallOrigin:
    """muster that runs from its files: those of a checkout, or copied from somewhere."""
    root = home.parents[1]
    return _checkout(root) if home == root / "engine" / "muster" else InstallOrigin("files that nothing installed")


def _checkout(path: Path) -> InstallOrigin:
    """A directory: with luck a clean checkout of muster whose commit is also on a remote, where others can have it."""
    nothing = InstallOrigin("a directory on this machine that is no checkout of muster")
    if not _is_ours(path):
        return nothing
    git = Git(path, without_location(os.environ))
    try:
        top, commit = git.line("rev-parse", "--show-toplevel"), git.line("rev-parse", "--verify", "--quiet", "HEAD")
        if top is None or commit is None or Path(top).resolve() != path.resolve() or not _COMMIT.fullmatch(commit):
            return nothing
        if git.output("status", "--porcelain"):
            return InstallOrigin(
                "a checkout on this machine with uncommitted changes", known=f"commit {commit} and changes"
            )
        url = _published_at(git, commit)
    except RepositoryError:
        return nothing
    return _remote_repository(url, commit) if url else _local_repository(path, commit)


def _same_code(one: Path, other: Path) -> bool:
    """Whether two copies of the package have the same modules: a directory may have gone on after the installation."""
    names = [{path.relative_to(home) for path in home.rglob("*.py")} for home in (one, other)]
    try:
        same = ((one / name).read_bytes() == (other / name).read_bytes() for name in names[0])
        return names[0] == names[1] and all(same)
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    try:
        project = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(dig(project, "project", "name") == DISTRIBUTION)


def _published_at(git: Git, commit: str) -> str:
    """The URL of a remote that has the commit, as far as this checkout knows; empty where none has."""
    names = os.fsdecode(git.output("for-each-ref", "--contains", commit, "--format=%(refname)", "refs/remotes/"))
    remotes = os.fsdecode(git.output("remote")).splitlines()
    for remote in sorted(remotes, key=lambda name: (name != "origin", name)):
        if any(name.startswith(f"refs/remotes/{remote}/") for name in names.splitlines()):
            url = _with_scheme(git.line("remote", "get-url", remote) or "")
            if public := public_url(url):
                return public
    return ""


def _with_scheme(url: str) -> str:
    """`git@host:path`, as people write ssh's URLs, as the URL that pip understands."""
    found = re.fullmatch(r"([^/@:]+@[^/@:]+):(?!//)/?(.+)", url)
    return f"ssh://{found[1]}/{found[2]}" if found else url


def _remote_repository(url: str, commit: str) -> InstallOrigin:
    requirement = f"{DISTRIBUTION} @ git+{url}@{commit}"
    return InstallOrigin(f"{url} at commit {commit[:12]}", requirement=requirement, repository=url, commit=commit)


def _local_repository(path: Path, commit: str) -> InstallOrigin:
    """A repository on this machine: of use to this machine's hooks, and to nobody else."""
    text = str(path)
    repository = text if path.is_absolute() and _PATH.fullmatch(text) else ""
    return InstallOrigin(
        "a repository on this machine", repository=repository, commit=commit if repository else "",
        known=f"commit {commit}",
    )  # fmt: skip


#: What stands in a line that a person has to fill in. A job or hook that runs into it fails: it installs nothing.
MARK: Final = "FILL IN"
_EXAMPLE: Final = f"{DISTRIBUTION} @ git+https://git.example.com/you/muster.git@COMMIT"


def filled(text: str, origin: InstallOrigin) -> str:
    """Return a file of the skeleton with the lines that stand for others replaced, each at its indentation."""
    lines: list[str] = []
    for line in text.split("\n"):
        make = _REPLACED.get(line.strip())
        indent = line[: len(line) - len(line.lstrip())]
        lines.extend([line] if make is None else [f"{indent}{new}" for new in make(origin)])
    return "\n".join(lines)


def marked(text: str) -> list[int]:
    """Return the numbers of the lines that a person has to fill in."""
    return [number for number, line in enumerate(text.split("\n"), 1) if MARK in line and line.lstrip()[:1] != "#"]


def workflow_lines(origin: InstallOrigin) -> list[str]:
    """The step that installs muster in a job of GitHub's."""
    if origin.requirement:
        return [
            f"# Where muster came from when this was laid down, pinned: {origin.told}.",
            "# It is published on no index; any package of that name there is not ours.",
            f"- run: {quoted(f'pip install {shlex.quote(origin.requirement)}')}",
        ]
    return [
        *_why(origin),
        f"# {MARK} where this job can have it from, pinned, in place of the next line. For example",
        f"#   - run: pip install '{_EXAMPLE}'",
        f"- run: \"echo 'this workflow does not say yet where muster comes from' >&2; exit 1\"  # {MARK}",
    ]


def script_lines(origin: InstallOrigin) -> list[str]:
    """The same as a line of a script of GitLab's."""
    return [line.replace("- run: ", "- ", 1) for line in workflow_lines(origin)]


def hook_lines(origin: InstallOrigin) -> list[str]:
    """The entry of `.pre-commit-config.yaml` for the hook."""
    if origin.repository:
        return [
            *_only_here(origin, by_path=origin.repository.startswith("/")),
            f"- repo: {inline(origin.repository)}",
            f"  rev: {inline(origin.commit)}",
            "  hooks:",
            "  - id: muster-validate",
        ]
    if requirement := origin.requirement or origin.here:
        return [
            *_only_here(origin, by_path=not origin.requirement),
            "- repo: local",
            "  hooks:",
            "  - id: muster-validate",
            "    name: muster validate",
            "    language: python",
            f"    additional_dependencies: [{quoted(requirement)}]",
            "    entry: muster validate --staged",
            r"    files: \.(ya?ml|json)$",
            "    require_serial: true",
        ]
    return [
        *_why(origin),
        f"# {MARK} the git repository of muster, and a commit of it, in the next two lines.",
        f'- repo: "{MARK}"',
        f'  rev: "{MARK}"',
        "  hooks:",
        "  - id: muster-validate",
    ]


def _why(origin: InstallOrigin) -> list[str]:
    known = f" ({origin.known})" if origin.known else ""
    return [f"# muster is published on no index, and the one that laid this down came from {origin.told}{known}."]


def _only_here(origin: InstallOrigin, *, by_path: bool) -> list[str]:
    if not by_path:
        return [f"# Where muster came from when this was laid down, pinned: {origin.told}."]
    return [
        "# Where muster came from when this was laid down, pinned. It is a path on one machine: put a URL here before",
        "# others use this hook.",
    ]


_REPLACED: Final[Mapping[str, Callable[[InstallOrigin], list[str]]]] = MappingProxyType(
    {"@workflow@": workflow_lines, "@script@": script_lines, "@hook@": hook_lines}
)
