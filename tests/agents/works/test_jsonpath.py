"""JSONPath, as feedback rules use it."""

import pytest

from muster.agents.works.jsonpath import find_values
from muster.data.tree import Tree

POD = {
    "metadata": {"annotations": {"a.b/c": "x"}},
    "status": {
        "phase": "Running", "ready": True, "conditions": [
            {"type": "Ready", "status": "True", "n": 1}, {"type": "Other", "status": "False", "n": 2},
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(("path", "values"), [
    (".status.phase", ["Running"]), ("status.phase", ["Running"]), ("$.status['phase']", ["Running"]),
    (".status.missing.deeper", []), (".status.phase.deeper", []),
    (r".metadata.annotations.a\.b/c", ["x"]), ('.metadata.annotations["a.b/c"]', ["x"]),
    (".status.conditions[0].type", ["Ready"]), (".status.conditions[-1].type", ["Other"]),
    (".status.conditions[7].type", []), (".status.conditions[*].n", [1, 2]), (".status.conditions.*.n", [1, 2]),
    ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
    (".status.conditions[?(@.type != 'Ready')].status", ["False"]),
    (".status.conditions[?(@.n==2)].type", ["Other"]), (".status.conditions[?(@.type==Ready)].n", [1]),
    ("", [POD]),
])  # fmt: skip
def test_values_at_a_path(path: str, values: list[Tree]) -> None:
    assert find_values(POD, path) == values


@pytest.mark.parametrize("path", [".status..phase", ".status[", ".a[?(@.b>1)]", ".a[1:2]", ".a['b"])
def test_a_path_that_cannot_be_understood(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be understood"):
        find_values(POD, path)
