"""Agent refs: all read in one pass, and what a hostile one can do: nothing to the others."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.data.snapshot import DEFAULT_LIMITS, Skipped
from muster.git.agents.refs import MAX_DEPTH, agent_refs
from muster.git.repository import Repository, open_repository
from muster.git.snapshot import CommitSnapshot
from muster.git.store.paths import MAX_BLOB_BYTES
from tests.support.git import Repo, clone, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"main.yaml": "main: 1\n"})
    return made


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def read(repo: Repo) -> tuple[dict[str, bytes], tuple[Skipped, ...]]:
    """Return the content of the agents' files by their labels, and what was skipped."""
    repository = opened(repo)
    snapshot = CommitSnapshot(repository, repo.tip(), agent_refs(repository))
    files = {file.label: file.read() for file in snapshot.files()}
    assert files.pop("main.yaml") == b"main: 1\n"
    return files, snapshot.skipped


def test_reads_every_agents_files_after_the_commits(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/b", {"clusters/b/lease.yaml": "b: 1\n", "note.txt": "no"})
    repo.commit_to("refs/heads/agents/a", {"z.yaml": "z: 1\n", "a/lease.yaml": "a: 1\n"})
    repo.commit_to("refs/heads/agents/west-1.eu", {"lease.yaml": "w: 1\n"})
    files, skipped = read(repo)
    assert list(files.items()) == [
        ("agents/a:a/lease.yaml", b"a: 1\n"),
        ("agents/a:z.yaml", b"z: 1\n"),
        ("agents/b:clusters/b/lease.yaml", b"b: 1\n"),
        ("agents/west-1.eu:lease.yaml", b"w: 1\n"),
    ]
    assert skipped == ()


@pytest.mark.parametrize(
    ("name", "cluster", "reason"),
    [
        ("refs/heads/agents/prod-eu.1", "prod-eu.1", None),
        ("refs/remotes/origin/agents/us", "us", None),
        ("refs/heads/agents/eu/prod", "", "no-cluster"),
        ("refs/heads/agents/zz/agents/a", "", "no-cluster"),
        ("refs/remotes/origin/agents/zz/agents/a", "", "no-cluster"),
        ("refs/heads/agents/agents/a", "", "no-cluster"),
        ("refs/heads/agents/A", "", "no-cluster"),
        ("refs/heads/agents/a_b", "", "no-cluster"),
        ("refs/heads/agents/a-", "", "no-cluster"),
        ("refs/heads/agents/" + "a" * 200 + "." + "b" * 53, "", "no-cluster"),
        ("refs/heads/Agents/a", "", "misplaced"),
        ("refs/heads/team/agents/x", "", "misplaced"),
        ("refs/remotes/origin/team/agents/x", "", "misplaced"),
        ("refs/heads/origin/agents/a", "", "misplaced"),
    ],
)
def test_one_ref_speaks_for_one_cluster_and_any_other_name_for_none(
    repo: Repo, name: str, cluster: str, reason: str | None
) -> None:
    made = repo.git("commit-tree", "HEAD^{tree}", "-m", "x")
    (repo.path / ".git/packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{made} {name}\n")
    [ref] = agent_refs(opened(repo))
    assert (ref.name, ref.cluster) == (name, cluster)
    files, skipped = read(repo)
    assert [one.reason for one in skipped] == ([reason] if reason else [])
    assert list(files) == ([] if reason else [f"{ref.short}:main.yaml"])


def test_peoples_branches_are_nobodys_business(repo: Repo) -> None:
    for name in (
        "refs/heads/agents-of-chaos",
        "refs/remotes/agents/main",
        "refs/heads/fix/agents",
        "refs/tags/agents/a",
    ):
        repo.commit_to(name, {"a.yaml": ""})
    assert agent_refs(opened(repo)) == ()


@pytest.mark.parametrize(
    ("local", "remote", "chosen"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "origin/agents/a"),
        ("2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z", "agents/a"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "origin/agents/a"),
    ],
)
def test_of_two_refs_for_a_cluster_the_newer_speaks(repo: Repo, local: str, remote: str, chosen: str) -> None:
    repo.commit_to("refs/heads/agents/a", {"a.yaml": "local\n"}, date=local)
    repo.commit_to("refs/remotes/origin/agents/a", {"a.yaml": "remote\n"}, date=remote)
    assert [ref.short for ref in agent_refs(opened(repo))] == [chosen]


