"""What admission policies read besides the objects that they judge, and what of it tells that it has changed."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.fleet.assemble import assemble
from muster.rules.admission.reads import files_read, reads_clusters
from muster.rules.checks.validate import validate
from muster.rules.policies.in_force import PolicyReads
from tests.rules.admission.test_judge import OWN, POLICY


def _limits(name: str = "x", value: str = "1") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '{value}'}}\n"


def _reads(policy: str, **files: str) -> PolicyReads:
    texts = {f"{name}.yaml": text for name, text in files.items()}
    return validate(assemble(MemorySnapshot({"policy.yaml": policy, **texts}))).compiled.reads


def _policy(**altered: str) -> str:
    return POLICY.format(**{**OWN, **altered})


_CONFIG_MAP = "paramKind: {apiVersion: v1, kind: ConfigMap}"
_OWN_KIND = "paramKind: {apiVersion: example.com/v1, kind: Limits}"
_NAMED, _SELECTED = ", paramRef: {name: x}", ", paramRef: {selector: {}}"
_NAMESPACES = ("", "Namespace", "")
_DEFINITIONS = ("apiextensions.k8s.io", "CustomResourceDefinition", "")


@pytest.mark.parametrize(
    ("altered", "objects", "foreign"),
    [
        ({}, (), False),
        ({"resource": '"*"'}, (), True),
        ({"group": '"*"'}, (), True),
        ({"operation": "UPDATE"}, (), False),
        ({"group": '""', "resource": "configmaps"}, (), True),
        ({"more": _CONFIG_MAP}, (), False),
        ({"more": _CONFIG_MAP, "binding": _NAMED}, (("", "ConfigMap", "x"),), False),
        ({"more": _CONFIG_MAP, "binding": _SELECTED}, (("", "ConfigMap", ""),), False),
        ({"more": _OWN_KIND, "binding": _NAMED}, (_DEFINITIONS, ("example.com", "Limits", "")), False),
        ({"match": "namespaceSelector: {matchLabels: {a: b}}"}, (_NAMESPACES,), False),
        ({"expression": "namespaceObject == null"}, (_NAMESPACES,), False),
        ({"expression": "request.userInfo.username != ''"}, (), False),
        ({"expression": "object.metadata.name != 'params'"}, (), False),
        ({"binding": _NAMED}, (), False),
        ({"binding": ", matchResources: {namespaceSelector: {matchLabels: {a: b}}}"}, (_NAMESPACES,), False),
    ],
)
def test_what_is_read(altered: dict[str, str], objects: tuple[tuple[str, str, str], ...], foreign: bool) -> None:
    reads = _reads(_policy(**altered), map=_limits())
    assert (reads.objects, reads.foreign) == (objects, foreign)


def test_the_digest_is_of_what_is_read() -> None:
    """Of two parameters of one name the first one counts, so their order does."""
    policy = _policy(more=_CONFIG_MAP, binding=_NAMED)
    first = _reads(policy, a=_limits())
    assert first == _reads(policy, b=_limits(), c=_limits("y"))
    others = (
        _reads(policy),
        _reads(policy, a=_limits(value="2")),
        _reads(policy, a=_limits(), b=_limits(value="2")),
        _reads(policy, a=_limits(value="2"), b=_limits()),
    )
    assert len({first.digest, *(reads.digest for reads in others)}) == 5
    assert all(first.are_those_of(reads) for reads in others)


def test_the_files_that_are_read() -> None:
    policy = _policy(more=_CONFIG_MAP, binding=_NAMED)
    texts = {"a.yaml": _limits(), "b.yaml": _limits("y"), "c.yaml": f"{_limits('y')}---\n{_limits()}"}
    fleet = assemble(MemorySnapshot({"policy.yaml": policy, **texts}))
    assert files_read(fleet, validate(fleet).compiled.reads) == {"a.yaml", "c.yaml"}


@pytest.mark.parametrize(("kind", "of_clusters"), [("ManagedCluster", True), ("ManagedClusterSet", False)])
def test_parameters_of_clusters(kind: str, of_clusters: bool) -> None:
    params = f"paramKind: {{apiVersion: cluster.open-cluster-management.io/v1, kind: {kind}}}"
    fleet = assemble(MemorySnapshot({"policy.yaml": _policy(more=params, binding=_NAMED)}))
    assert reads_clusters(fleet) is of_clusters
