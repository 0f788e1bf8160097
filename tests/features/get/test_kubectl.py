"""The same questions to `kubectl get` and `muster get`, about the same objects: exit codes, names and values agree."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.support.commandline import Run
from tests.support.commandline import muster as muster
from tests.support.git import Repo, new_repository
from tests.support.hub import Hub, needs_hub, running_hub

KUBECTL = shutil.which("kubectl")
pytestmark = [needs_hub, pytest.mark.skipif(KUBECTL is None, reason="kubectl not installed")]

Answer = tuple[int, list[str]]
_CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s, labels: {region: %s, cluster.open-cluster-management.io/clusterset: default}}
spec: {hubAcceptsClient: true}
"""
_PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: %s}
spec: {}
"""
_FILES = {f"{name}.yaml": _CLUSTER % (name, region) for name, region in (("a", "eu"), ("b", "us"), ("c", "eu"))} | {
    f"{namespace}.yaml": _PLACEMENT % namespace for namespace in ("blog", "shop")
}


@pytest.fixture(name="hub", scope="module")
def _hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub of its own: the answers name all clusters, and other files leave some on the shared one."""
    with running_hub(tmp_path_factory.mktemp("kubectl") / "hub") as made:
        bodies = [yaml.safe_load(text) for text in _FILES.values()]
        made.make_namespaces(bodies)
        for body in bodies:
            made.apply(body)
        yield made


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo: Repo = new_repository(tmp_path_factory.mktemp("kubectl") / "fleet")
    repo.commit(dict(_FILES))
    return repo


@pytest.fixture
def kubectl(hub: Hub) -> Callable[..., Answer]:
    def run(*arguments: str) -> Answer:
        command = [str(KUBECTL), "--kubeconfig", str(hub.kubeconfig), "get", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": "/"}, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


@pytest.fixture
def ours(fleet: Repo, muster: Run) -> Callable[..., Answer]:
    def run(*arguments: str) -> Answer:
        code, out, _ = muster("get", *arguments, "--repo", fleet.path)
        return code, out.splitlines()

    return run


_NAMES = [
    "managedclusters",
    "managedclusters -l region=eu",
    "managedclusters -l region!=eu",
    "managedclusters -l region",
    "managedclusters -l !region",
    "managedclusters -l=region=eu",
    "placements -n=blog",
    "managedclusters --field-selector=",
    "managedclusters --field-selector metadata.name=b",
    "managedclusters --field-selector metadata.name==b",
    "managedclusters --field-selector metadata.name!=b",
    "managedclusters --field-selector metadata.name!=b,metadata.name!=c",
    "managedclusters --field-selector metadata.name=x",
    "managedclusters --field-selector metadata.name!=a -l region=eu",
    "managedclusters --no-headers",
    "managedcluster a",
    "managedcluster/a managedcluster/b",
    "managedcluster.cluster.open-cluster-management.io/a",
    "managedclusters.v1.cluster.open-cluster-management.io a",
    "managedcluster a nope",
    "managedcluster nope",
    "managedcluster nope --ignore-not-found",
    "managedcluster a nope b --ignore-not-found",
    "managedclusters -l region=nowhere",
    "managedclusters -l region=nowhere --ignore-not-found",
    "placements -A --field-selector metadata.namespace=shop",
    "placements -n blog",
    "placement web -n shop",
    "placement web -n nowhere",
    "placements -A --field-selector metadata.namespace!=shop",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", _NAMES)
def test_names_and_exit_codes(command: str, kubectl: Callable[..., Answer], ours: Callable[..., Answer]) -> None:
    code, names = ours(*command.split(), "-o", "name")
    # kubectl leaves out the namespace.
    short = [f"{name.partition('/')[0]}/{name.rpartition('/')[2]}" for name in names]
    assert (code, short) == kubectl(*command.split(), "-o", "name")


def _bodies(code: int, lines: list[str]) -> tuple[int, list[str]]:
    """The names in documents or a List: muster prints several objects as several documents of YAML."""
    documents = [body for body in yaml.safe_load_all("\n".join(lines)) if body is not None]
    bodies = [item for body in documents for item in (body["items"] if body["kind"] == "List" else [body])]
    return code, [body["metadata"]["name"] for body in bodies]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", _NAMES)
def test_documents_and_templates(command: str, kubectl: Callable[..., Answer], ours: Callable[..., Answer]) -> None:
    template = "jsonpath={.kind}:{.metadata.name}:{.items[*].metadata.name}"
    assert ours(*command.split(), "-o", template) == kubectl(*command.split(), "-o", template)
    printed, theirs = ours(*command.split(), "-o", "json"), kubectl(*command.split(), "-o", "json")
    assert _bodies(*printed) == _bodies(*ours(*command.split(), "-o", "yaml")) == _bodies(*theirs)
    assert bool(printed[1]) == bool(theirs[1])
    printed, theirs = ours(*command.split(), "-o", "wide"), kubectl(*command.split(), "-o", "wide")
    assert (printed[0], len(printed[1])) == (theirs[0], len(theirs[1]))


@pytest.mark.parametrize(
    "command",
    [
        "managedclusters --field-selector spec.hubAcceptsClient=true",
        "managedclusters --field-selector metadata.namespace=a",
        "managedclusters --field-selector metadata.name",
        "managedclusters -l ==",
        "managedclusters -l=",
        "managedclusters -l a=b=c",
        "nosuchkind",
    ],
)
def test_both_refuse(command: str, kubectl: Callable[..., Answer], ours: Callable[..., Answer]) -> None:
    for code, printed in (ours(*command.split()), kubectl(*command.split())):
        assert (code != 0, printed) == (True, [])


@pytest.mark.parametrize("headers", [(), ("--no-headers",)])
def test_columns_of_labels(
    headers: tuple[str, ...], kubectl: Callable[..., Answer], ours: Callable[..., Answer]
) -> None:
    columns = ("-L", "cluster.open-cluster-management.io/clusterset,zone", "-L", "region")
    (code, printed), (expected, theirs) = (get("managedclusters", *columns, *headers) for get in (ours, kubectl))
    assert (code, expected, len(printed)) == (0, 0, len(theirs))
    # The zone is empty, so the last columns are two words, and with headings three.
    for row, other in zip(printed, theirs, strict=True):
        assert row.split()[-2:] == other.split()[-2:]


def test_columns_of_ones_own(kubectl: Callable[..., Answer], ours: Callable[..., Answer]) -> None:
    columns = "custom-columns=NAME:.metadata.name,REGION:.metadata.labels.region,ZONE:.metadata.labels.zone"
    for further in ((), ("--no-headers",), ("-l", "region=nowhere")):
        (code, printed), (expected, theirs) = (
            get("managedclusters", "-o", columns, *further) for get in (ours, kubectl)
        )
        assert (code, [row.split() for row in printed]) == (expected, [row.split() for row in theirs])
