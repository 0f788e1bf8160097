"""`muster import`: a hub moves in, as a user sees it."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree, dig, mappings_at
from tests.support.commandline import Run

DUMPS = Path(__file__).parent / "dumps"
HUBS = ("ocm", "karmada", "hive")
NOON = ("--now", "2026-01-01T12:00:00Z")
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
spec: {hubAcceptsClient: true, leaseDurationSeconds: 60}
"""


@pytest.fixture
def fleet(muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that `muster init` laid down, without the example."""
    root = tmp_path / "fleet"
    assert muster("init", root)[0] == 0
    (root / "clusters/example/cluster.yaml").unlink()
    commit(root)
    monkeypatch.chdir(root)
    return root


def commit(root: Path) -> None:
    """Commit all that is there."""
    for arguments in (("add", "--all"), ("commit", "--quiet", "--message", "all")):
        subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def files(root: Path) -> dict[str, str]:
    """Every data file, by path."""
    found = (path for path in root.rglob("*.yaml") if ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def dumped(name: str) -> list[Tree]:
    """The objects of a dump of which muster knows, whole."""
    found: list[Tree] = []
    for document in yaml.load_all((DUMPS / f"{name}.yaml").read_text(), Loader=yaml.BaseLoader):
        named = {"apiVersion": document["apiVersion"], "kind": document["kind"].removesuffix("List")}
        items = document.get("items")
        found += [document] if items is None else [{**named, **item} for item in items]
    return found


def who(body: Tree) -> tuple[str, ...]:
    """Which object it is."""
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def clocks(body: Tree) -> dict[str, tuple[str, ...]]:
    """All that a hub had decided and dated, and what it had chosen."""
    found: dict[str, tuple[str, ...]] = {
        f"condition {c['type']}": (c["status"], c["reason"], c["lastTransitionTime"])
        for c in mappings_at(body, "status", "conditions")
    }
    found |= {
        f"taint {t['key']}:{t['effect']}": (t.get("value", ""), t["timeAdded"])
        for t in mappings_at(body, "spec", "taints")
        if "timeAdded" in t
    }
    chosen = {
        "decisions": [entry["clusterName"] for entry in mappings_at(body, "status", "decisions")],
        "actions": dig(body, "status", "remedyActions"),
        "blocked": dig(body, "status", "trafficBlockClusters"),
        "power": [dig(body, "spec", "powerState"), dig(body, "status", "powerState")],
        "claim": [dig(body, "spec", "clusterPoolRef", "claimName"), dig(body, "metadata", "deletionTimestamp")],
        "cluster": dig(body, "spec", "namespace"),
        "renewed": dig(body, "spec", "renewTime"),
    }
    return found | {name: (str(value),) for name, value in chosen.items() if value not in (None, [], [None, None])}


@pytest.mark.parametrize("hub", HUBS)
def test_a_hub_moves_in(muster: Run, fleet: Path, hub: str) -> None:
    """Without a finding about the fleet, a moved cluster or a restarted clock; and the second time nothing is to do."""
    code, out, errors = muster("import", DUMPS / f"{hub}.yaml")
    assert code == 0, errors
    assert "error" not in errors
    code, out, _ = muster("validate")
    assert (code, out.splitlines()[-1].partition(" ")[2]) == (0, "objects, no findings")
    commit(fleet)
    code, out, errors = muster("reconcile", *NOON, "-v")
    assert (code, [line for line in errors.splitlines() if not line.startswith("looked at")]) == (0, [])
    told = [line.strip() for line in out.splitlines() if " -> " in line]
    # A controller's own bookkeeping goes: it is not the time since when a condition holds.
    assert [line for line in told if not line.startswith("ClusterPool") and not line.endswith(" -> gone")] == [], out
    assert all(".last" in line for line in told if line.endswith(" -> gone")), out
    assert muster("reconcile", *NOON)[1].strip() == "nothing to do"
    code, out, errors = muster("get", "all", "-o", "yaml", *NOON)
    assert (code, [line for line in errors.splitlines() if not line.startswith("looked at")]) == (0, [])
    rendered = {who(body): body for body in yaml.load_all(out, Loader=yaml.BaseLoader)}
    missing = []
    for body in dumped(hub):
        now = clocks(rendered.get(who(body), {}))
        missing += [
            (body["metadata"]["name"], name, was, now.get(name))
            for name, was in clocks(body).items()
            if now.get(name) != was
        ]
    assert [one for one in missing if one[0] not in OF_NO_FLEET] == []
    before = files(fleet)
    code, out, _ = muster("import", DUMPS / f"{hub}.yaml")
    assert (code, out.splitlines()[-1], files(fleet)) == (0, "nothing to do", before)
    assert not any("c2VjcmV0" in text or "hunter2" in text or "kubeconfig: secret" in text for text in before.values())


#: What the dumps hold beside a fleet: leases of the hub's own controllers.
OF_NO_FLEET = ("cluster-manager-registration-controller", "karmada-scheduler")


def test_what_agents_report_can_be_left_to_a_relay(muster: Run, fleet: Path) -> None:
    muster("import", DUMPS / "ocm.yaml")
    whole = files(fleet)
    subprocess.run(["git", "-C", str(fleet), "clean", "-fdq"], check=True)
    code, out, errors = muster("import", DUMPS / "ocm.yaml", "--without-reports")
    assert (code, "left to a relay" in out, "once muster relay --from-hub has reported" in out) == (0, True, True), (
        errors
    )
    found = files(fleet)
    assert {path: text for path, text in found.items() if path.startswith("derived/")} == {
        path: text for path, text in whole.items() if path.startswith("derived/")
    }
    gone = whole.keys() - found.keys()
    assert {re.sub(r"clusters/[^/]*/", "", path).partition("/")[0] for path in gone} == {
        "certificatesigningrequests",
        "lease.yaml",
        "observed.yaml",
        "scores",
    }
    changed = {path for path in found if found[path] != whole[path]}
    assert changed
    for path in changed:
        body = yaml.safe_load(whole[path])
        assert body.pop("status"), path
        assert yaml.safe_load(found[path]) == body


def test_each_part_goes_to_its_writer(muster: Run, fleet: Path) -> None:
    muster("import", DUMPS / "ocm.yaml")
    found = files(fleet)
    assert yaml.safe_load(found["clusters/eu-3/cluster.yaml"])["spec"]["taints"] == [
        {"effect": "NoSelectIfNew", "key": "maintenance", "value": "rack-7"}
    ], "a person's taint without the hub's time; the hub's own is under derived/"
    said = yaml.safe_load(found["clusters/eu-3/observed.yaml"])
    assert said.keys() == {"apiVersion", "kind", "metadata", "status"}
    assert [c["type"] for c in said["status"]["conditions"]] == ["ManagedClusterConditionAvailable"]
    silent = yaml.safe_load(found["clusters/eu-2/observed.yaml"])["status"]
    assert "conditions" not in silent, "that nobody hears it is the hub's word"
    assert "timeAdded" in found["derived/managedclusters/eu-3.yaml"]
    assert not any(
        "managedFields" in text or "last-applied" in text or "resourceVersion:" in text for text in found.values()
    )
    assert "placements/shop/frontend.yaml" in found
    assert found.keys() >= {"derived/placementdecisions/shop/frontend-decision-1.yaml", "clusters/eu-1/lease.yaml"}


def test_what_was_passed_over_is_counted(muster: Run, fleet: Path) -> None:
    _, out, _ = muster("import", DUMPS / "karmada.yaml")
    assert "Lease: 1 of no cluster, passed over" in out
    assert "Secret: 1 passed over" in out
    assert "of kinds that muster does not read, passed over: 1 PropagationPolicy (policy.karmada.io/v1alpha1)" in out
    assert "muster reconcile --now 2026-01-01T12:00:00Z" in out


def test_a_credential_in_a_url_stays_out_and_is_told(muster: Run, fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "hub.yaml").write_text(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: eu-9}\n"
        "spec: {hubAcceptsClient: true, managedClusterClientConfigs: [{url: 'https://me:hunter2@eu-9.example.com'}]}\n"
    )
    code, _, errors = muster("import", tmp_path / "hub.yaml")
    assert code == 0
    assert "MUS960: spec.managedClusterClientConfigs[0].url of ManagedCluster/eu-9 held a credential" in errors
    assert not any("hunter2" in text for text in files(fleet).values())


def test_secrets_that_muster_cannot_see_are_named_where_the_fleet_has_a_list_of_its_own(
    muster: Run, fleet: Path
) -> None:
    (fleet / "fleet.yaml").write_text(
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
        "spec: {pools: {externalDependencies: [Secret/pools/other]}}\n"
    )
    _, _, errors = muster("import", DUMPS / "hive.yaml")
    assert "MUS965: imported pools need Secrets that muster cannot see: Secret/" in errors
    assert "pools/secrets.yaml" not in files(fleet)


def test_what_belongs_to_the_hub_itself_is_no_fault(muster: Run, fleet: Path, tmp_path: Path) -> None:
    """Whatever such objects are called: OpenShift's requests have colons in their names."""
    request = (
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: %s, labels: {%s}}\n"
    )
    label = "open-cluster-management.io/cluster-name: ../../x"
    (tmp_path / "csr.yaml").write_text(request % ('"system:openshift:x"', "") + "---\n" + request % ("evil", label))
    code, out, errors = muster("import", tmp_path / "csr.yaml")
    assert (code, errors) == (0, "")
    assert out.startswith("CertificateSigningRequest: 2 of no cluster, passed over")


