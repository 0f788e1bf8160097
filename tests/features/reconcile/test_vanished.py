"""A slip removes nothing: in a repository, its work tree, the index of the hook, a bare clone, and without git.

Each slip spoils one file of a fleet that stands. The hook and `validate` refuse it, `reconcile` keeps what was, run
after run; deleting the file is what removes the object.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.commandline import Make, Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"


OCM = "cluster.open-cluster-management.io"


def cluster(name: str, *, kind: str = "ManagedCluster", group: str = OCM) -> str:
    """A cluster with its lease, available; the DNS of `a` is broken."""
    return f"""\
apiVersion: {group}/v1
kind: {kind}
metadata: {{name: {name}, labels: {{tier: gold}}}}
spec: {{hubAcceptsClient: true}}
status:
  conditions:
  - {{type: ManagedClusterConditionAvailable, status: "True", reason: R, message: m}}
  - {{type: DnsReady, status: "{name != "a"}", reason: R, message: m}}
"""


def lease(name: str) -> str:
    """What the cluster's agent writes, in a file of its own: it is heard whatever becomes of the cluster's file."""
    return f"""\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {name}}}
spec: {{renewTime: "{NOW}"}}
"""


REMEDY = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns-down}
spec:
  decisionMatches:
  - clusterConditionMatch: {conditionType: DnsReady, operator: Equal, conditionStatus: "False"}
  actions: [TrafficControl]
"""
PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: shop}
spec:
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {tier: gold}}}}]
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: shop}
spec: {clusterSet: global}
"""
FOREIGN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: x}\n"
FLEET = {
    "clusters/a.yaml": cluster("a"),
    "more.yaml": cluster("b") + "---\n" + cluster("c"),
    "leases.yaml": "---\n".join(map(lease, "abc")),
    "remedies/dns.yaml": REMEDY,
    "placements/web.yaml": PLACEMENT,
    "elsewhere/deployment.yaml": FOREIGN,
    "elsewhere/values.yaml": "replicas: 3\n",
}
Edit = Mapping[str, str | None]

SLIPS: Mapping[str, tuple[Edit, str]] = {
    "a misspelt kind": ({"clusters/a.yaml": cluster("a", kind="ManagedClustr")}, "did you mean 'ManagedCluster'?"),
    "a kind in another case": (
        {"clusters/a.yaml": cluster("a", kind="Managedcluster")},
        "did you mean 'ManagedCluster'?",
    ),
    "a misspelt group": (
        {"clusters/a.yaml": cluster("a", group="cluster.open-cluster-managment.io")},
        "did you mean apiVersion: cluster.open-cluster-management.io/v1?",
    ),
    "a group without its first part": (
        {"clusters/a.yaml": cluster("a", group="open-cluster-management.io")},
        "did you mean apiVersion",
    ),
    "no group": (
        {"clusters/a.yaml": cluster("a").replace(f"{OCM}/v1", "v1", 1)},
        "did you mean apiVersion",
    ),
    "kind and group misspelt": (
        {"clusters/a.yaml": cluster("a", kind="ManagedClustr", group="cluster.open-cluster-managment.io")},
        "did you mean 'ManagedCluster' of cluster.open-cluster-management.io/v1?",
    ),
    "no kind line": ({"clusters/a.yaml": cluster("a").replace("kind: ManagedCluster\n", "")}, "add its kind"),
    "a misspelt key": ({"clusters/a.yaml": cluster("a").replace("kind: M", "knd: M")}, "is it written as 'knd'?"),
    "no apiVersion line": ({"clusters/a.yaml": cluster("a").partition("\n")[2]}, "add `apiVersion: cluster.open"),
    "neither": ({"clusters/a.yaml": cluster("a").partition("ManagedCluster\n")[2]}, "neither apiVersion nor kind"),
    "an empty file": ({"clusters/a.yaml": ""}, "it is empty now"),
    "a file of comments": ({"clusters/a.yaml": "# " + cluster("a").replace("\n", "\n# ")}, "it is empty now"),
    "an empty list": ({"clusters/a.yaml": "apiVersion: v1\nkind: List\nitems: []\n"}, "it is empty now"),
    "a file of two emptied": ({"more.yaml": "---\n"}, "held ManagedCluster/b, ManagedCluster/c"),
    "truncated in the first line": ({"clusters/a.yaml": cluster("a")[:27]}, "MUS1"),
    "truncated in the kind": ({"clusters/a.yaml": cluster("a")[:62]}, "clusters/a.yaml"),
    "truncated in the name": ({"clusters/a.yaml": cluster("a").partition(" a,")[0]}, "clusters/a.yaml"),
    "truncated in the second of two": ({"more.yaml": (FLEET["more.yaml"])[:-20]}, "more.yaml"),
    "another program's object": ({"clusters/a.yaml": FOREIGN}, "no object of a known kind"),
    "another program's file": ({"clusters/a.yaml": "replicas: 3\n"}, "no object of a known kind"),
    "another's in the place of one of two": ({"more.yaml": cluster("b") + "---\n" + FOREIGN}, "held ManagedCluster/c"),
    "not YAML at all": ({"clusters/a.yaml": "oops\n"}, "clusters/a.yaml"),
    "a misspelt ending": (
        {"clusters/a.yaml": None, "clusters/a.ymal": cluster("a")},
        "the name ends in '.ymal', so the file is not read, and it holds ManagedCluster/a",
    ),
    "an ending in capitals": ({"clusters/a.yaml": None, "A.YAML": cluster("a")}, "rename it to A.yaml, or name it"),
    "a blank behind the ending": ({"more.yaml": None, "more.yaml ": FLEET["more.yaml"]}, "ManagedCluster/b, Managed"),
    "a misspelt ending of what cannot be read": (
        {"clusters/a.yaml": None, "clusters/a.ymal": cluster("a").replace("spec: {", "spec: {{")},
        "MUS023",
    ),
    "too large": ({"clusters/a.yaml": cluster("a") + "# x\n" * 300_000}, "too large to read"),
    "ignored": ({".musterignore": "clusters/\n"}, "`.musterignore` names it now"),
    "a Remedy emptied": ({"remedies/dns.yaml": ""}, "held Remedy/dns-down"),
    "a Remedy misspelt": ({"remedies/dns.yaml": REMEDY.replace("Remedy", "Remdy")}, "did you mean 'Remedy'?"),
    "a Placement emptied": ({"placements/web.yaml": "# gone\n"}, "Placement/shop/web"),
    "a Placement misspelt": (
        {"placements/web.yaml": PLACEMENT.replace("Placement", "Placemnt")},
        "did you mean 'Placement'?",
    ),
    "a name that cannot be": ({"clusters/a.yaml": cluster("../a")}, "is not a valid name"),
}

MOVES: Mapping[str, Edit] = {
    "renamed": {"clusters/a.yaml": None, "eu/clusters/a/cluster.yaml": FLEET["clusters/a.yaml"]},
    "split": {"more.yaml": cluster("b"), "c.yaml": cluster("c")},
    "joined": {"clusters/a.yaml": None, "more.yaml": FLEET["more.yaml"] + "---\n" + cluster("a")},
    "moved, and the old file left empty": {"clusters/a.yaml": "", "a.yaml": cluster("a")},
    "unwrapped": {
        "clusters/a.yaml": None,
        "list.json": '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": '
        '"cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": "a", "labels": '
        '{"tier": "gold"}}, "spec": {"hubAcceptsClient": true}, "status": {"conditions": [{"type": '
        '"ManagedClusterConditionAvailable", "status": "True", "reason": "R", "message": "m"}, {"type": "DnsReady", '
        '"status": "False", "reason": "R", "message": "m"}]}}]}\n',
    },
    "the top folder renamed": {"clusters/a.yaml": None, "fleet/a.yaml": FLEET["clusters/a.yaml"]},
    "another program's files edited": {"elsewhere/deployment.yaml": FOREIGN + "spec: {}\n"},
}

REMOVALS: Mapping[str, Edit] = {
    "the file deleted": {"clusters/a.yaml": None},
    "the document deleted": {"more.yaml": cluster("b")},
    "another name in its place": {"clusters/a.yaml": cluster("renamed")},
    "deleted beside another program's files": {"clusters/a.yaml": None, "elsewhere/values.yaml": "replicas: 4\n"},
}


@pytest.fixture
def repo(tmp_path: Path, muster: Run, once: Callable[[Path, Make], Repo]) -> Repo:
    def make(path: Path) -> Repo:
        repo = new_repository(path)
        repo.commit(dict(FLEET))
        code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
        assert code == 0, f"{out}{err}"
        assert "derived/managedclusters/c.yaml" in repo.git("ls-files")
        return repo

    return once(tmp_path / "fleet", make)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_an_error_and_removes_nothing(name: str, repo: Repo, muster: Run, tmp_path: Path) -> None:
    edit, told = SLIPS[name]
    stood = repo.git("rev-parse", "HEAD:derived")
    for path, text in edit.items():
        repo.write(path, text)
    code, out, _ = muster("validate", "--repo", repo.path)
    assert code == 1, f"the work tree: {out}"
    assert told in out
    code, out, err = muster("plan", "--worktree", "--repo", repo.path, "--now", NOW)
    assert code == 1
    assert "Nothing to do." in out
    repo.git("add", "--all")
    code, out, _ = muster("validate", "--staged", "--touched", "--repo", repo.path)
    assert code == 1, f"the hook: {out}"
    assert told in out
    repo.commit({})
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    for place in (repo.path, bare):
        code, out, err = muster("reconcile", "--repo", place, "--now", NOW)
        assert (code, told in err) == (1, True), f"{place}: {out}{err}"
        assert out.startswith("nothing to do")
    assert repo.git("rev-parse", "HEAD:derived") == stood


def test_a_file_that_lost_its_object_is_named_with_what_it_held(repo: Repo, muster: Run) -> None:
    repo.commit({"clusters/a.yaml": ""})
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "MUS110: the file held ManagedCluster/a, and it is empty now" in err) == (1, True), err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(SLIPS.keys() - {"ignored"}))
def test_a_slip_stays_one_when_other_things_change(name: str, repo: Repo, muster: Run) -> None:
    """Runs that commit something else in between are compared with the last one that found every file whole."""
    edit, told = SLIPS[name]
    repo.commit(dict(edit))
    stood = set(repo.git("ls-files", "derived").splitlines())
    for number in range(3):
        repo.commit({f"new{number}.yaml": cluster(f"new{number}")})
        code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
        assert (code, told in err) == (1, True), f"{out}{err}"
        assert "removed" not in out
    assert stood < set(repo.git("ls-files", "derived").splitlines())
    repo.commit({path: FLEET.get(path) for path in edit})
    code, _, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "error" in err) == (0, False)
    assert stood < set(repo.git("ls-files", "derived").splitlines())


NAMELESS = "kind: ManagedCluster\napiVersion: cluster.open-cluster-management.io/v1\nmetadata: {nme: e}\n"
UNCLEAR: Mapping[str, Edit] = {
    **{
        name: SLIPS[name][0]
        for name in ("truncated in the first line", "truncated in the name", "not YAML at all", "a name that cannot be")
    },
    "a new file that names nothing": {"clusters/e.yaml": NAMELESS},
    "moved to a file that names nothing": {"clusters/a.yaml": None, "clusters/e.yaml": NAMELESS},
    "encrypted": {"clusters/a.yaml": "\0GITCRYPT\0...\n"},
    "too large": SLIPS["too large"][0],
    "a new file that is too large": {"clusters/e.yaml": cluster("e") + "# x\n" * 300_000},
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_file_that_names_nothing_holds_up_nobody_else(name: str, repo: Repo, muster: Run) -> None:
    """Taints, and remedies, of all other clusters follow their conditions meanwhile."""
    down = (
        cluster("d")
        .replace('True", reason', 'False", reason')
        .replace('DnsReady, status: "True"', "DnsReady, status: 'False'")
    )
    repo.commit({"clusters/d.yaml": down, "d-lease.yaml": lease("d")})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    stood = repo.git("show", "HEAD:derived/managedclusters/d.yaml")
    assert "unavailable" in stood
    assert "TrafficControl" in stood
    a, b = (repo.git("rev-parse", f"HEAD:derived/managedclusters/{x}.yaml") for x in "ab")
    repo.commit({**UNCLEAR[name], "clusters/d.yaml": cluster("d")})
    code, out, _ = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "d available" in out) == (1, True)
    now = repo.git("show", "HEAD:derived/managedclusters/d.yaml")
    assert ("unavailable" in now, "TrafficControl" in now) == (False, False)
    assert [repo.git("rev-parse", f"HEAD:derived/managedclusters/{x}.yaml") for x in "ab"] == [a, b]


@pytest.mark.parametrize("name", MOVES)
def test_what_is_moved_is_not_missed(name: str, repo: Repo, muster: Run) -> None:
    repo.commit(dict(MOVES[name]))
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, out.splitlines()[0], "error" in err) == (0, "nothing to do", False), err


@pytest.mark.parametrize("name", REMOVALS)
def test_deleting_it_removes_it(name: str, repo: Repo, muster: Run) -> None:
    gone = "c" if "more.yaml" in REMOVALS[name] else "a"
    repo.commit(dict(REMOVALS[name]))
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, f"{gone} removed" in out, "error" in err) == (0, True, False), f"{out}{err}"
    assert f"derived/managedclusters/{gone}.yaml" not in repo.git("ls-files")


def test_a_slip_ends_when_the_file_is_deleted(repo: Repo, muster: Run) -> None:
    repo.commit({"clusters/a.yaml": "", "more.yaml": FOREIGN})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 1
    repo.commit({"clusters/a.yaml": None, "new.yaml": cluster("new")})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "a removed" in out) == (1, True)
    assert "more.yaml" in err
    assert repo.git("ls-files", "derived/managedclusters").count("/b.yaml") == 1


def test_a_link_or_a_submodule_in_the_place_of_a_folder(repo: Repo, muster: Run) -> None:
    shutil.move(repo.path / "clusters", repo.path / ".elsewhere")
    (repo.path / "clusters").symlink_to(".elsewhere")
    repo.git("add", "--all")
    repo.commit({})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, out.splitlines()[0]) == (1, "nothing to do")
    assert "it is a symbolic link now" in err


PLAIN = sorted(
    SLIPS.keys()
    - {
        "a file of two emptied",
        "another's in the place of one of two",
        "truncated in the second of two",
    }
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PLAIN)
def test_without_a_history_the_file_is_known_by_its_name(name: str, repo: Repo, muster: Run, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(repo.path, plain, ignore=shutil.ignore_patterns(".git"))
    edit, _ = SLIPS[name]
    for path, text in edit.items():
        (plain / path).write_text(text or "", encoding="utf-8")
    code, out, err = muster("plan", "--worktree", "--repo", plain, "--now", NOW)
    assert (code, "Nothing to do." in out) == (1, True), f"{out}{err}"


def test_without_a_history_an_empty_file_may_have_held_anything(repo: Repo, muster: Run, tmp_path: Path) -> None:
    """As in the checkout of a job that fetches one commit."""
    repo.commit({"more.yaml": ""})
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    code, out, err = muster("reconcile", "--repo", tmp_path / "shallow", "--now", NOW)
    assert (code, out.splitlines()[0]) == (1, "nothing to do")
    assert "the file may have held ManagedCluster/b, ManagedCluster/c" in err


@pytest.mark.parametrize(
    "document",
    [
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n",
        "apiVersion: policy.open-cluster-management.io/v1\nkind: PlacementBinding\nmetadata: {name: web}\n",
        "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: ClusterClaim\nmetadata: {name: id}\n",
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: a}\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
        "kind: Cluster\nnodes: [{role: control-plane}]\n",
        "apiVersion: v2\nname: chart\n",
        "metadata: {name: a}\nreplicas: 3\n",
    ],
)
def test_what_is_another_programs_is_no_slip(document: str, repo: Repo, muster: Run) -> None:
    repo.commit({"elsewhere/other.yaml": document})
    code, out, _ = muster("validate", "--repo", repo.path)
    assert (code, "error" in out) == (0, False), out


REQUEST = f"apiVersion: {OCM}/v1\nkind: ManagedCluster\nmetadata: {{name: a}}\nspec: {{hubAcceptsClient: false}}\n"


@pytest.mark.parametrize(
    "name", ["a misspelt kind", "no kind line", "an empty file", "another program's object", "ignored"]
)
def test_what_an_agent_asked_for_does_not_take_the_place_of_the_file(name: str, repo: Repo, muster: Run) -> None:
    """Its branch still holds the request to join: that declares no cluster that people have let in and now lost."""
    repo.commit_to("refs/heads/agents/a", {"cluster.yaml": REQUEST})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    repo.commit(dict(SLIPS[name][0]))
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, SLIPS[name][1] in err, "denied" in out) == (1, True, False), f"{out}{err}"
    _, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", NOW)
    assert out.splitlines()[1].split()[:3] == ["a", "yes", "True"]


TAINTS = """\
apiVersion: muster.dev/v1alpha1
kind: TaintPolicy
metadata: {name: managed-cluster-builtin-taints}
spec:
  target: {kind: ManagedCluster}
  taints:
  - {key: example.com/dns, effect: NoSelect, when: "status(reported, 'DnsReady') == 'False'"}
