"""Groups of people: who counts as a member when a policy reads `request.userInfo.groups`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {groups: {shop: [%s]}}\n"
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tenants}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [placements, settings]}]
  validations:
  - expression: files.all(f, f.startsWith('shop/'))
    messageExpression: "'path ' + files.join(' ')"
  - expression: "'shop' in request.userInfo.groups"
    messageExpression: "request.operation + ' by ' + request.userInfo.username"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tenants}
spec: {policyName: tenants, validationActions: [Deny]}
"""
PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: %s, namespace: shop, labels: {a: b}}
spec: {}
"""
FOREIGN = "apiVersion: example.com/v1\nkind: Setting\nmetadata: {name: %s, namespace: shop}\n"


def refusals(muster: Run, repo: Repo, *options: str) -> list[str]:
    out = muster("validate", "--repo", repo.path, *options)[1]
    return [line.partition("MUS320: ")[2] for line in out.splitlines() if "MUS320" in line]


def commit(repo: Repo, files: dict[str, str], mail: str, *options: str) -> None:
    other = repo.with_environ(GIT_AUTHOR_EMAIL=mail)
    for path, text in files.items():
        other.write(path, text)
    other.git("add", "--all")
    other.git(*options, "commit", "--quiet", "--message", "x")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    sound = {"shop/a.yaml": PLACEMENT % "a", "shop/b.yaml": FOREIGN % "b"}
    commit(repo, {"fleet.yaml": FLEET % "sam@example.com", "policy.yaml": POLICY, **sound}, "sam@example.com")
    repo.git("switch", "--quiet", "--create", "side")
    return repo


def test_no_change_puts_its_author_into_a_group(repo: Repo, muster: Run) -> None:
    base = "--rev", "HEAD", "--base", "main"
    text = FLEET % "sam@example.com, eve@example.com"
    commit(repo, {"fleet.yaml": text}, "sam@example.com")
    commit(repo, {"shop/new.yaml": PLACEMENT % "new", "shop/b.yaml": FOREIGN % "b\n"}, "eve@example.com")
    refused = ["UPDATE by eve@example.com", "CREATE by eve@example.com"]
    assert refusals(muster, repo, *base) == refused
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "side")
    assert refusals(muster, repo, "--rev", "HEAD") == refused, (
        "a merge commit is checked with its first parent's groups"
    )
    repo.git("commit", "--quiet", "--allow-empty", "--message", "y")
    assert refusals(muster, repo, "--rev", "HEAD") == [], "what was merged is in force"


def test_removals_and_files_elsewhere(repo: Repo, muster: Run) -> None:
    repo.git("rm", "--quiet", "shop/a.yaml")
    commit(repo, {"shop/b.yaml": FOREIGN % "b", "bank/a.yaml": PLACEMENT % "c"}, "eve@example.com")
    assert refusals(muster, repo, "--rev", "HEAD", "--base", "main") == [
        "CREATE by eve@example.com",
        "path bank/a.yaml",
        "Placement/shop/a cannot be removed: DELETE by eve@example.com",
    ]


@pytest.mark.parametrize("mail", ["Sam@example.com", "ѕam@example.com", "sam@example.com.evil", ""])
def test_nobody_who_is_called_alike_is_a_member(repo: Repo, muster: Run, mail: str) -> None:
    commit(repo, {"shop/a.yaml": f"{PLACEMENT % 'a'}# 2\n"}, mail)
    assert [line.partition(" by")[0] for line in refusals(muster, repo, "--rev", "HEAD")] == ["UPDATE"]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="git signs with ssh-keygen")
def test_with_a_key_a_commit_counts_only_if_it_is_signed(
    repo: Repo, muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("switch", "--quiet", "main")
    for name in ("sam", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    key = (tmp_path / "sam.pub").read_text().strip()
    commit(repo, {"fleet.yaml": FLEET % f"sam@example.com {key}"}, "sam@example.com")
    signed = ["-c", "gpg.format=ssh", "-c", "commit.gpgSign=true", "-c"]
    for number, (mail, options, sound) in enumerate(
        (
            ("sam@example.com", (), False),
            ("sam@example.com", (*signed, f"user.signingKey={tmp_path / 'eve'}"), False),
            ("eve@example.com", (*signed, f"user.signingKey={tmp_path / 'sam'}"), False),
            ("sam@example.com", (*signed, f"user.signingKey={tmp_path / 'sam'}"), True),
        )
    ):
        files = {"shop/a.yaml": f"{PLACEMENT % 'a'}# {number}\n", "shop/b.yaml": f"{FOREIGN % 'b'}# {number}\n"}
        commit(repo, files, mail, *options)
        assert refusals(muster, repo, "--rev", "HEAD") == ([] if sound else [f"UPDATE by {mail}"] * 2), number
    repo.write("shop/a.yaml", PLACEMENT % "a")
    for mail, refused in (("sam@example.com", []), ("eve@example.com", ["UPDATE by eve@example.com"])):
        monkeypatch.setenv("GIT_AUTHOR_EMAIL", mail)
        assert refusals(muster, repo) == refused, "what is not committed has no signature yet"
