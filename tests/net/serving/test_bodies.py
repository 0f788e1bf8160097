"""The memory for bodies: shares, refusals, and what is free again."""

from contextlib import ExitStack

from muster.net.serving.bodies import BodyBudget

MIB = 1 << 20


def refusal(stack: ExitStack, budget: BodyBudget, sender: str, length: int) -> int:
    found = stack.enter_context(budget.reserve(sender, length))
    return 0 if found is None else found.status


def test_a_sender_has_its_share_and_all_have_the_budget() -> None:
    budget = BodyBudget(10 * MIB)
    with ExitStack() as stack:
        assert [refusal(stack, budget, "a", 3 * MIB) for _ in range(2)] == [0, 429]
        assert [refusal(stack, budget, name, 3 * MIB) for name in "bcd"] == [0, 0, 503]
        assert refusal(stack, budget, "a", 16_000) == 0
        assert budget.taken == 9 * MIB
    assert budget.taken == 0


def test_one_body_is_received_however_small_the_budget_is() -> None:
    budget = BodyBudget(MIB)
    with ExitStack() as stack:
        assert refusal(stack, budget, "a", 5 * MIB) == 0
        assert refusal(stack, budget, "b", 5 * MIB) == 503
