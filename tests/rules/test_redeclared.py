"""An object is declared again, with a younger `creationTimestamp`, between two runs: what that changes, kind by kind.

A move between hubs gives every object a new timestamp, so by itself it restarts no clock and moves no cluster. The
exceptions are listed here, and documented.
"""

from pathlib import Path

import pytest
import yaml

from muster.data.times import format_time
from tests.support import subjects
from tests.support.episodes import Line, Moment, begun
from tests.support.loose import puts

#: The starts of what changes by kind: since when reports are about the object; a claim gets a cluster of its own.
CHANGES = {
    "cluster": ("Cluster/k1: note created ",),
    "clusterclaim": (
        "ClusterClaim/pools/review: ",
        "ClusterDeployment/ci-",
        "ClusterDeploymentCustomization/pools/slot-",
        "ClusterPool/pools/ci: ",
    ),
    "cluster-observed": ("Cluster/k1: note created ",),
    "managedcluster": ("ManagedCluster/subject: note created ",),
    "managedcluster-observed": (  # an adapter has reported about the earlier one
        "AdapterReport/m1/validation: ",
        "ManagedCluster/m1: note created ",
        "ManagedCluster/m1: condition Ready ",
    ),
    "nodepool": ("NodePool/m1/workers: note created ",),
}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return begun(tmp_path_factory.mktemp("redeclared") / "fleet")


@pytest.fixture(scope="module")
def control(line: Line) -> Moment:
    return Moment.of(line, subjects.EDITED)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", sorted(subjects.SUBJECTS))
def test_only_these_kinds_know_that_they_are_another_object(line: Line, control: Moment, path: str) -> None:
    body = yaml.safe_load(subjects.SUBJECTS[path])
    body["metadata"]["creationTimestamp"] = format_time(subjects.EDITED)
    moment = Moment.of(line.commit(puts({path: yaml.safe_dump(body, sort_keys=False)})), subjects.EDITED)
    changes = moment.changes ^ control.changes
    expected = CHANGES.get(Path(path).stem, ())
    assert not {change for change in changes if not change.startswith(expected or ("-",))}
    assert bool(changes) is bool(expected)
    assert {f.code for f in moment.findings} == {f.code for f in control.findings}
