"""No credential moves into a repository, in whatever field it hides."""

import base64

import pytest

from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION, KARMADA_CLUSTER, MANAGED_CLUSTER, MANIFEST_WORK, Kind
from muster.data.tree import Tree
from muster.fleet.secrecy import screened

KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def encoded(text: str) -> str:
    """A text as Kubernetes carries bytes."""
    return base64.b64encode(text.encode()).decode()


def works(*manifests: Tree) -> Tree:
    """A ManifestWork's body with these manifests."""
    return {"spec": {"workload": {"manifests": list(manifests)}}}


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
