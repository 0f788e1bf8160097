"""The source of this installation of muster, if others can install it from there.

The distribution `muster-fleet` is published nowhere, so any package of that name, or of `muster`, on an index is not
ours. Jobs and hooks of a fleet repository therefore install what installed this muster (PEP 610: `direct_url.json`),
pinned by commit or digest; if other machines cannot use that, a person has to fill it in. `direct_url.json` is not
trusted: a URL with anything that a shell, YAML or GitHub's expressions could act on is refused, and credentials are
never copied.
"""

import os
import shlex
import tomllib
from collections.abc import Callable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit

import muster
from muster.data.tree import Tree, dig, read_json
from muster.data.yaml.emitter import inline, quoted
from muster.dataclass import dataclass
from muster.git.errors import RepositoryError
from muster.git.objects import is_object_id
from muster.git.process import Git, without_location
from muster.regex import Regex

DISTRIBUTION: Final = "muster-fleet"

_SHA256: Final = 64  # hexadecimal digits
_HOST: Final = Regex(r"[A-Za-z0-9][-A-Za-z0-9.]*(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")
#: A path of a URL or file without anything that a shell, YAML, a GitHub expression or a pip requirement acts on.
_PATH: Final = Regex(r"/(?:[-A-Za-z0-9._~/+@:]|%[0-9A-Fa-f]{2})*")
_USER: Final = Regex(r"[A-Za-z0-9][-A-Za-z0-9._]*")


@dataclass(frozen=True, slots=True)
class InstallOrigin:
    """The source of this installation. `text` describes it to people; the other fields may be empty.

    `requirement`: a pinned pip requirement for any machine; `local_requirement`: one for this machine only;
    `repository` and `commit`: for pre-commit (a path works on this machine only); `details`: what is known of a source
    that a person has to fill in.
    """

    text: str
    requirement: str = ""
    repository: str = ""
    commit: str = ""
    local_requirement: str = ""
    details: str = ""


def origin() -> InstallOrigin:
    """Return the source of the running muster."""
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
    """Return the source in a `direct_url.json`; `direct` is None for a distribution without one, as from an index."""
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
    """Return the URL without credentials; empty if it is not safe to write into a file.

    The user of an ssh URL stays: it is not secret. A query or fragment may be, and the URL is useless without it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    keep = f"{name}@" if parts.scheme == "ssh" and at and _USER.fullmatch(name) else ""
    is_safe = (
        parts.scheme in ("https", "http", "ssh") and _HOST.fullmatch(host) and _PATH.fullmatch(parts.path)
        and not (parts.query or parts.fragment) and url.isascii() and url.isprintable()
    )  # fmt: skip
    return f"{parts.scheme}://{keep}{host}{parts.path}" if is_safe else ""


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
    if dig(direct, "vcs_info", "vcs") != "git" or not isinstance(commit, str) or not is_object_id(commit):
        return InstallOrigin("a version control system other than git")
    if path is not None:
        return _local_repository(path, commit)
    url = public_url(direct["url"])
    if not url:
        return InstallOrigin("a git URL that cannot be copied into a file", details=f"commit {commit}")
    return _remote_repository(url, commit)


def _of_archive(direct: Tree, path: Path | None) -> InstallOrigin:
    info = direct["archive_info"]
    digest = dig(info, "hashes", "sha256") or str(dig(info, "hash") or "").removeprefix("sha256=")
    pinned = isinstance(digest, str) and len(digest) == _SHA256 and is_object_id(digest)
    details = f"sha256 {digest}" if pinned else ""
    if path is not None:
        text = path.as_uri() if path.is_absolute() else ""
        usable = pinned and _PATH.fullmatch(text.removeprefix("file://"))
        requirement = f"{DISTRIBUTION} @ {text}#sha256={digest}" if usable else ""
        return InstallOrigin("a file on this machine", local_requirement=requirement, details=details)
    url = public_url(direct["url"])
    if not url or not pinned:
        why = "a URL that cannot be copied into a file" if pinned else "a URL without a digest"
        return InstallOrigin(why, details=details)
    return InstallOrigin(f"{url}, sha256 {digest[:12]}", requirement=f"{DISTRIBUTION} @ {url}#sha256={digest}")


def _not_installed(home: Path) -> InstallOrigin:
    """A muster that runs from a checkout, or from copied files."""
    root = home.parents[1]
    return _checkout(root) if home == root / "engine" / "muster" else InstallOrigin("files that were not installed")


def _checkout(path: Path) -> InstallOrigin:
    """A directory; others can install a clean checkout of muster if a remote has its commit."""
    nothing = InstallOrigin("a directory on this machine that is not a checkout of muster")
    if not _is_ours(path):
        return nothing
    git = Git(path, without_location(os.environ))
    try:
        top, commit = git.line("rev-parse", "--show-toplevel"), git.line("rev-parse", "--verify", "--quiet", "HEAD")
        if top is None or commit is None or Path(top).resolve() != path.resolve() or not is_object_id(commit):
            return nothing
        if git.output("status", "--porcelain"):
            return InstallOrigin(
                "a checkout on this machine with uncommitted changes", details=f"commit {commit} and changes"
            )
        url = _published_at(git, commit)
    except RepositoryError:
        return nothing
    return _remote_repository(url, commit) if url else _local_repository(path, commit)


def _same_code(one: Path, other: Path) -> bool:
    """Do two copies of the package have the same modules? A directory may have changed after the installation."""
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
    """The URL of a remote that has the commit, by this checkout's tracking branches; empty if none has."""
    names = os.fsdecode(git.output("for-each-ref", "--contains", commit, "--format=%(refname)", "refs/remotes/"))
    remotes = os.fsdecode(git.output("remote")).splitlines()
    for remote in sorted(remotes, key=lambda name: (name != "origin", name)):
        if any(name.startswith(f"refs/remotes/{remote}/") for name in names.splitlines()):
            url = _with_scheme(git.line("remote", "get-url", remote) or "")
            if public := public_url(url):
                return public
    return ""


