"""Each adapter notices nearly every alteration of what its cases expect, and those that it does not are listed."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.conformance.mutation import AREAS, REQUIRED, mappings, noticed, other, unlisted, with_leaf
from tests.conformance.unnoticed import UNNOTICED

CASES = Path(__file__).parent / "cases"
#: What decides how a case is run: here it is of no kind that there is.
STRANGE = {"hive": {"reconcile": {"kind": "Moon"}}}


@pytest.fixture(scope="module", params=sorted(AREAS))
def area(request: pytest.FixtureRequest) -> str:
    """One area after the other, so that its evaluations are shared by all tests."""
    return str(request.param)


@pytest.mark.sampled(3)
def test_alterations_are_noticed_or_listed_with_a_reason(area: str) -> None:
    found = noticed(AREAS[area], CASES)
    assert found.tried > 300
    assert found.share >= REQUIRED
    assert unlisted(area, found) == []
    places = [line.partition(" = ")[0] for line in found.missed]
    stale = [known for known in UNNOTICED.get(area, {}) if not any(fnmatchcase(place, known) for place in places)]
    assert stale == [], "listed, and noticed all the same"


@pytest.mark.sampled(3)
def test_a_key_that_nobody_knows_is_never_passed_over(area: str) -> None:
    """It is named as the reason of a skip, unless something else about it is wrong."""
    tried, passed_over = 0, []
    for case in AREAS[area].cases(CASES):
        for path in mappings(case["expect"]):
            outcome = AREAS[area].judge({**case, "expect": with_leaf(case["expect"], (*path, "moon"), "full")})
            tried += outcome.status != "passed"
            if outcome.status == "passed" or (not path and outcome.status == "failed" and "moon" not in outcome.actual):
                passed_over.append((outcome.name, path))
    assert tried > 140
    assert passed_over == []


def test_an_input_that_nobody_knows_skips_the_case_by_name(area: str) -> None:
    if area == "cel":
        pytest.skip("its cases are of another form; test_cel has them")
    case = next(case for case in AREAS[area].cases(CASES) if AREAS[area].judge(case).status == "passed")
    for strange in ({**case, "moon": "full"}, {**case, "given": {**case["given"], "moon": "full"}}):
        outcome = AREAS[area].judge(strange)
        assert outcome.status == "skipped"
        assert "moon" in outcome.actual


def test_what_is_here_is_understood(area: str) -> None:
    """None of the cases that the project ships is skipped because an adapter does not understand it."""
    outcomes = (AREAS[area].judge(case) for case in AREAS[area].cases(CASES))
    assert [outcome.name for outcome in outcomes if outcome.actual.startswith("nothing here understands")] == []


def test_alternatives_may_stand_anywhere(area: str) -> None:
    """Of every part of an expectation: as one of two it passes, and beside something else alone it does not."""
    if area == "cel":
        pytest.skip("its cases are of another form; test_cel has them")
    tried = 0
    for case in AREAS[area].cases(CASES)[::7]:
        if AREAS[area].judge(case).status != "passed":
            continue
        for key, value in case["expect"].items():
            if key in ("note", "order_unspecified", "assignments", "outcomes"):
                continue
            either = {**case, "expect": {**case["expect"], key: {"any_of": [other(value), value]}}}
            assert AREAS[area].judge(either).status == "passed", (case["id"], key)
            tried += 1
    assert tried > 10


def test_what_is_no_case_fails_by_name_and_stops_no_other(area: str) -> None:
    if area == "cel":
        pytest.skip("its cases are of another form; test_cel has them")
    sound = next(case for case in AREAS[area].cases(CASES) if AREAS[area].judge(case).status == "passed")
    strange = {**sound, **STRANGE.get(area, {"area": "astrology"})}
    broken = [
        "a text",
        None,
        {},
        strange,
        {**sound, "id": 7},
        {**sound, "area": None},
        {**sound, "given": []},
        {**sound, "given": {}},
        {**sound, "expect": None},
    ]
    assert {AREAS[area].judge(case).status for case in broken} == {"failed"}
    AREAS[area].judge({**sound, "given": {**sound["given"], "objects": [{"kind": "Cluster"}, 7]}})
    assert AREAS[area].judge(sound).status == "passed"