def test_json_folders_and_standard_input(
    muster: Run, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a dump comes, the files are the same."""
    items = dumped("ocm")
    text = (DUMPS / "ocm.yaml").read_text()
    folder = tmp_path / "dump/deep"
    folder.mkdir(parents=True)
    documents = yaml.safe_load(json.dumps(yaml.load(text, Loader=_Texts)))["items"]
    for number, item in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(item))
    (folder / "notes.txt").write_text("not read")
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()
    outcomes = []
    for source, stdin in ((tmp_path / "dump", b""), ("-", whole), ("-", text.encode()), (DUMPS / "ocm.yaml", b"")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code, out, errors = muster("import", source, "--dry-run", "-o", "json")
        assert code == 0, errors
        outcomes.append(out)
    assert len(items) == len(documents)
    assert len(set(outcomes)) == 1
    assert not (fleet / "clusters").is_dir() or not any((fleet / "clusters").rglob("*.yaml")), (
        "a dry run writes nothing"
    )


class _Texts(yaml.SafeLoader):
    """Times and odd numbers stay texts, as in JSON from an API server."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag.endswith((":bool", ":int", ":null"))]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def test_what_is_broken_in_a_dump_hides_nothing(muster: Run, fleet: Path, tmp_path: Path) -> None:
    texts = [
        CLUSTER % "good",
        "kind: [unclosed",
        CLUSTER % "odd" + "  hubAcceptsClients: true\n".replace("  ", "extra: ", 1),
        CLUSTER.replace("leaseDurationSeconds", "leaseDurationSecond") % "mistyped",
        "values: {replicas: 3}",
        CLUSTER.replace("ManagedCluster", "ManagedClustr") % "misspelt",
        CLUSTER % "../../../etc/cron.d/evil",
        CLUSTER % ("a" * 300),
        CLUSTER % "also-good",
    ]
    dump = tmp_path / "dump.yaml"
    dump.write_text("---\n".join(f"{text}\n" for text in texts))
    code, out, errors = muster("import", dump)
    assert code == 1
    assert out.startswith("ManagedCluster: also-good, good imported")
    assert "MUS201" in errors
    assert "'leaseDurationSeconds'" in errors
    assert {"MUS001", "MUS102", "MUS103"} <= {word.rstrip(":") for word in errors.split() if word.startswith("MUS")}
    assert sorted(path.name for path in (fleet / "clusters").iterdir() if any(path.iterdir())) == ["also-good", "good"]
    assert not (tmp_path / "etc").exists()
    commit(fleet)
    assert muster("validate")[0] == 0, "what moved in is sound"


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        ("link", "clusters is a symbolic link"),
        ("file", "clusters is no folder"),
        (".musterignore", ".musterignore names"),
        (".gitignore", "git ignores"),
    ],
)
def test_nothing_is_written_elsewhere(muster: Run, fleet: Path, tmp_path: Path, obstacle: str, reason: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (fleet / "clusters/example").rmdir()
    if not obstacle.startswith("."):
        (fleet / "clusters").rmdir()
    if obstacle == "link":
        (fleet / "clusters").symlink_to(outside)
        (fleet / "objects").symlink_to(outside)
    elif obstacle == "file":
        (fleet / "clusters").write_text("")
        (fleet / "objects").write_text("")
    else:
        (fleet / obstacle).write_text("clusters/\nobjects/\n")
    (tmp_path / "dump.yaml").write_text(CLUSTER % "a")
    code, out, errors = muster("import", tmp_path / "dump.yaml")
    assert (code, out.strip()) == (1, "nothing to do")
    assert "MUS962: ManagedCluster/a was not imported" in errors
    assert reason.replace("clusters", "objects") in errors
    assert list(outside.iterdir()) == []


def test_a_name_that_is_taken(muster: Run, fleet: Path, tmp_path: Path) -> None:
    """What is in the way stays, and the object goes elsewhere."""
    (fleet / "clusters/a").mkdir()
    (fleet / "clusters/a/cluster.yaml").write_text("# mine\n")
    both = (
        CLUSTER % "a"
        + "---\napiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: b}\nspec: {syncMode: Push}\n"
    )
    (tmp_path / "dump.yaml").write_text(f"{both}---\n{CLUSTER % 'b'}")
    code, out, errors = muster("import", tmp_path / "dump.yaml", "-v")
    assert (code, errors) == (0, "")
    assert out.splitlines()[:3] == [
        "clusters/b/cluster.yaml",
        "objects/clusters/b.yaml",
        "objects/managedclusters/a.yaml",
    ]
    assert (fleet / "clusters/a/cluster.yaml").read_text() == "# mine\n"


def test_a_dump_inside_the_repository(muster: Run, fleet: Path) -> None:
    (fleet / "hub.yaml").write_text(CLUSTER % "a")
    code, out, errors = muster("import", "hub.yaml")
    assert code == 0
    assert "hub.yaml: warning MUS963: the dump is in the repository" in errors
    assert "ManagedCluster: a imported" in out
    assert (fleet / "clusters/a/cluster.yaml").exists()


def test_replacing_is_asked_for(muster: Run, fleet: Path, tmp_path: Path) -> None:
    """A second dump brings a mirror up to date; what a person arranged otherwise stays."""
    first = (DUMPS / "ocm.yaml").read_text()
    muster("import", DUMPS / "ocm.yaml")
    (fleet / "clusters/eu-1/lease.yaml").rename(fleet / "clusters/eu-1/heartbeat.yaml")
    commit(fleet)
    later = tmp_path / "later.yaml"
    later.write_text(first.replace("2026-01-01T11:59", "2026-01-01T12:09").replace("v1.33.2", "v1.33.3"))
    before = files(fleet)
    assert muster("import", later)[1].splitlines()[-1] == "nothing to do"
    assert files(fleet) == before
    code, out, errors = muster("import", later, "--replace", "-v")
    assert code == 0
    assert "MUS964: Lease/eu-1/managed-cluster-lease stays as it is: it is in clusters/eu-1/heartbeat.yaml" in errors
    changed = {path for path, text in files(fleet).items() if before.get(path) != text}
    assert changed == {"clusters/eu-3/lease.yaml", "clusters/eu-1/observed.yaml", "clusters/eu-2/observed.yaml"}
    assert out.splitlines()[:3] == sorted(changed)
    assert muster("import", later, "--replace")[1].splitlines()[-1] == "nothing to do"


def test_two_states_of_one_object(muster: Run, fleet: Path, tmp_path: Path) -> None:
    older = (CLUSTER % "a").replace("name: a", 'name: a, resourceVersion: "9"')
    newer = (CLUSTER % "a").replace("name: a", 'name: a, resourceVersion: "10"').replace("60", "90")
    (tmp_path / "dump.yaml").write_text(f"{older}---\n{newer}---\n{newer}")
    code, _, errors = muster("import", tmp_path / "dump.yaml")
    assert code == 0
    assert errors.count("MUS961") == 1
    assert "leaseDurationSeconds: 90" in (fleet / "clusters/a/cluster.yaml").read_text()


def test_what_chooses_here_already_is_not_unexpected_notifications(muster: Run, fleet: Path, tmp_path: Path) -> None:
    """Another hub's decisions for a Placement that muster decides move nothing."""
    muster("import", DUMPS / "ocm.yaml")
    commit(fleet)
    muster("reconcile", *NOON)
    other = tmp_path / "other.yaml"
    text = (DUMPS / "ocm.yaml").read_text()
    other.write_text(
        text.replace("frontend-decision-1", "frontend-decision-2").replace("clusterName: eu-2", "clusterName: eu-1")
    )
    before = files(fleet)
    code, out, _ = muster("import", other)
    assert (code, out.splitlines()[-1]) == (0, "nothing to do")
    assert files(fleet) == before


def test_a_dump_full_of_a_field_that_nobody_knows(muster: Run, fleet: Path, tmp_path: Path) -> None:
    """Each object is named, and looking for its line takes no longer the more there are."""
    items = [yaml.safe_load(CLUSTER % f"c-{number}") for number in range(30)]
    for item in items:
        item["spec"]["fieldOfTomorrow"] = 1
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    code, out, errors = muster("import", tmp_path / "dump.yaml")
    assert (code, out.strip()) == (1, "nothing to do")
    assert errors.count("MUS201") == 30
    assert "unknown field spec.fieldOfTomorrow in ManagedCluster/c-29" in errors


def test_where_there_is_no_fleet(muster: Run, tmp_path: Path) -> None:
    """Not even the files of a dump are strewn about."""
    (tmp_path / "somewhere").mkdir()
    code, _, errors = muster("import", DUMPS / "ocm.yaml", "--repo", tmp_path / "somewhere")
    assert code == 4
    assert "there is no work tree of a fleet" in errors
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "bare"], check=True)
    assert muster("import", DUMPS / "ocm.yaml", "--repo", tmp_path / "bare")[0] == 4
    assert list((tmp_path / "somewhere").iterdir()) == []


