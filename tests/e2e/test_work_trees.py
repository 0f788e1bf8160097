"""Work trees whose files are not byte for byte what the repository holds: muster rests, and says what it will say."""

import shutil
from pathlib import Path

import pytest

from muster.git.store.restricted import TRUST
from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run, muster
from tests.support.git import Repo, add_worktree, clone, new_repository

__all__ = ["muster"]  # a fixture
NOW = ("--now", "2026-01-01T00:00:00Z")
LATER = ("--now", "2026-01-01T00:10:00Z")

#: What is set in git's configuration and in .gitattributes.
SETTINGS = {
    "autocrlf true": ({"core.autocrlf": "true"}, ""),
    "autocrlf and safecrlf": ({"core.autocrlf": "true", "core.safecrlf": "true"}, "* text=auto\n"),
    "autocrlf input": ({"core.autocrlf": "input"}, ""),
    "text=auto, eol crlf": ({"core.eol": "crlf"}, "* text=auto\n"),
    "eol=crlf": ({}, "*.yaml text eol=crlf\n"),
    "UTF-16": ({}, "*.yaml text working-tree-encoding=UTF-16LE-BOM eol=crlf\n"),
    "a filter": ({"filter.rot.clean": "tr a-z n-za-m", "filter.rot.smudge": "tr n-za-m a-z"}, "d*.yaml filter=rot\n"),
    "an absent filter": ({}, "*.yaml filter=lfs diff=lfs merge=lfs\n"),
    #: With these, files stay byte for byte what they are: what is laid down against the others is no matter.
    "the same bytes": (
        {"core.fileMode": "false", "core.ignoreCase": "true", "core.quotePath": "true"},
        "*.yaml ident\n* export-ignore\n",
    ),
}


def settled(muster: Run, repo: Repo, now: tuple[str, str]) -> str:
    """Reconcile until rest, which comes at once, in the commit and in the work tree; return what was done."""
    code, out, err = muster("reconcile", "--repo", repo.path, *now)
    assert (code, err) == (0, "")
    assert muster("reconcile", "--repo", repo.path, *now)[1] == "nothing to do\n"
    rests(muster, repo, now)
    return out


def rests(muster: Run, repo: Repo, now: tuple[str, str]) -> None:
    for source in ((), ("--worktree",)):
        code, out, err = muster("plan", *source, "--exit-code", "--repo", repo.path, *now)
        assert (code, err) == (0, ""), out
    assert repo.status() == []


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters are configured in the repository itself here."""
    monkeypatch.setenv(TRUST, "1")


def checked_out_anew(repo: Repo) -> None:
    """As after a clone: every file comes through git's conversions."""
    for path in repo.path.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    repo.git("checkout", "--quiet", "--force", "HEAD", "--", ".")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "laid_down"),
    [
        pytest.param(name, laid_down, id=f"{name}-{'with derived/.gitattributes' if laid_down else 'bare'}")
        for name in SETTINGS
        for laid_down in (False, True)
        if not laid_down or name != "the same bytes"
    ],
)
def test_a_checkout_rests(tmp_path: Path, muster: Run, name: str, *, laid_down: bool) -> None:
    settings, attributes = SETTINGS[name]
    repo = new_repository(tmp_path / "fleet")
    if laid_down:
        assert muster("init", repo.path)[0] == 0
    repo.commit({"clusters/é/b.yaml": cluster("b")})
    repo.write(".gitattributes", attributes)
    repo.git("add", ".gitattributes")
    repo.git("commit", "--quiet", "--message", "Attributes")
    for key, value in settings.items():
        repo.git("config", key, value)
    checked_out_anew(repo)
    settled(muster, repo, NOW)
    checked_out_anew(repo)
    rests(muster, repo, NOW)
    assert "Unknown" in settled(muster, repo, LATER)
    checked_out_anew(repo)
    rests(muster, repo, LATER)
    repo.git("rm", "--quiet", "clusters/é/b.yaml")
    repo.git("commit", "--quiet", "--message", "Remove")
    settled(muster, repo, LATER)
    assert "derived/managedclusters/b.yaml" not in repo.paths()


def test_a_work_tree_says_what_its_commit_will_say(tmp_path: Path, muster: Run) -> None:
    """A file in UTF-16 is no YAML to read, and is to git what its commit holds."""
    repo = new_repository(tmp_path / "fleet")
    repo.git("config", "core.autocrlf", "true")
    repo.commit({".gitattributes": "a.yaml working-tree-encoding=UTF-16\n"})
    repo.write("a.yaml", cluster("a").encode("utf-16"))
    repo.write("b.yaml", cluster("b").replace("\n", "\r\n").encode())
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, out) == (0, "2 objects, no findings\n")
    before = muster("plan", "--worktree", "--repo", repo.path, *NOW)
    repo.git("add", "--all")
    assert muster("validate", "--staged", "--repo", repo.path)[0] == 0
    repo.commit()
    assert muster("plan", "--repo", repo.path, *NOW) == before


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1\n"


