"""The forge that serves a remote, as far as its URL tells: its pages of files and commits, and where to open merge
requests.
"""

from collections.abc import Callable, Mapping
from string import ascii_letters, digits
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from muster.dataclass import dataclass
from muster.git.config import remotes
from muster.git.repository import Repository

GITLAB: Final = "gitlab"
_HOST: Final = f"{ascii_letters}{digits}-."


@dataclass(frozen=True, slots=True)
class Forge:
    """Paths below a repository's page: of a file of a commit, of a commit, and where a merge request is opened.

    `file` and `commit` are templates with `{path}` and `{commit}`. `words`: a host with one of these words in its name,
    between dots and dashes, is such a forge.
    """

    words: tuple[str, ...]
    file: str
    commit: str
    request: Callable[[str, str], str]


def _compare(target: str, branch: str) -> str:
    return f"/compare/{quote(target)}...{quote(branch)}"


FORGES: Final[Mapping[str, Forge]] = {
    "github": Forge(
        ("github",),
        "/blob/{commit}/{path}",
        "/commit/{commit}",
        lambda target, branch: f"{_compare(target, branch)}?expand=1",
    ),
    GITLAB: Forge(
        ("gitlab",),
        "/-/blob/{commit}/{path}",
        "/-/commit/{commit}",
        lambda target, branch: (
            "/-/merge_requests/new?"
            + urlencode({"merge_request[source_branch]": branch, "merge_request[target_branch]": target})
        ),
    ),
    "gitea": Forge(("gitea", "forgejo", "codeberg"), "/src/commit/{commit}/{path}", "/commit/{commit}", _compare),
    "bitbucket": Forge(
        ("bitbucket",),
        "/src/{commit}/{path}",
        "/commits/{commit}",
        lambda target, branch: "/pull-requests/new?" + urlencode({"source": branch, "dest": target}),
    ),
}


@dataclass(frozen=True, slots=True)
class Links:
    """Templates with `{commit}`, and `{path}` of a file; `commit` is None if only files are shown."""

    file: str
    commit: str | None = None


def links_of(repository: Repository) -> Links | None:
    """Return the pages of a repository's files and commits, by its remote `origin`; None if they are not known."""
    url = repository.setting("remote.origin.url") or ""
    base, forge = _web_page(url), FORGES.get(forge_of(url))
    return Links(base + forge.file, base + forge.commit) if base and forge else None


def url_of(repository: Repository, remote: str) -> str:
    """Return the URL of a remote, which may be a name."""
    if remote in remotes(repository):
        return repository.git.line("remote", "get-url", "--push", remote) or ""
    return remote


def forge_of(url: str) -> str:
    """Return the forge that serves a URL, by its host's name; empty if that is not known."""
    host, _ = _host_and_path(url)
    words = set(host.partition(":")[0].replace("-", ".").split("."))
    return next((name for name, forge in FORGES.items() if not words.isdisjoint(forge.words)), "")


def request_page(url: str, forge: str, target: str, branch: str) -> str:
    """Return where a merge request from a branch to another is opened, without credentials of the URL; empty if that is
    not known."""
    base, pages = _web_page(url), FORGES.get(forge)
    return base + pages.request(target, branch) if base and pages else ""


def _web_page(url: str) -> str:
    """Return the repository's web page, without credentials of the URL; empty if there is none."""
    host, path = _host_and_path(url)
    scheme = "http" if url.startswith("http://") else "https"
    return f"{scheme}://{host}/{quote(path)}" if host and path else ""


def _short(url: str) -> tuple[str, str]:
    """Return the host and the path of `[USER@]HOST:PATH`, as ssh takes it; empty for another text."""
    place, _, path = url.partition(":")
    user, at, host = place.rpartition("@")
    is_short = not at or (user.split() == [user] and "@" not in user and "/" not in user)
    sound = len(host) > 1 and not host.strip(_HOST) and host[0] not in "-."
    return (
        (host.lower(), path)
        if is_short and sound and path[:1] not in ("", "/", "\\") and "\n" not in path
        else ("", "")
    )


def _host_and_path(url: str) -> tuple[str, str]:
    """Return the host, with its port if the URL is HTTP, and the repository's path there; empty if it is no URL."""
    path = url
    if "://" in url:
        try:
            parts = urlsplit(url)
            port = parts.port if parts.scheme in ("http", "https") else None
        except ValueError:
            return "", ""
        host = (parts.hostname or "") + (f":{port}" if port else "")
        path = parts.path if parts.scheme in ("http", "https", "ssh", "git") else ""
    else:
        host, path = _short(url)
    return (host, path.strip("/").removesuffix(".git").rstrip("/")) if path else ("", "")
