"""`muster label`: one line of a cluster's file, and nothing that somebody else set without being asked."""

from pathlib import Path

import pytest

from muster.features.edits.labelling import parse
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: a
  labels:
    region: eu  # since 2019
    env: prod
spec: {hubAcceptsClient: true}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": CLUSTER})
    return repo


def test_words() -> None:
    assert [parse(word) for word in ("tier=gold", "tier=", "tier-")] == [("tier", "gold"), ("tier", ""), ("tier", None)]


def test_labels_are_set_and_removed(fleet: Repo, muster: Run) -> None:
    code, out, err = muster("label", "a", "tier=gold", "env-", "region=eu", "--repo", fleet.path)
    assert (code, err) == (0, "")
    assert fleet.git("log", "-1", "--format=%s") == "Label a: tier=gold env- region=eu"
    assert [line.strip() for line in out.splitlines()[1:]] == [
        "ManagedCluster/a: label tier set to gold",
        "ManagedCluster/a: label env removed",
    ]
    assert (fleet.path / "a.yaml").read_text() == CLUSTER.replace("env: prod", "tier: gold")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a", "region=us"), "ManagedCluster/a has region=eu"),
        (("b", "region=us"), "there is no ManagedCluster/b"),
        (("a", "a b=c"), "the fleet would not be valid afterwards"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    fleet: Repo, muster: Run, arguments: tuple[str, ...], complaint: str
) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, _, err = muster("label", *arguments, "--repo", fleet.path)
    assert (code, complaint in err, fleet.git("rev-parse", "HEAD")) == (1, True, before), err


def test_another_value_is_overwritten_when_asked_to(fleet: Repo, muster: Run) -> None:
    assert muster("label", "a", "region=us", "--overwrite", "--repo", fleet.path)[0] == 0
    assert (fleet.path / "a.yaml").read_text() == CLUSTER.replace("region: eu", "region: us")
