"""What is left out of everything that people see."""

import pytest

from muster.cli.outcome import findings_text
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.printable import without_secrets
from muster.features.test.memory import MemorySnapshot
from muster.git.errors import RepositoryError, explain
from muster.run.evaluate import evaluate_snapshot
from muster.run.facts import Fact
from muster.run.settle import settle
from muster.run.transition import Transition
from muster.run.transitions.transitions import commit_message
from tests.support.example import NOON


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:token@host/x", "https://host/x"),
        ("https://token@host/x", "https://host/x"),
        ("https://user:p@ss@host/x", "https://host/x"),
        ("fatal: 'ssh://git@host/x' not found", "fatal: 'ssh://host/x' not found"),
        ("https://host/path@v1", "https://host/path@v1"),
        ("amqp://guest:guest@mq:5672/ and https://a:b@c", "amqp://mq:5672/ and https://c"),
        ("ada@example.com", "ada@example.com"),
    ],
)
def test_credentials_in_urls(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_what_the_environment_holds_in_trust() -> None:
    environ = {
        "MUSTER_SINK_HUB": "Bearer s3cr3t-value",
        "GITHUB_TOKEN": "ghp_abc",
        "HOME": "/root",
        "MUSTER_SINK_MQ": "ada:pass1",
    }
    told = without_secrets("sent 'Bearer s3cr3t-value', s3cr3t-value, ghp_abc and pass1 from /root", environ)
    assert told == "sent '***', ***, *** and *** from /root"


def test_an_error_of_a_repository_shows_none() -> None:
    error = RepositoryError("https://ada:t0ken@host/x rejected the push", "see https://ada:t0ken@host/x")
    assert "t0ken" not in f"{error}{error.message}{error.hint}"
    assert "t0ken" not in str(explain("push", "fatal: unable to access 'https://ada:t0ken@host/x/': 403\n", 128))


def test_a_finding_quotes_no_password() -> None:
    fleet = (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
        "spec: {pulses: {sinks: [{name: a, url: 'https://ada:t0ken@host/x'}]}}\n"
    )
    run = evaluate_snapshot(MemorySnapshot({"fleet.yaml": fleet}), NOON)
    assert "MUS205" in {found.code for found in run.findings}
    assert "t0ken" not in findings_text(run.findings)


def test_a_commit_tells_no_password() -> None:
    settled = settle(MemorySnapshot({}), NOON)
    id_ = MANAGED_CLUSTER.id("a")
    note = "cannot reach https://ada:t0ken@host/\nMuster-Now: x"
    told = Transition(id_, Fact("condition", "Ready", "True"), Fact("condition", "Ready", "False", note))
    message = commit_message(settled.last, [told])
    assert "t0ken" not in message
    assert "\nMuster-Now: x" not in message
