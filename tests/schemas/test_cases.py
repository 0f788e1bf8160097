"""The objects of the conformance cases are valid: they were taken from the systems' own tests."""

from collections.abc import Iterator
from functools import cache

import pytest

from muster.data.kinds import BY_GROUP_KIND
from muster.data.tree import Tree
from tests.schemas.loading import ROOT, errors, load_yaml

CASES = ROOT / "tests" / "conformance" / "cases"
FILES = sorted(path for path in CASES.glob("*.yaml") if path.is_file())

#: Objects that upstream refuses too: the case asserts the refusal, and the schema must name the same place.
REFUSED_UPSTREAM = {
    ("remedy-validation-04", "Remedy/missing"): "$.spec.decisionMatches[0].clusterConditionMatch",
    # A test of the controller alone, with no API server that would refuse its Cluster (validateclustertaints.go).
    ("taintpolicy-add-03", "Cluster/member1"): "$.spec.taints[0].effect",
}


def objects_in(value: Tree) -> Iterator[Tree]:
    """Every mapping inside a case that has the shape of an object."""
    if isinstance(value, dict):
        if {"apiVersion", "kind", "metadata"} <= value.keys():
            yield value
        for child in value.values():
            yield from objects_in(child)
    elif isinstance(value, list):
        for child in value:
            yield from objects_in(child)


@cache
def refusals(stem: str) -> tuple[int, dict[tuple[str, str], tuple[str, ...]]]:
    """How many objects of known kinds a case file has, and the error paths of those that are refused."""
    count, refused = 0, {}
    for case in load_yaml(CASES / f"{stem}.yaml")["cases"]:
        for found in objects_in(case):
            kind = BY_GROUP_KIND.get((found["apiVersion"].rpartition("/")[0], found["kind"]))
            if kind is None:
                continue
            count += 1
            if paths := tuple(path for path, _ in errors(kind.schema, found)):
                refused[case["id"], f"{found['kind']}/{found['metadata']['name']}"] = paths
    return count, refused


@pytest.mark.parametrize("stem", [path.stem for path in FILES])
def test_only_objects_that_upstream_refuses_are_refused(stem: str) -> None:
    _, refused = refusals(stem)
    expected = {key: (place,) for key, place in REFUSED_UPSTREAM.items() if key in refused}
    assert refused == expected


def test_the_table_of_refusals_is_up_to_date_and_the_cases_are_many() -> None:
    results = [refusals(path.stem) for path in FILES]
    assert sum(count for count, _ in results) > 500
    assert {key for _, refused in results for key in refused} == set(REFUSED_UPSTREAM)
