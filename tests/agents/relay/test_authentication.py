"""Tokens name their senders, and each sender has a rate."""

import hashlib
from pathlib import Path

import pytest

from muster.agents.relay.authentication import RateLimit, TokenFile
from muster.data.agentref import Mandate


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    path = tmp_path / "tokens"
    path.write_text(
        f"c1 {digest('one').upper()}\n\nalerts {digest('two')} eu-*,us-1\nUpper {digest('three')}\nc2 x y z\n"
    )
    return TokenFile(path)


def test_a_token_is_of_a_cluster_or_of_a_collector(tokens: TokenFile) -> None:
    agent, collector = tokens.sender("one"), tokens.sender("two")
    assert agent is not None
    assert collector is not None
    assert (agent.name, agent.clusters) == ("c1", Mandate(["c1"]))
    assert collector.name == "alerts"
    assert [name in collector.clusters for name in ("eu-7", "us-1", "us-2", "c1")] == [True, True, False, False]
    assert tokens.sender("three") is None
    assert tokens.sender("") is None


def test_a_line_that_does_not_count_is_named_without_its_content(tmp_path: Path) -> None:
    path, told = tmp_path / "tokens", list[str]()
    path.write_text(f"# agents\nc1 {digest('one')}\nUpper {digest('two')}\nc2 s3cret\nc3\n")
    assert TokenFile(path, told.append).admits("c1", "one")
    assert [line.partition(": ")[0] for line in told] == [f"{path}:{number}" for number in (3, 4, 5)]
    assert all(words in line for words, line in zip(("not a name", "not the SHA-256", "a line is"), told, strict=True))
    assert "s3cret" not in "".join(told)


def test_a_collector_is_no_agent(tokens: TokenFile) -> None:
    assert tokens.admits("c1", "one")
    assert not tokens.admits("alerts", "two")
    assert not tokens.admits("us-1", "two")
    assert not tokens.admits("c1", "two")


def test_each_sender_has_a_rate_of_its_own() -> None:
    now = 100.0
    limit = RateLimit(2.0, 3.0, lambda: now)
    assert [limit.wait_seconds("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait_seconds("b") == 0
    now += 0.5
    assert [limit.wait_seconds("a") for _ in range(2)] == [0, 0.5]
    now += 1000
    assert [limit.wait_seconds("a") for _ in range(4)] == [0, 0, 0, 0.5]
