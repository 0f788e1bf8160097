"""Commenting on pull requests, at a real HTTP server that keeps comments as the forges do."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from muster.cli import exits
from muster.data.tree import Tree
from muster.features.plan.comment import MARKER, NOTHING
from tests.support.commandline import Run
from tests.support.commandline import muster as muster
from tests.support.git import Repo, clone, new_repository
from tests.support.living import cluster

COMMIT = "c" * 40
BODY = f"{MARKER}\n### Plan: 1 cluster Unknown\n\nwords\n"
EMPTY = f"{MARKER}\n### Plan: {NOTHING}\n\nwords\n"


@dataclass
class Forge:
    """Comments by thread, and what of requests is worth a look."""

    url: str = ""
    comments: dict[str, list[dict[str, Tree]]] = field(default_factory=dict)
    pulls: list[Tree] = field(default_factory=list)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    #: Who the token belongs to, by REST and by GraphQL; None: the token may not ask. And the answer to a refused one.
    user: Tree = field(default_factory=lambda: {"id": 1})
    viewer: Tree = None
    refusal: bytes = b"null"

    def bodies(self, thread: str) -> list[Tree]:
        return [one["body"] for one in self.comments[thread]]


def serve(forge: Forge) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            parts, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
            token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            forge.asked.append((self.command, self.path, token))
            length = int(self.headers.get("Content-Length") or 0)
            sent = json.loads(self.rfile.read(length)) if length else {}
            thread = re.sub(r"/\d+$", "", parts.path) if self.command in ("PATCH", "PUT") else parts.path
            thread = re.sub(r"/issues/comments$", "/issues/7/comments", thread)
            found: Tree = None
            is_more = False
            if "secret" not in token:
                found = None
            elif parts.path == "/user":
                found = forge.user
            elif parts.path == "/graphql":
                found = forge.viewer and {"data": {"viewer": {"login": forge.viewer}}}
            elif parts.path.endswith("/pulls"):
                found = [pull for pull in forge.pulls if query.get("head", [pull["from"]]) == [pull["from"]]]
            elif parts.path.endswith("/merge_requests"):
                found = [{"iid": pull["number"], "sha": pull["head"]["sha"]} for pull in forge.pulls]
            elif thread in forge.comments and self.command == "GET":
                first = (int(query["page"][0]) - 1) * int(query["per_page"][0])
                found = forge.comments[thread][first : first + int(query["per_page"][0])]
                is_more = first + len(found) < len(forge.comments[thread])
            elif thread in forge.comments and self.command == "POST":
                me = {"id": 1, "type": "Bot", "login": "github-actions[bot]"}
                found = {"id": 1000 + len(forge.comments[thread]), "user": me, "author": me, **sent}
                forge.comments[thread].append(found)
            elif thread in forge.comments:
                (found,) = (one for one in forge.comments[thread] if str(one["id"]) == parts.path.rpartition("/")[2])
                found.update(sent)
            data = json.dumps(found).encode() if found is not None else forge.refusal
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(data)))
            if is_more:
                self.send_header("Link", f'<{forge.url}{parts.path}?page=2>; rel="next", <{forge.url}>; rel="last"')
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815 - as the server calls them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forge.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def forge() -> Iterator[Forge]:
    found = Forge(
        pulls=[
            {"number": 6, "from": "ada:topic", "head": {"sha": "0" * 40}},
            {"number": 7, "from": "ada:topic", "head": {"sha": COMMIT}},
        ]
    )
    server = serve(found)
    yield found
    server.shutdown()
    server.server_close()


THREADS = {"github": "/repos/acme/fleet/issues/7/comments", "gitlab": "/projects/5/merge_requests/7/notes"}


@pytest.fixture(params=sorted(THREADS))
def kind(request: pytest.FixtureRequest, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> str:
    named: str = request.param
    forge.comments[THREADS[named]] = []
    for name, value in {
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_TOKEN": "secret",
        "CI_API_V4_URL": forge.url,
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "MUSTER_GITLAB_TOKEN": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    return named


@pytest.fixture
def comment(kind: str, muster: Run, tmp_path: Path) -> Run:
    def run(text: str | bytes, commit: str = COMMIT) -> tuple[int, str, str]:
        file = tmp_path / "plan.md"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return muster(
            "plan", "comment", kind, file, *(("--head", "ada:topic", "--commit", commit) if kind == "github" else ())
        )

    return run


def test_one_comment_that_is_replaced(kind: str, comment: Run, forge: Forge) -> None:
    assert comment(BODY) == (exits.FINE, "commented\n", "")
    assert comment(BODY)[1] == "the comment is up to date\n"
    more = BODY.replace("words", "more words")
    assert comment(more)[1] == "replaced the comment\n"
    assert forge.bodies(THREADS[kind]) == [more]
    assert comment(EMPTY)[1] == "replaced the comment\n"
    assert forge.bodies(THREADS[kind]) == [EMPTY]


def test_where_nothing_changes_nothing_is_said_unless_something_was(kind: str, comment: Run, forge: Forge) -> None:
    assert comment(EMPTY)[1] == "nothing changes, and there is no comment\n"
    assert forge.bodies(THREADS[kind]) == []


def test_among_many_and_never_somebody_elses(kind: str, comment: Run, forge: Forge) -> None:
    person = {"id": 2, "type": "User"}
    forge.comments[THREADS[kind]] = [
        {"id": number, "user": person, "author": person, "body": BODY} for number in range(250)
    ]
    comment(BODY)
    comment(BODY.replace("words", "others"))
    assert forge.bodies(THREADS[kind]) == [BODY] * 250 + [BODY.replace("words", "others")]


@pytest.mark.parametrize("kind", ["github"], indirect=True)
@pytest.mark.parametrize(
    ("user", "viewer", "replaced"),
    [
        ({"id": 5}, None, "person"),
        ({"id": 1}, None, "app"),
        (None, "github-actions[bot]", "app"),
        (None, "github-actions", "app"),
        (None, "other[bot]", "other"),
        (None, "third[bot]", ""),
        (None, None, "other"),
    ],
)
def test_only_a_comment_of_the_tokens_own_user_is_replaced(
    user: Tree, viewer: Tree, replaced: str, comment: Run, forge: Forge
) -> None:
    authors: dict[str, Tree] = {
        "namesake": {"id": 4, "type": "User", "login": "github-actions"},
        "person": {"id": 5, "type": "User", "login": "ada"},
        "other": {"id": 6, "type": "Bot", "login": "other[bot]"},
        "app": {"id": 1, "type": "Bot", "login": "github-actions[bot]"},
    }
    forge.user, forge.viewer = user, viewer
    forge.comments[THREADS["github"]] = [
        {"id": number, "user": author, "body": BODY} for number, author in enumerate(authors.values())
    ]
    more = BODY.replace("words", "more words")
    assert comment(more)[:2] == (exits.FINE, "replaced the comment\n" if replaced else "commented\n")
    expected: list[Tree] = [more if name == replaced else BODY for name in authors]
    assert forge.bodies(THREADS["github"]) == expected + ([] if replaced else [more])


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            b'{"message": "Resource not accessible by integration", "documentation_url": "https://x", "status": "403"}',
            "Resource not accessible by integration (status 404)",
        ),
        (
            b'{"message": "Validation Failed", "errors": [{"resource": "I", "message": "body is\\ntoo long"}]}',
            "Validation Failed, body is too long (status 404)",
        ),
        (b'{"message": {"base": ["no", "no"]}}', "no (status 404)"),
        (b'{"error": "insufficient_scope", "error_description": "needs api"}', "needs api, insufficient_scope (status"),
        (b"<html>\n<h1>Not found</h1>", "<html> <h1>Not found</h1> (status 404)"),
        (b"", "no reason (status 404)"),
    ],
)
def test_a_refusal_is_one_readable_line(
    refusal: bytes, said: str, comment: Run, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "other")
    monkeypatch.setenv("MUSTER_GITLAB_TOKEN", "other")
    forge.refusal = refusal
    code, _, err = comment(BODY)
    first, hint = err.splitlines()
    assert (code, first.startswith("error: http"), hint[:5]) == (exits.REPOSITORY, True, "hint:")
    assert f"refuses to read: {said}" in first


@pytest.mark.parametrize("text", ["", "hello", f"{BODY}@org", f"{BODY}<img src=x>", b"\xff", BODY + "x" * 70_000])
def test_what_muster_did_not_write_is_not_posted(text: str | bytes, comment: Run, forge: Forge) -> None:
    code, _, err = comment(text)
    assert code == exits.USAGE
    assert "plan.md" in err
    assert forge.asked == []


def test_a_token_that_does_not_do(comment: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "other")
    monkeypatch.setenv("MUSTER_GITLAB_TOKEN", "other")
    code, _, err = comment(BODY)
    assert code == exits.REPOSITORY
    assert "status 404" in err
    assert "hint: check the names in the URL, and whether the token may" in err


def test_a_forge_that_is_away(comment: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CI_API_V4_URL", "http://127.0.0.1:9")
    code, _, err = comment(BODY)
    assert (code, "does not answer: " in err, "Error" in err) == (exits.REPOSITORY, True, False)


@pytest.mark.parametrize("kind", ["github"], indirect=True)
def test_a_commit_that_is_no_longer_the_newest(comment: Run, forge: Forge) -> None:
    assert comment(BODY, "d" * 40)[1].startswith("no open pull request has this commit")
    assert not any(method != "GET" for method, *_ in forge.asked)


def test_where_it_is_not_said(kind: str, comment: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY")
    monkeypatch.delenv("CI_MERGE_REQUEST_IID")
    code, _, err = comment(BODY)
    assert (code, "is not set" in err) == (exits.USAGE, True)


@pytest.mark.parametrize("name", ("#", "!"))
def test_open_requests_are_planned_together(
    forge: Forge, muster: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """Their commits are fetched from the remote."""
    origin = new_repository(tmp_path / "origin")
    origin.commit({"clusters/a.yaml": cluster("a"), "README.md": "# A\n"})
    forge.pulls.clear()
    for number, text in ((3, cluster("a", accepted=False)), (4, cluster("a", region="us"))):
        files = {"clusters/b.yaml": text.replace("name: a", f"name: b{number}")}
        commit = origin.commit_to(f"refs/pull/{number}/head", files)
        origin.git("update-ref", f"refs/pull/{number}/head", _on_main(origin, commit))
        forge.pulls.append({"number": number, "from": "x:y", "head": {"sha": origin.tip(f"refs/pull/{number}/head")}})
    here = clone(origin, tmp_path / "here")
    variables = {"GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "acme/fleet", "GITHUB_TOKEN": "secret"}
    if name == "!":
        variables = {"CI_API_V4_URL": forge.url, "CI_PROJECT_ID": "5", "MUSTER_GITLAB_TOKEN": "secret"}
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    code, out, err = muster("plan", "--open", "--repo", here.path, "--now", "2026-01-01T12:00:00Z")
    assert (code, [line.partition(":")[0] for line in out.splitlines()[:2]]) == (1, [f"{name}3", f"{name}4"])
    assert f"{name}3 and {name}4 do not merge: clusters/b.yaml" in err
    monkeypatch.setenv("GITHUB_TOKEN" if name == "#" else "MUSTER_GITLAB_TOKEN", "wrong")
    assert muster("plan", "--open", "--repo", here.path)[0] == exits.REPOSITORY


def _on_main(origin: Repo, commit: str) -> str:
    """The files of a commit, on top of the branch."""
    merged = origin.git("merge-tree", "--write-tree", "--allow-unrelated-histories", "main", commit)
    return origin.git("commit-tree", "-m", "x", "-p", "main", merged)