"""


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("muster.dev/v1alpha1", "TaintPolicie"),
        ("muster.dev/v1alpha1", "Taintpolicy"),
        ("muster.dv/v1", "TaintPolicy"),
    ],
)
def test_what_stays_as_it_is_is_shown_as_what_it_was_meant_to_be(
    version: str, kind: str, repo: Repo, muster: Run
) -> None:
    """Also where nothing was derived of it that would say its kind."""
    meant = "apiVersion: muster.dev/v1alpha1\nkind: TaintPolicy\n"
    assert meant in TAINTS
    repo.commit({"policies/taints.yaml": TAINTS.replace(meant, f"apiVersion: {version}\nkind: {kind}\n")})
    _, out, err = muster("get", "taintpolicies", "--repo", repo.path, "--now", NOW, "-o", "yaml")
    assert "stays unchanged" in err
    assert meant in out


@pytest.mark.parametrize(
    "spoiled",
    [
        pytest.param(TAINTS.replace("spec:", "spec"), id="no YAML"),
        pytest.param(TAINTS.replace("TaintPolicy", "TaintPolicie"), id="a misspelt kind"),
        pytest.param(TAINTS.replace("taints:", "taint:"), id="not what the schema asks for"),
        pytest.param("", id="an empty file"),
    ],
)
def test_a_policy_that_is_spoiled_does_not_bring_its_built_in_namesake_back(
    spoiled: str, repo: Repo, muster: Run
) -> None:
    """The built-in one would taint a cluster that nobody has accepted."""
    repo.commit({"policies/taints.yaml": TAINTS})
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    newcomer = cluster("d").replace("hubAcceptsClient: true", "hubAcceptsClient: false")
    repo.commit({"policies/taints.yaml": spoiled, "d.yaml": newcomer})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "ManagedCluster/d: generation 1" in out, "taint" in out) == (1, True, False), f"{out}{err}"
    assert "key: example.com/dns" in (repo.path / "derived/managedclusters/a.yaml").read_text(encoding="utf-8")
    repo.commit({"policies/taints.yaml": None})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "ManagedCluster/d: taint cluster.open-cluster-management.io/unreachable" in out) == (0, True), err


def test_a_budget_that_is_spoiled_allows_nothing(repo: Repo, muster: Run) -> None:
    budget = "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
    repo.commit({"budget.yaml": f"{budget}spec: {{ignoreUpTo: 0, maxDisrupted: 0}}\n"})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert (code, "budget exceeded" in out) == (0, True), f"{out}{err}"
    repo.commit({"budget.yaml": f"{budget}spec\n"})
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", "2026-01-01T01:00:00Z")
    assert (code, "budget 'default' has an error, so nothing new is allowed" in f"{out}{err}") == (1, True), (
        f"{out}{err}"
    )
