"""Every damage of every derived file of the example fleet: no fault, and the run ends."""

import itertools
import os

import pytest

from tests.support.damages import damages, example, faults

STRIDE = 12
#: No file of the example fleet has more damages.
MOST = int(os.environ.get("ROUNDS", "384"))


@pytest.mark.parametrize("first", range(0, MOST, STRIDE))
def test_no_damage_of_a_derived_file_is_a_fault(first: int) -> None:
    texts = example()
    by_path = {path: [*damages(text)] for path, text in texts.items() if path.startswith("derived/")}
    for number in itertools.islice(itertools.count(first), STRIDE):
        damaged = {path: every[number] for path, every in by_path.items() if number < len(every)}
        if damaged:
            assert faults({**texts, **damaged}) == [], number


def test_no_file_has_more_damages() -> None:
    assert max(len([*damages(text)]) for path, text in example().items() if path.startswith("derived/")) <= MOST
