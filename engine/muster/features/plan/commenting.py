"""Post a plan as a comment on a GitHub pull request or a GitLab merge request: one comment, which is replaced.

Only what muster writes is posted: otherwise a file could say anything in the name of the token's owner.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, urlencode

import urllib3

from muster.data.tree import Tree, dig, read_json
from muster.dataclass import dataclass
from muster.features.plan.comment import MARKER, MAX_BYTES, is_comment, says_nothing
from muster.git.errors import RepositoryError
from muster.net.deadline import Deadline
from muster.net.http import exchange, new_pool, reason

_LIMIT_SECONDS: Final = 60.0  # for all requests
_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_PAGE: Final = 100
_MAX_PAGES: Final = 100
_MAX_SHOWN: Final = 200
_NOT_ALLOWED: Final = (401, 403, 404)
#: What the name of an app's user ends with.
_BOT: Final = "[bot]"
#: Where GitHub, GitLab and OAuth say what is wrong.
_MESSAGES: Final = ("message", "errors", "error_description", "error")


class NoCommentError(ValueError):
    """A file was not written by muster plan."""


class RefusedError(RepositoryError):
    """A forge refuses a request."""

    def __init__(self, method: str, url: str, status: int, answer: bytes) -> None:
        self.status = status
        doing = "read" if method == "GET" else "write"
        right = "check the names in the URL, and whether the token may write comments on pull requests"
        hint = right if status in _NOT_ALLOWED else ""
        super().__init__(f"{url} refuses to {doing}: {_reason(answer)} (status {status})", hint)


def _reason(answer: bytes) -> str:
    """Return why a forge refuses: the messages in its JSON, else the first characters of the text."""
    try:
        tree = read_json(answer)
    except ValueError:
        tree = None
    lines = list(dict.fromkeys(_messages(tree)))
    return (
        ", ".join(lines)[:_MAX_SHOWN] or " ".join(answer.decode("utf-8", "replace").split())[:_MAX_SHOWN] or "no reason"
    )


def _messages(tree: Tree) -> Iterator[str]:
    """The texts under the names that GitHub, GitLab and Gitea give to what is wrong, at any depth."""
    if isinstance(tree, str):
        yield " ".join(tree.split())
    elif isinstance(tree, list):
        for item in tree:
            yield from _messages(item)
    elif isinstance(tree, dict):
        names = [name for name in _MESSAGES if tree.get(name)] or [*tree]
        for name in names:
            yield from _messages(tree[name])


@dataclass(frozen=True, slots=True)
class PlanComment:
    """An existing comment."""

    path: str
    body: str


class CommentApi(Protocol):
    """A forge's API for comments."""

    def threads(self) -> Iterator[str]:
        """The paths of lists of comments, one for each request to comment on."""

    def own(self, thread: str) -> Iterator[PlanComment]:
        """The comments of a list that have the same author as ours."""

    def post(self, thread: str, body: str) -> None:
        """Add a comment."""

    def replace(self, comment: PlanComment, body: str) -> None:
        """Replace the body of a comment."""


