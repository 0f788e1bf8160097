"""Every case of Open Cluster Management that is here passes, and the adapter can tell when one does not."""

from pathlib import Path

import pytest

from tests.conformance import ocm

CASES = {case["id"]: case for case in ocm.cases(Path(__file__).parent / "cases")}


@pytest.mark.parametrize("id_", CASES)
def test_case(id_: str) -> None:
    outcome = ocm.judge(CASES[id_])
    if outcome.status == "skipped":
        pytest.skip(outcome.actual)
    assert outcome.status == "passed", f"expected {outcome.expected}, is {outcome.actual}"


def test_cases_of_other_forms_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("cases: [{id: x, area: hibernation, given: {objects: []}}]", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("- {id: x}", encoding="utf-8")
    assert list(ocm.cases(tmp_path)) == []
