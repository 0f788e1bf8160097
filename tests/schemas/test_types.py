"""The CEL type checker reads the schemas: what it must see in them."""

import pytest

from muster.cel.schema import type_from_schema
from muster.cel.types import ListType, MapType, NullableType, ObjectType, StringType, Type
from muster.data.kinds import ALL, Kind
from tests.schemas.loading import schemas

DOCUMENTS = {f"{stem}.json": schema for stem, schema in schemas().items()}


def type_at(stem: str, path: str) -> Type:
    """The type of a field; `[]` steps into a list or map, null aside."""
    found = type_from_schema(schemas()[stem], temporal=True, documents=DOCUMENTS)
    for step in path.split("."):
        if isinstance(found, NullableType):
            found = found.element
        if step == "[]":
            assert isinstance(found, ListType | MapType), path
            found = found.element if isinstance(found, ListType) else found.value
        else:
            assert isinstance(found, ObjectType), path
            found = found.fields[step].type
    return found


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_every_kind_is_an_object_with_typed_metadata(kind: Kind) -> None:
    assert isinstance(type_at(kind.schema, "metadata"), ObjectType)
    assert isinstance(type_at(kind.schema, "metadata.labels.[]"), StringType)


@pytest.mark.parametrize(
    ("stem", "path", "expected"),
    [
        ("lease", "spec.renewTime", "wrapper(timestamp)"),
        ("managedcluster", "spec.leaseDurationSeconds", "int"),
        ("managedcluster", "spec.taints.[].timeAdded", "wrapper(timestamp)"),
        ("managedcluster", "status.conditions.[].lastTransitionTime", "wrapper(timestamp)"),
        ("cluster", "status.conditions.[].observedGeneration", "int"),
        ("clusterpool", "spec.hibernationConfig.resumeTimeout", "duration"),
        ("clusterdeployment", "spec.powerstateTransitionToRunningTimeout", "duration"),
        ("adapterreport", "spec.observed_time", "timestamp"),
        ("adapterreport", "spec.observed_generation", "int"),
        ("disruptionbudget", "spec.maxDisrupted", "dyn"),
        ("clusterpool", "spec.platform", "map(string,dyn)"),
    ],
)
def test_fields_have_the_types_that_policies_count_on(stem: str, path: str, expected: str) -> None:
    assert str(type_at(stem, path)) == expected
