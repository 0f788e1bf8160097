"""What a forge posts when somebody pushes, and what anybody else may post there."""

import hashlib
import hmac
import http.client
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.features.watch.http import Access, LiveServer
from muster.features.watch.live import Live
from muster.features.watch.watch import Pushes, Watcher
from muster.features.watch.webhooks import MAX_BYTES, Webhook, webhook_secret
from muster.git.repository import open_repository
from muster.net.serving.server import served
from muster.net.serving.tokens import ReloadedFile
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import clone, new_repository

#: GitHub's own example of a signature.
SECRET, BODY = "It's a Secret to Everybody", b"Hello, World!"
GITHUB = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUSHES = {
    "github": {"X-GitHub-Event": "push"},
    "gitea": {"X-Gitea-Event": "push"},
    "gitlab": {"X-Gitlab-Event": "Push Hook"},
}


class Receiver:
    """A server with a webhook, and how many pushes it heard of. Its page needs a token."""

    def __init__(self, folder: Path) -> None:
        repo = new_repository(folder / "fleet")
        self.file, self.heard = folder / "secret", 0
        self.file.write_text(f"{SECRET}\n")
        (folder / "token").write_text("a token for the page")
        live = Live(open_repository(repo.path, repo.environ), "fleet", None)
        access = Access(ReloadedFile(folder / "token", str.strip))
        hook = Webhook(ReloadedFile(self.file, webhook_secret), self.hear)
        self.server = LiveServer(("127.0.0.1", 0), live, None, access, webhook=hook)

    def hear(self) -> None:
        self.heard += 1

    def post(self, headers: Mapping[str, str], body: bytes = BODY, method: str = "POST") -> tuple[int, int]:
        """The status, and the pushes that the request was taken for."""
        before = self.heard
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=10)) as line:
            line.request(method, "/webhook", body, dict(headers))
            status = line.getresponse().status
        return status, self.heard - before


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    found = Receiver(tmp_path_factory.mktemp("webhook"))
    with served(found.server, "webhook"):
        yield found


def proof(forge: str, secret: str = SECRET, body: bytes = BODY) -> dict[str, str]:
    """The header by which a forge proves that it knows the secret."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "github": {"X-Hub-Signature-256": f"sha256={digest}"},
        "gitea": {"X-Gitea-Signature": digest},
        "gitlab": {"X-Gitlab-Token": secret},
    }[forge]


def test_signature_of_github_documentation(receiver: Receiver) -> None:
    assert proof("github") == {"X-Hub-Signature-256": GITHUB}
    assert receiver.post({**PUSHES["github"], "X-Hub-Signature-256": GITHUB}) == (202, 1)


@pytest.mark.parametrize("forge", PUSHES)
def test_only_signed_pushes_wake_the_watch(receiver: Receiver, forge: str) -> None:
    event, signed = PUSHES[forge], proof(forge)
    ((name, value),) = signed.items()
    assert receiver.post(event | signed) == (202, 1)
    assert receiver.post(signed) == (200, 0), "an event without a name is none of a push"
    assert receiver.post(dict.fromkeys(event, "ping") | signed) == (200, 0)
    assert receiver.post(event) == (401, 0)
    for wrong in ("", value[:-1], value + "0", value.swapcase(), "sha256=", "é" * 20, f"{value}, {value}"):
        assert receiver.post(event | {name: wrong}) == (401, 0), wrong
    assert receiver.post(event | proof(forge, "another secret of somebody")) == (401, 0)
    for method in ("GET", "PUT", "DELETE"):
        assert receiver.post(event | signed, method=method) == (405, 0)
    if forge != "gitlab":  # whose token does not depend on the body
        assert receiver.post(event | signed, b"Hello, World?") == (401, 0)


def test_a_signature_in_the_header_of_another_forge_proves_nothing(receiver: Receiver) -> None:
    digest = GITHUB.removeprefix("sha256=")
    for headers in ({"X-Hub-Signature-256": digest}, {"X-Gitea-Signature": GITHUB}, {"X-Gitlab-Token": digest}):
        assert receiver.post(PUSHES["github"] | headers) == (401, 0)


def test_a_body_is_bounded(receiver: Receiver) -> None:
    for body, expected in ((b"x" * MAX_BYTES, (202, 1)), (b"x" * (MAX_BYTES + 1), (413, 0)), (b"", (401, 0))):
        assert receiver.post(PUSHES["gitea"] | proof("gitea", body=body), body) == expected


def test_the_secret_can_be_replaced_and_taken_away(receiver: Receiver) -> None:
    old, new = (PUSHES["gitlab"] | proof("gitlab", secret) for secret in (SECRET, "the secret of next year"))
    receiver.file.write_text("the secret of next year")
    assert (receiver.post(old), receiver.post(new)) == ((401, 0), (202, 1))
    receiver.file.unlink()
    assert receiver.post(new) == (401, 0)
    receiver.file.write_text(SECRET)
    assert receiver.post(old) == (202, 1)


@pytest.mark.parametrize(
    "text", ["", "short", "  fifteen chars. \n", "a secret with \x00 in it", "sechzehn Zeichen, naß"]
)
def test_secrets_that_cannot_be_used(text: str) -> None:
    with pytest.raises(ValueError, match="16"):
        webhook_secret(text)


def test_a_push_is_fetched_before_the_interval(tmp_path: Path) -> None:
    origin = new_repository(tmp_path / "origin")
    origin.commit({"clusters/a.yaml": cluster("a")})
    here = clone(origin, tmp_path / "here")
    said, pushes = list[str](), Pushes()
    watcher = Watcher(
        open_repository(here.path, here.environ),
        "main",
        "origin",
        timedelta(days=1),
        said.append,
        clock=lambda: NOW,
        pushes=pushes,
    )
    origin.git("config", "receive.denyCurrentBranch", "updateInstead")
    watcher.look()
    assert "a accepted" in "".join(said)
    origin.commit({"clusters/b.yaml": cluster("b")})
    watcher.look()
    assert "b accepted" not in "".join(said), "it fetches once a day"
    pushes.heard()
    assert pushes.wake.is_set()
    watcher.look()
    assert "b accepted" in "".join(said)
    assert not pushes.take()
