"""What a repository can contain on purpose: each is a finding, and the rest of the fleet is decided."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import Repo, new_repository

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 10))

HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "alias bomb": ("bomb.yaml", ("apiVersion: v1\nkind: X\n" + BOMB).encode(), "MUS004"),
    "200,000 brackets": ("deep.yaml", b"apiVersion: v1\nkind: X\na: " + b"[" * 200_000, "MUS005"),
    "Latin-1": ("latin1.yaml", "apiVersion: v1\nkind: X\nname: Zürich\n".encode("latin-1"), "MUS006"),
    "control character": ("bell.yaml", b"apiVersion: v1\nkind: X\nname: \x07\n", "MUS007"),
    "50 MB": ("large.yaml", b"apiVersion: v1\nkind: X\n#" + b"x" * 50_000_000, "MUS022"),
    "200,001 values": ("many.yaml", b"apiVersion: v1\nkind: X\na: [" + b"1," * 200_000 + b"]\n", "MUS008"),
    "a list as a key": ("key.yaml", b"apiVersion: v1\nkind: X\n? [a, b]\n: c\n", "MUS012"),
    "python tag": ("tag.yaml", b"apiVersion: v1\nkind: !!python/object:os.system X\n", "MUS011"),
    "not a mapping": ("list.yaml", b"- apiVersion: v1\n  kind: X\n", "MUS009"),
    "5,000 digits": ("digits.yaml", b"apiVersion: v1\nkind: X\na: " + b"9" * 5_000, "MUS010"),
    "name is a path": (
        "path.yaml",
        b"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: ../../etc/passwd}\n",
        "MUS205",
    ),
    "kind is a list": ("kind.yaml", b"apiVersion: muster.dev/v1alpha1\nkind: [Fleet]\nmetadata: {name: x}\n", "MUS103"),
    "no name": ("noname.yaml", b"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: 5\n", "MUS103"),
    "path with newline and quotes": (
        "clusters/a \"b\"\n'c'.yaml",
        b"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: x}\nspec: {nope: 1}\n",
        "MUS021",
    ),
}


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "directory"])
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_file(name: str, committed: bool, tmp_path: Path) -> None:
    path, data, code = HOSTILE[name]
    repo = new_repository(tmp_path / "fleet")
    repo.write(path, data)
    repo.write("clusters/good.yaml", cluster("good"))
    if committed:
        repo.commit()
    run = muster.evaluate(repo.path, NOW, "HEAD" if committed else None)
    assert code in {found.code for found in run.findings}
    assert len({found.file for found in run.findings}) == 1
    assert "derived/managedclusters/good.yaml" in run.files


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "directory"])
def test_a_symbolic_link_that_leaves_the_repository_is_not_followed(committed: bool, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(cluster("secret"))
    repo = new_repository(tmp_path / "fleet")
    repo.write("clusters/good.yaml", cluster("good"))
    (repo.path / "link.yaml").symlink_to("../secret.yaml")
    if committed:
        repo.commit()
    run = muster.evaluate(repo.path, NOW, "HEAD" if committed else None)
    assert [(found.code, found.file) for found in run.findings] == [("MUS020", "link.yaml")]
    assert [body["metadata"]["name"] for body in run.objects if body["kind"] == "ManagedCluster"] == ["good"]


def test_a_policy_cannot_hang_a_run(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    loops = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))".replace("self.l", "params.l")
    repo.write("clusters/good.yaml", cluster("good"))
    repo.write(
        "policy.yaml",
        "apiVersion: muster.dev/v1alpha1\nkind: ConditionPolicy\nmetadata: {name: slow}\nspec:\n"
        "  target: {kind: ManagedCluster}\n  type: example.com/Slow\n"
        f"  params: {{l: [{', '.join(['1'] * 1000)}]}}\n"
        f"  rules: [{{name: r, when: '{loops}', status: \"True\", reason: R, message: m}}]\n",
    )
    run = muster.evaluate(repo.path, NOW)
    assert {found.code for found in run.findings} <= {"MUS304", "MUS305", "MUS401"}
    assert run.findings
    assert "derived/managedclusters/good.yaml" in run.files


def test_file_order_and_folders_do_not_matter(tmp_path: Path) -> None:
    texts = {name: cluster(name) for name in ("a", "b", "c")}
    one = _laid(tmp_path / "one", {f"clusters/{name}/cluster.yaml": text for name, text in texts.items()})
    other = _laid(tmp_path / "other", {"z.yaml": "---\n".join(texts[name] for name in ("c", "a", "b"))})
    assert muster.evaluate(one.path, NOW).files == muster.evaluate(other.path, NOW).files


def _laid(path: Path, files: dict[str, str]) -> Repo:
    repo = new_repository(path)
    for name, text in files.items():
        repo.write(name, text)
    return repo
