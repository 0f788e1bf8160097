"""The kinds: their names, and who writes them."""

import json

import pytest

from muster.data.kinds import BY_NAME, kinds_named, short_names
from muster.features.about.resources import SYSTEMS, system_of, writers
from tests.support.commandline import Run


@pytest.mark.parametrize(
    ("kind", "system"),
    [
        ("Fleet", "core"),
        ("Lease", "core"),
        ("ManagedClusterAddOn", "OCM"),
        ("ClusterProfile", "OCM"),
        ("MultiClusterIngress", "Karmada"),
        ("EndpointSlice", "Karmada"),
        ("ClusterPool", "Hive"),
        ("AdapterReport", "HyperFleet"),
    ],
)
def test_the_system_of_a_kind(kind: str, system: str) -> None:
    assert system_of(BY_NAME[kind]) == system


@pytest.mark.parametrize(
    ("kind", "wrote"),
    [
        ("ManagedCluster", ["people", "agents", "muster"]),
        ("Placement", ["people", "muster"]),
        ("ConditionPolicy", ["people"]),
        ("ClusterProfile", ["muster"]),
        ("Lease", ["agents", "muster"]),
    ],
)
def test_who_writes_a_kind(kind: str, wrote: list[str]) -> None:
    assert [*writers(BY_NAME[kind])] == wrote


def test_every_short_name_is_one_that_get_takes(muster: Run) -> None:
    code, out, _ = muster("api-resources", "-o", "json")
    assert code == 0
    for row in json.loads(out):
        for word in row["shortNames"]:
            assert any(kind.name == row["kind"] for kind in kinds_named(word))
    assert "mcl" in short_names(BY_NAME["ManagedCluster"])


def test_a_table_and_names(muster: Run) -> None:
    heading, *rows = muster("api-resources")[1].splitlines()
    assert heading.split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "WRITTEN", "BY", "SYSTEM"]
    systems = [row.split()[-1] for row in rows]
    assert sorted(systems, key=SYSTEMS.index) == systems
    assert len(rows) == len(muster("api-resources", "-o", "name")[1].splitlines()) > 30