def read_comment(path: Path) -> str:
    """Read a comment from a file. NoCommentError if muster did not write it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise NoCommentError(f"{path} cannot be read as text") from error
    if len(data) > MAX_BYTES or not is_comment(text):
        raise NoCommentError(f"{path} is not what muster plan -o markdown writes")
    return text


def comment_on(forge: CommentApi, text: str) -> list[str]:
    """Post or replace the comment; return what was done. A plan without changes is only posted in place of one with
    changes. RepositoryError if the forge refuses."""
    done = []
    for thread in forge.threads():
        present = next((comment for comment in forge.own(thread) if comment.body.startswith(MARKER)), None)
        if present is None and says_nothing(text):
            done.append("nothing changes, and there is no comment")
        elif present is None:
            forge.post(thread, text)
            done.append("commented")
        elif present.body.strip() == text.strip():
            done.append("the comment is up to date")
        else:
            forge.replace(present, text)
            done.append("replaced the comment")
    return done


@dataclass(frozen=True, slots=True)
class Api:
    """A forge's API: its URL, headers with the token, and when all requests must be answered."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    deadline: Deadline = field(default_factory=lambda: Deadline.after(_LIMIT_SECONDS))

    def pages(self, path: str, **query: str) -> Iterator[Tree]:
        """Yield the objects of a list, page after page. Forges differ in how long a page is, so the header Link
        (RFC 8288) says whether there is another one."""
        for page in range(1, _MAX_PAGES + 1):
            items, links = self._ask("GET", f"{path}?{urlencode({**query, 'per_page': _PAGE, 'page': page})}", None)
            if not isinstance(items, list):
                raise RepositoryError(f"{path} of {self.url} is not a list")
            yield from (item for item in items if isinstance(item, dict))
            if 'rel="next"' not in links:
                return

    def call(self, method: str, path: str, body: Tree = None) -> Tree:
        """Return the answer. RepositoryError if there is none, or its status is an error."""
        return self._ask(method, path, body)[0]

    def _ask(self, method: str, path: str, body: Tree) -> tuple[Tree, str]:
        """Return the answer and its links."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers, "Content-Type": "application/json", "User-Agent": "muster"}
        with new_pool() as pool:
            try:
                answer = exchange(
                    pool, self.deadline, method, f"{self.url.rstrip('/')}{path}", body=data, headers=headers
                )
                content = answer.read(_MAX_ANSWER_BYTES)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                why = f"{self.url} does not answer: {reason(error, self.deadline)}"
                raise RepositoryError(why, "try again, or check the URL") from error
            answer.close()
        if answer.status not in (200, 201):
            raise RefusedError(method, f"{self.url.rstrip('/')}{path.partition('?')[0]}", answer.status, content)
        try:
            return read_json(content), answer.headers.get("Link", "")
        except ValueError as error:
            raise RepositoryError(f"{method} {path} at {self.url}: the answer is not JSON") from error


@dataclass(frozen=True, slots=True)
class GitHub:
    """The open pull requests from `head` (`owner:branch`) whose newest commit is `commit`, according to GitHub: a pull
    request may have moved on."""

    api: Api
    repository: str
    head: str
    commit: str

    def threads(self) -> Iterator[str]:
        """One for each such pull request."""
        for pull in self.api.pages(f"/repos/{quote(self.repository)}/pulls", state="open", head=self.head):
            number = pull.get("number")
            if dig(pull, "head", "sha") == self.commit and isinstance(number, int):
                yield f"/repos/{quote(self.repository)}/issues/{number}/comments"

    def own(self, thread: str) -> Iterator[PlanComment]:
        """The comments of the token's user: those of others are never replaced, even with our marker."""
        is_ours = self._is_author()
        for comment in self.api.pages(thread):
            number = comment.get("id")
            if is_ours(comment.get("user")) and isinstance(number, int):
                yield PlanComment(f"/repos/{quote(self.repository)}/issues/comments/{number}", str(comment.get("body")))

    def _is_author(self) -> Callable[[Tree], bool]:
        """Return a test for the token's user. An app's token, such as that of a workflow, may ask GraphQL only; where
        that is not allowed either, bots count as the app."""
        try:
            number = dig(self.api.call("GET", "/user"), "id")
            return lambda user: number is not None and dig(user, "id") == number
        except RefusedError as error:
            if error.status not in _NOT_ALLOWED:
                raise
        graphql = Api(self.api.url.rstrip("/").removesuffix("/v3"), self.api.headers)
        try:
            login = dig(graphql.call("POST", "/graphql", {"query": "{viewer{login}}"}), "data", "viewer", "login")
        except RefusedError:
            login = None
        app = login.removesuffix(_BOT) if isinstance(login, str) else None
        return lambda user: dig(user, "type") == "Bot" and app in (None, str(dig(user, "login")).removesuffix(_BOT))

    def post(self, thread: str, body: str) -> None:
        """Add a comment."""
        self.api.call("POST", thread, {"body": body})

    def replace(self, comment: PlanComment, body: str) -> None:
        """Replace the body of a comment."""
        self.api.call("PATCH", comment.path, {"body": body})


@dataclass(frozen=True, slots=True)
class GitLab:
    """A merge request, by its project's number and its own."""

    api: Api
    project: str
    request: str

    def threads(self) -> Iterator[str]:
        """The merge request's notes."""
        yield f"/projects/{quote(self.project, safe='')}/merge_requests/{quote(self.request, safe='')}/notes"

    def own(self, thread: str) -> Iterator[PlanComment]:
        """The notes of the token's user."""
        me = dig(self.api.call("GET", "/user"), "id")
        for note in self.api.pages(thread):
            if me is not None and dig(note, "author", "id") == me and isinstance(note.get("id"), int):
                yield PlanComment(f"{thread}/{note['id']}", str(note.get("body")))

    def post(self, thread: str, body: str) -> None:
        """Add a note."""
        self.api.call("POST", thread, {"body": body})

    def replace(self, comment: PlanComment, body: str) -> None:
        """Replace the body of a note."""
        self.api.call("PUT", comment.path, {"body": body})
