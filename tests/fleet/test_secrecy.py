"""No credential moves into a repository, in whatever field it hides."""

import base64
import json

import pytest

from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION, KARMADA_CLUSTER, MANAGED_CLUSTER, MANIFEST_WORK, Kind
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.fleet.secrecy import screened
from muster.run.evaluate import evaluate_snapshot

KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def encoded(text: str) -> str:
    """A text as Kubernetes carries bytes."""
    return base64.b64encode(text.encode()).decode()


def works(*manifests: Tree) -> Tree:
    """A ManifestWork's body with these manifests."""
    return {"spec": {"workload": {"manifests": list(manifests)}}}


WORK: dict[str, Tree] = {
    "apiVersion": "work.open-cluster-management.io/v1",
    "kind": "ManifestWork",
    "metadata": {"name": "w", "namespace": "a"},
}
SET = WORK | {"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet"}
FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {foreign: ['', example.com]}\n"
SECRET = {"apiVersion": "v1", "kind": "Secret", "data": {}}


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (
            MANIFEST_WORK,
            works({"apiVersion": "v1", "kind": "ConfigMap"}, SECRET),
            "1 of the manifests in it is a Secret",
        ),
        (MANIFEST_WORK, works(SECRET, SECRET), "2 of the manifests in it are Secrets"),
        (MANIFEST_WORK, works({"apiVersion": "v1", "kind": "List", "items": [SECRET]}), "1 of the manifests"),
        (MANIFEST_WORK, works({"apiVersion": "v1", "kind": "SecretList", "items": []}), "1 of the manifests"),
        (
            CLUSTER_DEPLOYMENT_CUSTOMIZATION,
            {"spec": {"installConfigPatches": [{"value": KEY}]}},
            "there is a private key at spec.installConfigPatches[0].value",
        ),
        (
            MANAGED_CLUSTER,
            {"metadata": {"annotations": {"example.com/key": encoded(KEY)}}},
            "there is a private key at metadata.annotations.example.com/key",
        ),
        (
            MANAGED_CLUSTER,
            {"metadata": {"annotations": {"x": f"kubeconfig: {encoded(CERTIFICATE + KEY)}"}}},
            "there is a private key at metadata.annotations.x",
        ),
    ],
)
def test_what_is_left_out_as_a_whole(kind: Kind, body: Tree, reason: str) -> None:
    found = screened(kind, body)
    assert found.body is None
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("body", "clean", "left_out"),
    [
        (
            {"spec": {"proxyURL": "http://u:p@proxy:3128/x"}},
            {"spec": {"proxyURL": "http://proxy:3128/x"}},
            ("spec.proxyURL",),
        ),
        (
            {"spec": {"proxyHeader": {"proxy-AUTHORIZATION": "x", "Via": "y"}}},
            {"spec": {"proxyHeader": {"Via": "y"}}},
            ("spec.proxyHeader.proxy-AUTHORIZATION",),
        ),
        ({"spec": {"apiEndpoint": "https://git@host"}}, {"spec": {"apiEndpoint": "https://git@host"}}, ()),
        ({"spec": {"caBundle": encoded(CERTIFICATE)}}, {"spec": {"caBundle": encoded(CERTIFICATE)}}, ()),
        ({"spec": {"secretRef": {"name": "s"}}}, {"spec": {"secretRef": {"name": "s"}}}, ()),
        ({"spec": {"id": "LS0tLS1CRUdJTi"}}, {"spec": {"id": "LS0tLS1CRUdJTi"}}, ()),
    ],
)
def test_what_is_left_out_of_an_object(body: Tree, clean: Tree, left_out: tuple[str, ...]) -> None:
    found = screened(KARMADA_CLUSTER, body)
    assert (found.body, found.left_out) == (clean, left_out)


PLAIN = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": encoded("hunter2")}}
#: As SOPS 3.13 writes one with `--encrypted-regex '^(data|stringData)$'`.
ENCRYPTED = PLAIN | {
    "data": {"password": "ENC[AES256_GCM,data:IcZC=,iv:5CPZ=,tag:10+i==,type:str]"},
    "sops": {
        "age": [{"recipient": "age1kt", "enc": "-----BEGIN AGE ENCRYPTED FILE-----"}],
        "mac": "ENC[AES256_GCM,data:o]",
    },
}


@pytest.mark.parametrize(
    ("body", "clear"),
    [
        (PLAIN, True),
        ({**PLAIN, "data": {}}, False),
        ({**PLAIN, "data": None, "stringData": {"password": "hunter2"}}, True),
        (ENCRYPTED, False),
        (ENCRYPTED | {"stringData": {"forgotten": "hunter2"}}, True),
        ({"apiVersion": "v1", "kind": "List", "items": [ENCRYPTED, PLAIN]}, True),
        ({"apiVersion": "v1", "kind": "SecretList", "items": [PLAIN]}, True),
        (
            {"apiVersion": "example.com/v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "hunter2"}},
            False,
        ),
        (WORK | works(PLAIN), True),
        (WORK | works({**PLAIN, "data": {}}), False),
        (SET | {"spec": {"manifestWorkTemplate": works(PLAIN)["spec"]}}, True),
        ({"apiVersion": "v1", "kind": "Secret", "data": [[["hunter2"]]], "items": "x"}, False),
    ],
)
def test_a_secret_in_clear_text_is_a_warning_without_its_text(body: Tree, clear: bool) -> None:
    text = json.dumps(body)
    files = {"apps/a.json": text, "fleet.yaml": FLEET}
    run = evaluate_snapshot(MemorySnapshot(files), parse_time("2026-01-01T00:00:00Z"))
    assert [found.file for found in run.findings if found.code == "MUS144"] == ["apps/a.json"] * clear
    assert "MUS102" not in {found.code for found in run.findings}
    said = repr((run.findings, run.files, run.fleet.previous))
    assert "hunter2" not in said
    assert encoded("hunter2") not in said