def _with_scheme(url: str) -> str:
    """Turn `git@host:path` into the ssh URL that pip understands."""
    place, _, path = url.partition(":")
    user, _, host = place.partition("@")
    known = user and host and "@" not in host and "/" not in place
    return f"ssh://{place}/{path.removeprefix('/')}" if known and path not in ("", "/") and path[:2] != "//" else url


def _remote_repository(url: str, commit: str) -> InstallOrigin:
    requirement = f"{DISTRIBUTION} @ git+{url}@{commit}"
    return InstallOrigin(f"{url} at commit {commit[:12]}", requirement=requirement, repository=url, commit=commit)


def _local_repository(path: Path, commit: str) -> InstallOrigin:
    """A repository on this machine, which only its own hooks can use."""
    text = str(path)
    repository = text if path.is_absolute() and _PATH.fullmatch(text) else ""
    return InstallOrigin(
        "a repository on this machine", repository=repository, commit=commit if repository else "",
        details=f"commit {commit}",
    )  # fmt: skip


#: Marks a line that a person has to fill in. A job or hook with it fails and installs nothing.
MARK: Final = "FILL IN"
_EXAMPLE: Final = f"{DISTRIBUTION} @ git+https://git.example.com/you/muster.git@COMMIT"


def filled(text: str, origin: InstallOrigin) -> str:
    """Return a file of the skeleton with its placeholder lines replaced, each at its indentation."""
    lines: list[str] = []
    for line in text.split("\n"):
        make = _PLACEHOLDERS.get(line.strip())
        indent = line[: len(line) - len(line.lstrip())]
        lines.extend([line] if make is None else [f"{indent}{new}" for new in make(origin)])
    return "\n".join(lines)


def marked(text: str) -> list[int]:
    """Return the numbers of the lines that a person has to fill in."""
    return [number for number, line in enumerate(text.split("\n"), 1) if MARK in line and line.lstrip()[:1] != "#"]


def workflow_lines(origin: InstallOrigin) -> list[str]:
    """The step that installs muster in a GitHub job."""
    if origin.requirement:
        return [
            f"# Where muster came from when this was created, pinned: {origin.text}.",
            "# It is not published on any index; any package of that name there is not ours.",
            f"- run: {quoted(f'pip install {shlex.quote(origin.requirement)}')}",
        ]
    return [
        *_no_source(origin),
        f"# {MARK} a pinned source that this job can use, in place of the next line. For example",
        f"#   - run: pip install '{_EXAMPLE}'",
        f"- run: \"echo 'this workflow does not yet say where to install muster from' >&2; exit 1\"  # {MARK}",
    ]


def script_lines(origin: InstallOrigin) -> list[str]:
    """The same step as a line of a GitLab script."""
    return [line.replace("- run: ", "- ", 1) for line in workflow_lines(origin)]


def hook_lines(origin: InstallOrigin) -> list[str]:
    """The entry of `.pre-commit-config.yaml` for the hook."""
    if origin.repository:
        return [
            *_source_comment(origin, by_path=origin.repository.startswith("/")),
            f"- repo: {inline(origin.repository)}",
            f"  rev: {inline(origin.commit)}",
            "  hooks:",
            "  - id: muster-validate",
        ]
    if requirement := origin.requirement or origin.local_requirement:
        return [
            *_source_comment(origin, by_path=not origin.requirement),
            "- repo: local",
            "  hooks:",
            "  - id: muster-validate",
            "    name: muster validate",
            "    language: python",
            f"    additional_dependencies: [{quoted(requirement)}]",
            "    entry: muster validate --staged",
            r"    files: \.(ya?ml|json)$",
            "    require_serial: true",
            "    verbose: true",
        ]
    return [
        *_no_source(origin),
        f"# {MARK} the git repository of muster, and a commit of it, in the next two lines.",
        f'- repo: "{MARK}"',
        f'  rev: "{MARK}"',
        "  hooks:",
        "  - id: muster-validate",
    ]


def _no_source(origin: InstallOrigin) -> list[str]:
    details = f" ({origin.details})" if origin.details else ""
    return [f"# muster is not published on any index; this file was created by one from {origin.text}{details}."]


def _source_comment(origin: InstallOrigin, *, by_path: bool) -> list[str]:
    if not by_path:
        return [f"# Where muster came from when this was created, pinned: {origin.text}."]
    return [
        "# Where muster came from when this was created, pinned. It is a path on one machine: put a URL here before",
        "# others use this hook.",
    ]


_PLACEHOLDERS: Final[Mapping[str, Callable[[InstallOrigin], list[str]]]] = MappingProxyType(
    {"@workflow@": workflow_lines, "@script@": script_lines, "@hook@": hook_lines}
)
