"""`muster watch --serve` as a real process, with clients that wait, and clients that say nothing."""

import http.client
import re
import socket
import time
from pathlib import Path

import pytest

from muster.features.watch import serving
from muster.git.repository import open_repository
from tests.features.pulses.test_walkthrough import cluster
from tests.features.watch.test_cli import line_with, watching
from tests.support.commandline import Run
from tests.support.git import new_repository


def test_the_page_needs_no_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "missing_metrics", lambda: "metrics need an extra: pip install them")
    repo = new_repository(tmp_path / "fleet")
    repository = open_repository(repo.path, repo.environ)
    said = list[str]()
    with serving.Serving("127.0.0.1:0", None, None, None, None).observers(
        repository, said.append, lambda: None
    ) as seen:
        assert [type(one).__name__ for one in seen] == ["Live"]
        client = http.client.HTTPConnection("127.0.0.1", int(said[1].rpartition(":")[2]), timeout=20)
        statuses = []
        for path in ("/", "/metrics"):
            client.request("GET", path)
            answer = client.getresponse()
            answer.read()
            statuses.append(answer.status)
        client.close()
    assert (said[0], statuses) == ("/metrics is not served: metrics need an extra: pip install them", [200, 404])


def test_clients_hold_up_neither_the_loop_nor_its_end(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"clusters/a.yaml": cluster("a")})
    clients = list[http.client.HTTPConnection]()
    with watching(repo, "--serve", "127.0.0.1:0") as process:
        said, _ = line_with(process, "serving http")
        port = int(re.findall(r":(\d+)$", said.strip())[0])
        line_with(process, "a accepted")
        silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(20)]
        for _ in range(10):
            clients.append(http.client.HTTPConnection("127.0.0.1", port, timeout=20))
            clients[-1].request("GET", "/events")
        streams = [client.getresponse() for client in clients]
        first = [(stream.readline(), stream.readline(), stream.readline())[1] for stream in streams]
        repo.commit({"clusters/b.yaml": cluster("b")})
        line_with(process, "b accepted")
        second = [(stream.readline(), stream.readline())[1] for stream in streams]
        assert set(first).isdisjoint(second)
        assert set(second) == {f"data: {repo.git('rev-parse', 'main')}\n".encode()}
        began = time.monotonic()
    assert time.monotonic() - began < 5
    for line in silent:
        line.close()
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--serve", "0.0.0.0:0"), "other machines can reach this address"),
        (("--serve", "fleet.example:80"), "other machines can reach this address"),
        (("--serve", "[::]:0"), "other machines can reach this address"),
        (("--serve", "8080"), "it is not HOST:PORT"),
        (("--serve", "127.0.0.1:0", "--serve-token", "{short}"), "16 characters"),
        (("--serve", "127.0.0.1:0", "--serve-client-ca", "{short}"), "needs them"),
        (("--serve", "127.0.0.1:0", "--serve-cert", "{short}"), "go together"),
        (
            ("--serve", "0.0.0.0:0", "--serve-cert", "{short}", "--serve-key", "{short}"),
            "other machines can reach this address",
        ),
        (("--serve", "127.0.0.1:0", "--serve-cert", "{short}", "--serve-key", "{short}"), "PEM"),
        (("--serve-token", "{short}"), "go with --serve"),
        (("--serve-webhook-secret", "{short}"), "go with --serve"),
        (("--serve", "127.0.0.1:0", "--serve-webhook-secret", "{short}"), "16 characters"),
    ],
)
def test_what_would_let_anybody_in_is_refused(
    tmp_path: Path, muster: Run, arguments: tuple[str, ...], why: str
) -> None:
    new_repository(tmp_path / "fleet").commit()
    (tmp_path / "short").write_text("short")
    given = [argument.format(short=tmp_path / "short") for argument in arguments]
    code, _, err = muster("watch", "--repo", str(tmp_path / "fleet"), *given)
    assert code == 2
    assert why in " ".join(err.split())
