"""Whose a ref is: one parser, strict about names, because the name is the only credential there is."""

import pytest

from muster.data.agentref import (
    Mandate,
    agent_ref,
    cluster_of,
    is_cluster_name,
    misplaced,
    relay_of,
    remote_of,
    resembles,
    short_name,
    speaks_for,
)


@pytest.mark.parametrize(
    ("ref", "short", "cluster"),
    [
        ("refs/heads/agents/prod-eu-1", "agents/prod-eu-1", "prod-eu-1"),
        ("refs/heads/agents/eu.prod.1", "agents/eu.prod.1", "eu.prod.1"),
        ("refs/remotes/origin/agents/a", "origin/agents/a", "a"),
        ("refs/muster/from/eu/agents/a", "from eu/agents/a", "a"),
        ("refs/heads/relays/edge~a.b", "relays/edge~a.b", "a.b"),
        ("refs/muster/from/eu/relays/edge~a", "from eu/relays/edge~a", "a"),
    ],
)
def test_cluster_of_a_ref(ref: str, short: str, cluster: str) -> None:
    assert (short_name(ref), speaks_for(ref), cluster_of(short)) == (short, cluster, cluster)
    if ref.startswith("refs/heads/agents"):
        assert agent_ref(cluster) == ref


@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/agents/zz/agents/a",
        "refs/heads/x/agents/a",
        "refs/heads/agents/a/b",
        "refs/heads/Agents/a",
        "refs/heads/agents/",
        "refs/heads/agents/A",
        "refs/heads/agents/-a",
        "refs/heads/agents/a.",
        "refs/heads/main",
        "refs/heads/agents/a\n",
        "refs/remotes/agents/a",
        "refs/remotes/origin/x/agents/a",
        "refs/tags/agents/a",
        f"refs/heads/agents/{'a' * 254}",
        "agents/a",
        "refs/heads/relays/edge",
        "refs/heads/relays/edge~A",
        "refs/heads/relays/~a",
        "refs/heads/relays/x/y~a",
        "refs/heads/x/relays/y~a",
        "refs/muster/from/agents/a",
        "refs/muster/agents/a",
        "refs/heads/agents/a~b",
    ],
)
def test_refs_of_no_agent(ref: str) -> None:
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


@pytest.mark.parametrize(
    ("ref", "remote", "relay"),
    [
        ("refs/heads/agents/a", "", ""),
        ("refs/muster/from/eu/agents/a", "eu", ""),
        ("refs/remotes/origin/relays/edge", "", "edge"),
        ("refs/muster/from/eu/relays/edge~a", "eu", "edge"),
        ("refs/tags/relays/edge", "", ""),
    ],
)
def test_through_whom_it_came(ref: str, remote: str, relay: str) -> None:
    assert (remote_of(ref), relay_of(ref)) == (remote, relay)


@pytest.mark.parametrize(
    ("clusters", "allowed", "refused"),
    [
        ((), "", "a"),
        (("a", "b.c"), "a b.c", "ab b-c bxc"),
        (("eu-*", "*-test", "x*y*z"), "eu- eu-1.b a-test xyz x1y2z", "eu 1eu-1 a-test2 xz aeu-1"),
        (("*",), "a b.c", ""),
    ],
)
def test_a_mandate_is_of_names_and_patterns(clusters: tuple[str, ...], allowed: str, refused: str) -> None:
    mandate = Mandate(clusters)
    assert all(name in mandate for name in allowed.split())
    assert not any(name in mandate for name in refused.split())