@pytest.mark.parametrize("content", [LFS.format("ab" * 32).encode(), b"\0GITCRYPT\0\x01\x02\xff"])
def test_what_a_filter_keeps_elsewhere_is_not_taken_for_gone(tmp_path: Path, muster: Run, content: bytes) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a"), "b.yaml": cluster("b")})
    settled(muster, repo, NOW)
    repo.commit({"a.yaml": content})
    code, out, err = muster("reconcile", "--repo", repo.path, *NOW)
    assert (code, out) == (1, "nothing to do\n")
    assert "a.yaml:1:1: error MUS130" in err


def test_the_work_tree_is_seen_through_the_filter(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    pointer = tmp_path / "pointer"
    pointer.write_text(LFS.format("ab" * 32))
    repo.git("config", "filter.store.clean", f"cat > /dev/null; cat '{pointer}'")
    repo.write(".gitattributes", "a.yaml filter=store\n")
    repo.write("a.yaml", cluster("a"))
    assert "a.yaml:1:1: error MUS130" in muster("validate", "--repo", repo.path)[1]


def test_a_filter_on_derived_files_is_named(tmp_path: Path, muster: Run) -> None:
    """One that does not give back what it was given, as LFS's does: git then takes every file for edited."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": cluster("a"), ".gitattributes": "derived/** filter=lossy\n"})
    repo.git("config", "filter.lossy.clean", "echo pointer")
    assert muster("reconcile", "--repo", repo.path, *NOW)[0] == 0
    (repo.path / "derived/managedclusters/a.yaml").touch()  # so that git looks again
    assert " M derived/managedclusters/a.yaml" in repo.status()
    code, _, err = muster("reconcile", "--repo", repo.path, *LATER)
    assert code == 4
    assert "the git filter lossy changes these files" in err
    repo.write("derived/.gitattributes", "* -text -filter -ident !working-tree-encoding\n")
    repo.commit()
    assert "Unknown" in settled(muster, repo, LATER)


def test_a_filter_that_fails_leaves_its_file_unread(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"b.yaml": cluster("b"), "c.yaml": cluster("c")})
    repo.git("config", "filter.bad.clean", "false")
    repo.git("config", "filter.bad.required", "true")
    repo.write(".gitattributes", "[ab].yaml filter=bad\n")
    repo.write("a.yaml", cluster("a"))
    _, out, _ = muster("validate", "--repo", repo.path)
    assert [line.partition(":")[0] for line in out.splitlines() if "clean filter 'bad' failed" in line] == [
        "a.yaml",
        "b.yaml",
    ]


@pytest.mark.parametrize("cone", [True, False])
def test_a_sparse_checkout_hides_no_cluster(tmp_path: Path, muster: Run, *, cone: bool) -> None:
    origin = new_repository(tmp_path / "origin")
    origin.commit(
        {
            "clusters/a/a.yaml": cluster("a"),
            "clusters/b/b.yaml": cluster("b"),
            ".musterignore": "x/\n",
            "x/broken.yaml": "apiVersion: [\nkind: x\n",
        }
    )
    settled(muster, origin, NOW)
    repo = clone(origin, tmp_path / "sparse", "--no-checkout")
    repo.git("sparse-checkout", "set", *(["--cone", "clusters/a"] if cone else ["--no-cone", "/clusters/a/"]))
    repo.git("checkout", "--quiet", "main")
    assert not (repo.path / "clusters/b").exists()
    assert not (repo.path / "derived").exists()
    rests(muster, repo, NOW)
    assert "Unknown" in settled(muster, repo, LATER)
    assert "derived/managedclusters/b.yaml" in repo.paths()
    (repo.path / "clusters/a/a.yaml").unlink()  # that is a removal
    assert "ManagedCluster/a" in muster("plan", "--worktree", "--repo", repo.path, *LATER)[1]


def test_linked_work_trees_and_submodules(tmp_path: Path, muster: Run) -> None:
    origin = new_repository(tmp_path / "origin")
    origin.commit({".gitattributes": "* text=auto eol=crlf\n", "clusters/a/a.yaml": cluster("a")})
    settled(muster, origin, NOW)
    linked = add_worktree(origin, tmp_path / "linked", "other")
    assert "Unknown" in settled(muster, linked, LATER)
    outer = new_repository(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(origin.path), "fleets/one")
    inner = Repo(outer.path / "fleets/one", outer.environ)
    assert inner.git("branch", "--show-current") == "main"
    rests(muster, inner, NOW)
    assert "Unknown" in settled(muster, inner, LATER)


def test_a_fleet_in_a_folder_is_read_as_git_would_store_it(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "mono")
    repo.commit({".gitattributes": "fleet/a.yaml working-tree-encoding=UTF-16\n", "fleet/fleet.yaml": ""})
    repo.write("fleet/a.yaml", cluster("a").encode("utf-16"))
    repo.write('fleet/"b.yaml', cluster("b").replace("\n", "\r\n"))
    code, out, _ = muster("validate", "--repo", repo.path / "fleet")
    assert (code, out) == (0, "2 objects, no findings\n")
