"""What eats bytes that somebody else wrote takes what readers stumble over, and what it is meant for."""

import pytest

from tests.fuzz.targets import NASTY, TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_what_others_stumble_over(name: str) -> None:
    for data in NASTY:
        TARGETS[name].eat(data)


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"loader", "fleet"}))
def test_a_target_makes_something_of_what_it_is_meant_for_and_takes_half_of_it(name: str) -> None:
    """A fuzzer whose every seed is refused at the door looks at nothing behind it."""
    seeds = list(TARGETS[name].seeds())
    assert [seed for seed in seeds if not TARGETS[name].eat(seed)] == []
    assert seeds
    for seed in seeds:
        TARGETS[name].eat(seed[: len(seed) // 2])


@pytest.mark.parametrize("name", ["certificates", "requests", "signatures", "relays"])
def test_a_target_takes_what_it_is_meant_for_with_any_byte_another(name: str) -> None:
    """A signature with a key on a curve that there is not once ended each run in a fleet that asks for signatures."""
    for seed in TARGETS[name].seeds():
        for at in range(len(seed)):
            TARGETS[name].eat(seed[:at] + bytes((seed[at] ^ 1,)) + seed[at + 1 :])
