"""Whose a ref is: one parser, strict about names, because the name is the only credential there is."""

import pytest

from muster.model.agentref import agent_ref, cluster_of, is_cluster_name, misplaced, resembles, short_name, speaks_for


@pytest.mark.parametrize(
    ("ref", "short", "cluster"),
    [
        ("refs/heads/agents/prod-eu-1", "agents/prod-eu-1", "prod-eu-1"),
        ("refs/heads/agents/eu.prod.1", "agents/eu.prod.1", "eu.prod.1"),
        ("refs/remotes/origin/agents/a", "origin/agents/a", "a"),
    ],
)
def test_who_speaks(ref: str, short: str, cluster: str) -> None:
    assert (short_name(ref), speaks_for(ref), cluster_of(short)) == (short, cluster, cluster)
    if ref.startswith("refs/heads/"):
        assert agent_ref(cluster) == ref


@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/agents/zz/agents/a", "refs/heads/x/agents/a", "refs/heads/agents/a/b", "refs/heads/Agents/a",
        "refs/heads/agents/", "refs/heads/agents/A", "refs/heads/agents/-a", "refs/heads/agents/a.", "refs/heads/main",
        "refs/heads/agents/a\n", "refs/remotes/agents/a", "refs/remotes/origin/x/agents/a", "refs/tags/agents/a",
        f"refs/heads/agents/{'a' * 254}", "agents/a",
    ],
)  # fmt: skip
def test_who_speaks_for_nobody(ref: str) -> None:
    assert speaks_for(ref) == ""


@pytest.mark.parametrize(
    ("ref", "like", "elsewhere"),
    [
        ("refs/heads/agents/a/b", True, False),
        ("refs/heads/Agents/a", True, True),
        ("refs/heads/people/agents/a", True, True),
        ("refs/remotes/origin/AGENTS/a", True, True),
        ("refs/heads/agents", False, True),
        ("refs/heads/my-agents/a", False, True),
    ],
)
def test_what_looks_like_an_agent_s(ref: str, like: bool, elsewhere: bool) -> None:
    assert (resembles(ref), misplaced(ref)) == (like, elsewhere)


@pytest.mark.parametrize(
    ("name", "fine"), [("a", True), ("a" * 253, True), ("a" * 254, False), ("a_b", False), ("", False)]
)
def test_names_of_clusters(name: str, fine: bool) -> None:
    assert is_cluster_name(name) is fine