def test_usage(muster: Run, fleet: Path, tmp_path: Path) -> None:
    assert muster("import")[0] == 2
    code, _, errors = muster("import", "no-such-dump.yaml")
    assert code == 2
    assert "no-such-dump.yaml" in errors
    code, _, errors = muster("import", DUMPS / "ocm.yaml", "--repo", tmp_path / "nowhere")
    assert code == 4
    assert "is not a directory" in errors
    (tmp_path / "empty.yaml").write_text("")
    code, out, errors = muster("import", tmp_path / "empty.yaml")
    assert (code, out, errors) == (0, "nothing to do\n", "")


COMMANDS = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: other}
spec: {agents: {signing: required}}
---
apiVersion: muster.dev/v1alpha1
kind: Approval
metadata: {name: all}
spec: {effects: [{object: ManagedCluster/a, effect: removal, since: "2026-01-01T12:00:00Z"}]}
---
apiVersion: muster.dev/v1alpha1
kind: DisruptionBudget
metadata: {name: open, annotations: {muster.dev/allow-disruption: "until 2030-01-01T00:00:00Z: a fire"}}
spec: {maxDisrupted: 1}
"""


def test_what_commands_muster_is_proposed_and_not_taken(muster: Run, fleet: Path, tmp_path: Path) -> None:
    before = files(fleet)
    (tmp_path / "hub.yaml").write_text(COMMANDS)
    code, out, errors = muster("import", tmp_path / "hub.yaml", "--replace")
    assert (code, errors.count("MUS143")) == (0, 3), errors
    assert "Fleet: other proposed" in out
    assert files(fleet) == before, "nothing that muster reads"
    proposed = sorted(path.relative_to(fleet).as_posix() for path in fleet.rglob("*.proposed"))
    assert proposed == ["approvals/all.yaml.proposed", "fleet.yaml.proposed", "policies/open.yaml.proposed"]
    assert yaml.safe_load((fleet / "fleet.yaml.proposed").read_text())["metadata"]["name"] == "other"
    commit(fleet)
    assert muster("validate")[:1] == (0,)
    code, out, _ = muster("import", tmp_path / "hub.yaml")
    assert (code, out.splitlines()[-1]) == (0, "nothing to do")


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_time_at_which_no_dump_is_taken_is_not_proposed_as_one(
    muster: Run, fleet: Path, tmp_path: Path, moment: str
) -> None:
    text = CLUSTER % f"eu-9, creationTimestamp: '{moment}'"
    (tmp_path / "hub.yaml").write_text(text)
    _, out, _ = muster("import", tmp_path / "hub.yaml", "--dry-run")
    assert f"they do not count for that: {moment}" in out
    code, out, _ = muster("import", tmp_path / "hub.yaml")
    assert code == 0
    assert "then: muster reconcile --now TIME, the time at which the dump was taken" in out
    (tmp_path / "hub.yaml").write_text(f"{text}---\n" + CLUSTER % "eu-8, creationTimestamp: '2026-01-01T12:00:00Z'")
    _, out, _ = muster("import", tmp_path / "hub.yaml", "--replace")
    assert "muster reconcile --now 2026-01-01T12:00:00Z" in out
