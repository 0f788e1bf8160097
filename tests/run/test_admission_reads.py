"""Policies that read parameters, namespaces and objects of unknown kinds: runs and checks from what is kept say what
those do that look at everything, and renewals cost what they cost without such policies."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.tree import Tree
from muster.git.open import open_commit
from muster.git.repository import open_repository
from muster.git.snapshot import IndexSnapshot
from muster.run.uncommitted import check_uncommitted
from tests.run import test_uncommitted
from tests.run.shards import test_sharded
from tests.run.shuffled import Shuffled
from tests.run.test_incremental import from_state, live, same, state_in
from tests.run.test_uncommitted import asked_of_the_index, assert_same, whole_check
from tests.support.admission_happenings import EditingReads, Reading
from tests.support.example import NOON
from tests.support.git import Content
from tests.support.living import Living, cluster


def _body(kind: str, name: str, version: str = "v1", **more: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def _file(*bodies: Tree) -> str:
    return "---\n".join(f"{json.dumps(body)}\n" for body in bodies)


def _policy(match: tuple[str, str] = ("cluster.open-cluster-management.io", "managedclusters"), **spec: Tree) -> str:
    rule = {"apiGroups": [match[0]], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [match[1]]}
    constraints = {"resourceRules": [rule], **spec.pop("matchConstraints", {})}
    bound: Tree = {"policyName": "p", "validationActions": ["Deny"], **spec.pop("binding", {})}
    version = "admissionregistration.k8s.io/v1"
    return _file(
        _body("ValidatingAdmissionPolicy", "p", version, spec={"matchConstraints": constraints, **spec}),
        _body("ValidatingAdmissionPolicyBinding", "p", version, spec=bound),
    )


def _limits(refused: str, name: str = "limits", namespace: str = "apps", **labels: str) -> Tree:
    return _body("ConfigMap", name, metadata={"namespace": namespace, "labels": labels}, data={"refused": refused})


_BY_NAME = _policy(
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    validations=[{"expression": "object.metadata.name != params.data.refused"}],
    binding={"paramRef": {"name": "limits", "namespace": "apps", "parameterNotFoundAction": "Allow"}},
)
_BY_LABEL = _BY_NAME.replace('"name": "limits"', '"selector": {"matchLabels": {"use": "it"}}')


def _edits(living: Living) -> list[tuple[dict[str, Content], set[str]]]:
    """Edits of parameters, and the clusters that are refused afterwards."""
    a, b, c = living.names[:3]
    path = living._path(c)
    return [
        ({"params.yaml": _file(_limits(a))}, {a}),
        ({"params.yaml": _file(_limits(b))}, {b}),
        ({"params.yaml": _file(_limits(b, "other"))}, set()),
        ({"unused.yaml": _file(_limits(c, "third")), "params.yaml": _file(_limits(b, "third"))}, set()),
        ({"unused.yaml": _file(_limits(c))}, {c}),
        ({"unused.yaml": None, "z.yaml": _file(_limits(c))}, {c}),
        ({"params.yaml": _file(_limits(a))}, {a}),  # the first of one name counts, by file
        ({"params.yaml": f"{_file(_limits(a))}---\nkind: x\n  y: [\n"}, {a}),
        ({"params.yaml": f"{_file(_limits(a))}---\nkind: x\n"}, {a}),
        ({"params.yaml": None}, {c}),
        ({"z.yaml": None, path: f"{cluster(c)}---\n{_file(_limits(b))}"}, {b}),
        ({path: cluster(c)}, set()),
        ({"params.yaml": _file(_limits(a, use="it")), "policies/p.yaml": _BY_LABEL}, {a}),
        ({"params.yaml": _file(_limits(a, use="no"))}, set()),
        ({"params.yaml": _file(_limits(a, use="it"), _limits(b, "other", use="it"))}, {a, b}),
        ({"params.yaml": _file(_limits(a, "x", "elsewhere", use="it"))}, set()),
        ({"policies/p.yaml": None}, set()),
    ]


def test_parameters_that_are_edited(tmp_path: Path) -> None:
    """Each edit counts as one of the policy, and none costs a full run; what has no parameter in it is near."""
    living, state = Living.small(tmp_path / "fleet", 9, 6), state_in(tmp_path)
    living.put("policies/p.yaml", _BY_NAME)
    for _ in range(3):
        same(living, state, "the beginning")
    full, near = [], 0
    for number, (files, refused) in enumerate(_edits(living)):
        living.puts(files, str(number))
        found = same(living, state, str(files))
        errors = {
            finding.object.name for finding in found.settled.findings if finding.code == "MUS320" and finding.object
        }
        assert errors == refused, (files, found.looked_at)
        full += [number] if "whole" in found.looked_at else []
        if number % 3 == 0:
            living.now += timedelta(seconds=1)
            living.speaks(living.names[5])
            near += same(living, state, "a renewal").looked_at.endswith("near")
    # The policy comes to read others, or its file is incomplete.
    assert full == [12, 16], full
    assert near > 2


def test_parameters_that_are_edited_and_not_committed(tmp_path: Path) -> None:
    """Each is checked beside the committed ones, and again when it is thrown away."""
    living, partial = Living.small(tmp_path / "fleet", 9, 6), 0
    living.puts({"policies/p.yaml": _BY_NAME, "z.yaml": _file(_limits(living.names[4]))}, "")
    repository = open_repository(living.repo.path, living.repo.environ)
    other: dict[str, Content] = {living._path(living.names[3]): cluster(living.names[3], region="ap")}
    for number, (files, _) in enumerate(_edits(living)):
        for edit in (files, *([other] if number % 3 == 0 else []), None):
            if edit is None:
                living.repo.git("reset", "--quiet", "--hard")
                living.repo.git("clean", "--quiet", "-d", "--force")
            for path, text in (edit or {}).items():
                if text is not None or (living.repo.path / path).exists():
                    living.repo.write(path, text)
            living.repo.git("add", "--all")
            state = test_uncommitted.state_in(tmp_path)
            checked = check_uncommitted(asked_of_the_index(repository), state, now=NOON)
            state.close()
            whole = whole_check(IndexSnapshot(repository), open_commit(repository, "HEAD"), heard=False)
            assert_same(checked, whole, sorted(edit or files), edit)
            partial += checked.fleet.partial
    assert partial > 10, "what this is about has happened"


_OPEN = _policy(
    ("cluster.open-cluster-management.io", "placements"),
    validations=[{"expression": "!('closed' in namespaceObject.metadata.labels)"}],
)
_SMALL = _policy(("apps", "deployments"), validations=[{"expression": "object.spec.replicas < 3"}])


def _namespace(**labels: str) -> str:
    return _file(_body("Namespace", "apps", metadata={"labels": labels}))


def _deployments(*replicas: int) -> str:
    deployments = (
        _body("Deployment", f"web{number}", "apps/v1", metadata={"namespace": "apps"}, spec={"replicas": count})
        for number, count in enumerate(replicas)
    )
    return _file(*deployments)


@pytest.mark.parametrize(
    ("policy", "edits"),
    [
        (
            _OPEN,
            (
                ({"ns.yaml": _namespace(closed="yes")}, {"some", "eu"}),
                ({"ns.yaml": _namespace()}, set()),
                ({"ns.yaml": None, "other.yaml": _namespace(closed="yes")}, {"some", "eu"}),
                ({"other.yaml": None}, set()),
            ),
        ),
        (
            _SMALL,
            (
                ({"web.yaml": _deployments(3)}, {"web0"}),
                ({"web.yaml": _deployments(1), "b/web.yaml": _deployments(1, 3)}, {"web1"}),
                ({"clusters/c001/cluster.yaml": f"{cluster('c001')}---\n{_deployments(3)}"}, {"web0", "web1"}),
                ({"clusters/c001/cluster.yaml": cluster("c001")}, {"web1"}),
                ({"policies/p.yaml": _SMALL.replace("< 3", "< 1")}, {"web0", "web1"}),
                ({"policies/p.yaml": _SMALL, "b/web.yaml": None}, set()),
            ),
        ),
    ],
    ids=("namespaces", "objects of unknown kinds"),
)
def test_what_else_policies_read(
    tmp_path: Path, policy: str, edits: tuple[tuple[dict[str, Content], set[str]], ...]
) -> None:
    living, state = Living.small(tmp_path / "fleet", 9, 4), state_in(tmp_path)
    living.puts({"policies/p.yaml": policy}, "")
    for _ in range(3):
        same(living, state, "the beginning")
    for files, refused in edits:
        living.puts(files, "")
        found = same(living, state, str(files))
        errors = {
            finding.object.name for finding in found.settled.findings if finding.code == "MUS320" and finding.object
        }
        assert errors == refused, (files, found.looked_at)
        assert "whole" not in found.looked_at
        living.now += timedelta(seconds=1)
        living.speaks(living.names[1])
        found = same(living, state, "a renewal")
        # A file that is about more than its cluster is read each time.
        assert found.looked_at.endswith("near") or "Deployment" in str(files.get("clusters/c001/cluster.yaml"))


def test_of_a_fleet_whose_policies_read_other_objects(tmp_path: Path) -> None:
    taken = live(Reading.small(tmp_path / "fleet", 41), state_in(tmp_path), 15, state_in(tmp_path / "clone"))
    assert taken["wide"] > 2, taken
    assert from_state(taken) > 15 // 2, taken


def test_of_the_index_and_the_work_tree(tmp_path: Path) -> None:
    test_uncommitted.test_of_the_index_the_same_is_said(tmp_path, 0, EditingReads)


def test_in_shards(tmp_path: Path) -> None:
    assert test_sharded.live(Reading.small(tmp_path / "fleet", 4, 8), tmp_path, 5, Shuffled(4), (1, 4)) > 3
