"""The policy library: each policy passes its tests, which cover it whole, and is copied with what it needs."""

import pytest

from muster.features.init.library import files_of, library
from muster.features.test.coverage import Coverage
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import run_tests
from muster.run.checking import check_snapshot


def test_there_are_thirty() -> None:
    assert len(library()) >= 30
    assert [about for about in library().values() if not about.endswith((".", "?"))] == []


@pytest.mark.parametrize("name", library())
def test_a_policy_passes_its_tests(name: str) -> None:
    files = files_of([name])
    fleet = check_snapshot(MemorySnapshot({f"policies/{path}": text for path, text in files.items()}))
    assert [finding.message for finding in fleet.findings] == []
    covered = Coverage()
    results = run_tests(fleet, coverage=covered)
    assert results, "it has no tests"
    assert [(result.case, result.failures) for result in results if result.failures] == []
    assert [policy for policy in covered.policies if policy.missing] == []


def test_all_of_them_go_together() -> None:
    files = files_of([*library()])
    fleet = check_snapshot(MemorySnapshot({f"policies/{path}": text for path, text in files.items()}))
    assert [(result.case, result.failures) for result in run_tests(fleet) if result.failures] == []


def test_what_a_policy_needs_comes_along() -> None:
    assert set(files_of(["node-pressure-taint"])) == {
        "node-pressure-taint.yaml",
        "node-pressure-taint.test.yaml",
        "nodes-healthy.yaml",
        "nodes-healthy.test.yaml",
    }


def test_a_misspelt_name_says_which_is_near() -> None:
    with pytest.raises(ValueError, match="has no 'quarantin'. did you mean 'quarantine'"):
        files_of(["quarantin"])
