"""What budgets hold back, under a table."""

from muster.features.get.held import held_lines


def test_what_is_held_is_said_once_for_each_reason() -> None:
    def held(name: str, reason: str) -> dict[str, str]:
        return {"kind": "Cluster", "namespace": "", "name": name, "effect": "removal", "reason": reason}

    bodies = [{"kind": "Cluster", "metadata": {"name": name}} for name in "ab"]
    told = held_lines([held("a", "full"), held("b", "full"), held("b", "cooling"), held("c", "full")], bodies)
    assert list(told) == ["1 effect is held: cooling", "2 effects are held: full"]
