"""The open pull requests of a forge, as branches with their newest commits."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from muster.data.tree import Tree, dig
from muster.features.plan.commenting import Api
from muster.git.config import likely_first, remotes
from muster.git.errors import RepositoryError
from muster.git.push import fetch_commits
from muster.git.repository import Repository, current_branch, has_commit
from muster.git.store.objects import is_object_id

_GITHUB: Final = "https://api.github.com"


def open_requests(repository: Repository, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the newest commit of each open pull request to the branch that is checked out, by name (`#12`, `!12`).
    Commits that are missing are fetched. RepositoryError if the forge or the remote does not answer, or if the
    environment names no forge."""
    branch = current_branch(repository) or "main"
    commits = {name: commit for name, commit in _listed(environ, branch) if is_object_id(commit)}
    missing = [commit for commit in commits.values() if not has_commit(repository.git, commit)]
    if missing:
        remote_names = likely_first(repository, remotes(repository))
        if not remote_names:
            raise RepositoryError("the commits of open pull requests are not here, and there is no remote", "add one")
        fetch_commits(repository, remote=remote_names[0], commits=missing)
    return commits


def _listed(environ: Mapping[str, str], branch: str) -> Iterator[tuple[str, str]]:
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")
    if (github := environ.get("GITHUB_REPOSITORY")) and token:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
        api = Api(environ.get("GITHUB_API_URL") or _GITHUB, headers)
        for pull in api.pages(f"/repos/{quote(github)}/pulls", state="open", base=branch):
            yield f"#{pull.get('number')}", _text(dig(pull, "head", "sha"))
        return
    url, project = (
        environ.get("CI_API_V4_URL"),
        environ.get("CI_MERGE_REQUEST_PROJECT_ID") or environ.get("CI_PROJECT_ID"),
    )
    if url and project and (token := environ.get("MUSTER_GITLAB_TOKEN")):
        api = Api(url, {"PRIVATE-TOKEN": token})
        requests = f"/projects/{quote(project, safe='')}/merge_requests"
        for request in api.pages(requests, state="opened", target_branch=branch):
            yield f"!{request.get('iid')}", _text(request.get("sha"))
        return
    raise RepositoryError(
        "the environment names no forge to ask for open pull requests",
        "set GITHUB_REPOSITORY and GITHUB_TOKEN, or CI_API_V4_URL, CI_PROJECT_ID and MUSTER_GITLAB_TOKEN",
    )


def _text(value: Tree) -> str:
    return value if isinstance(value, str) else ""