PRESENT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_date_in_the_future_shadows_nobody(repo: Repo) -> None:
    """A stranger's remote holds a branch of a's name, dated years ahead: a's own heartbeats go on counting."""
    repo.commit_to("refs/remotes/origin/agents/a", {"a.yaml": "own\n"}, date="2025-12-31T23:59:00Z")
    repo.commit_to("refs/remotes/other/agents/a", {"a.yaml": "forged\n"}, date="2031-01-01T00:00:00Z")
    chosen, refused = sorted(agent_refs(opened(repo), PRESENT), key=lambda ref: bool(ref.refused))
    assert chosen.short == "origin/agents/a"
    assert (refused.short, refused.refused) == ("other/agents/a", ("dated-ahead", "origin/agents/a"))
    # Once that instant has come it is a date like any other.
    assert [ref.short for ref in agent_refs(opened(repo), datetime(2031, 1, 1, tzinfo=UTC))] == ["other/agents/a"]


def test_a_clock_that_is_a_little_ahead_is_believed(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/a", {"a.yaml": "local\n"}, date="2026-01-01T00:04:59Z")
    repo.commit_to("refs/remotes/origin/agents/a", {"a.yaml": "remote\n"}, date="2026-01-01T00:00:00Z")
    assert [ref.short for ref in agent_refs(opened(repo), PRESENT)] == ["agents/a"]


def test_a_cluster_whose_only_ref_is_dated_ahead_is_still_heard(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/a", {"a.yaml": "local\n"}, date="2031-01-01T00:00:00Z")
    assert [(ref.short, ref.refused) for ref in agent_refs(opened(repo), PRESENT)] == [("agents/a", ())]


def test_reads_them_from_a_bare_repository_and_a_clone(repo: Repo, tmp_path: Path) -> None:
    repo.commit_to("refs/heads/agents/a", {"lease.yaml": "a: 1\n"})
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    assert read(bare)[0] == {"agents/a:lease.yaml": b"a: 1\n"}
    assert read(clone(repo, tmp_path / "clone"))[0] == {"origin/agents/a:lease.yaml": b"a: 1\n"}


def test_musterignore_of_main_says_nothing_about_agents(repo: Repo) -> None:
    repo.commit({".musterignore": "lease.yaml\n"})
    repo.commit_to("refs/heads/agents/a", {"lease.yaml": "a: 1\n", ".musterignore": "*.yaml\n"})
    assert read(repo)[0] == {"agents/a:lease.yaml": b"a: 1\n"}


@pytest.mark.parametrize(
    ("kind", "detail"),
    [("blob", "points at a blob, not at a commit"), ("tree", "points at a tree, not at a commit")],
)
def test_a_ref_that_points_at_no_commit_is_left_out(repo: Repo, kind: str, detail: str) -> None:
    repo.commit_to("refs/heads/agents/good", {"lease.yaml": "a: 1\n"})
    oid = repo.git("rev-parse", {"blob": "HEAD:main.yaml", "tree": "HEAD^{tree}"}[kind])
    (repo.path / ".git/refs/heads/agents/bad").write_text(f"{oid}\n")  # update-ref would refuse it
    files, [skipped] = read(repo)
    assert files == {"agents/good:lease.yaml": b"a: 1\n"}
    assert (skipped.ref, skipped.path, skipped.reason) == ("agents/bad", "", "unreadable")
    assert detail in skipped.detail


@pytest.mark.parametrize("content", ["garbage\n", "", "1" * 40 + "\n"])
def test_a_broken_ref_is_left_out(repo: Repo, content: str) -> None:
    repo.commit_to("refs/heads/agents/good", {"lease.yaml": "a: 1\n"})
    (repo.path / ".git/refs/heads/agents/bad").write_text(content)
    files, [skipped] = read(repo)
    assert files == {"agents/good:lease.yaml": b"a: 1\n"}
    assert (skipped.ref, skipped.reason) == ("agents/bad", "lost")


def test_a_ref_with_too_many_files_or_directories_is_left_out(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/good", {f"{n}.yaml": "a: 1\n" for n in range(DEFAULT_LIMITS.max_files)})
    repo.commit_to("refs/heads/agents/many", {f"{n}.yaml": "a: 1\n" for n in range(DEFAULT_LIMITS.max_files + 1)})
    repo.commit_to("refs/heads/agents/deep", {"d/" * (MAX_DEPTH + 1) + "a.yaml": "a: 1\n"})
    repo.commit_to("refs/heads/agents/fits", {"d/" * MAX_DEPTH + "a.yaml": "a: 1\n"})
    files, skipped = read(repo)
    assert {label.partition(":")[0] for label in files} == {"agents/good", "agents/fits"}
    assert [(one.ref, one.path, one.reason) for one in skipped] == [
        ("agents/deep", "", "over-limit"),
        ("agents/many", "", "over-limit"),
    ]


def test_a_tree_that_unfolds_without_end_is_left_out(repo: Repo) -> None:
    """A few objects that stand for 10 to the power of 12 files, each directory ten times the next."""
    tree = repo.git("mktree", stdin=b"100644 blob %b\ta.yaml\n" % repo.git("rev-parse", "HEAD:main.yaml").encode())
    for _ in range(12):
        entries = "".join(f"040000 tree {tree}\td{n}\n" for n in range(10))
        tree = repo.git("mktree", stdin=entries.encode())
    repo.git("update-ref", "refs/heads/agents/bomb", repo.git("commit-tree", tree, "-m", "x"))
    repo.commit_to("refs/heads/agents/good", {"lease.yaml": "a: 1\n"})
    files, [skipped] = read(repo)
    assert files == {"agents/good:lease.yaml": b"a: 1\n"}
    assert (skipped.ref, skipped.reason) == ("agents/bomb", "over-limit")


def test_files_that_cannot_be_read_cost_only_themselves(repo: Repo) -> None:
    tip = repo.commit_to(
        "refs/heads/agents/a",
        {"big.yaml": b"x" * (MAX_BLOB_BYTES + 1), "good.yaml": "a: 1\n", "lost.yaml": "gone\n", "new\nline.yaml": ""},
    )
    files, skipped = read(repo)
    assert files == {"agents/a:good.yaml": b"a: 1\n", "agents/a:lost.yaml": b"gone\n"}
    assert [(one.path, one.reason, one.ref) for one in skipped] == [
        ("big.yaml", "too-large", "agents/a"),
        ("new\\nline.yaml", "control-characters", "agents/a"),
    ]
    lost = repo.git("rev-parse", f"{tip}:lost.yaml")
    (repo.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    assert [(one.path, one.reason) for one in read(repo)[1]] == [("", "lost")]
    assert read(repo)[0] == {}, "half of what an agent said is not what it said"


def test_links_and_submodules_are_reported(repo: Repo) -> None:
    target = repo.git("hash-object", "-w", "--stdin", stdin=b"../../etc/passwd").encode()
    commit = repo.tip().encode()
    tree = repo.git("mktree", stdin=b"120000 blob %b\tl.yaml\n160000 commit %b\tsub\n" % (target, commit))
    repo.git("update-ref", "refs/heads/agents/a", repo.git("commit-tree", tree, "-m", "x"))
    assert read(repo) == (
        {},
        (
            Skipped("l.yaml", "symlink", "../../etc/passwd (outside the repository)", "agents/a"),
            Skipped("sub", "submodule", commit.decode(), "agents/a"),
        ),
    )


def test_a_malformed_tree_is_left_out(repo: Repo) -> None:
    repo.commit_to("refs/heads/agents/good", {"lease.yaml": "a: 1\n"})
    tree = repo.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=b"100644 no end")
    commit = f"tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n".encode()
    made = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=commit)
    (repo.path / ".git/refs/heads/agents/bad").write_text(f"{made}\n")
    files, [skipped] = read(repo)
    assert files == {"agents/good:lease.yaml": b"a: 1\n"}
    assert (skipped.ref, skipped.reason) == ("agents/bad", "unreadable")
