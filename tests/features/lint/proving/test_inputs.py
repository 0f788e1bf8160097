"""The schema of an input, by its path."""

import pytest

from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, Kind
from muster.features.lint.proving.inputs import schema_at


@pytest.mark.parametrize(
    ("kind", "path", "word", "value"),
    [
        (MANAGED_CLUSTER, "self.spec.leaseDurationSeconds", "minimum", 0),
        (KARMADA_CLUSTER, "self.status.probe.readyz", "maximum", 999),
        (MANAGED_CLUSTER, "self.metadata.name", "minLength", 1),
        (MANAGED_CLUSTER, "self.spec.taints[0].key", "minLength", 1),
        (MANAGED_CLUSTER, "self.metadata.labels[key]", "maxLength", 63),
        (MANAGED_CLUSTER, "lease.spec.leaseDurationSeconds", "minimum", 1),
        (MANAGED_CLUSTER, "reported[key].observedGeneration", "minimum", 0),
        (MANAGED_CLUSTER, "reports[further].observed_generation", "minimum", 1),
        (MANAGED_CLUSTER, "self.nowhere.at[0].all", "minimum", None),
        (MANAGED_CLUSTER, "generation", "minimum", None),
    ],
)
def test_schema_at(kind: Kind, path: str, word: str, value: object) -> None:
    assert schema_at(kind, path).get(word) == value
