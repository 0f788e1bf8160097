"""Retries are bounded and stop as soon as there is nothing to retry."""

import pytest

from muster.gitio.retry import jittered, retrying


@pytest.mark.parametrize(
    ("results", "delays", "result", "slept"),
    [
        (["ok"], [1.0, 2.0], "ok", []),
        (["moved", "ok"], [1.0, 2.0], "ok", [1.0]),
        (["moved", "moved", "ok"], [1.0, 2.0], "ok", [1.0, 2.0]),
        (["moved", "moved", "moved", "ok"], [1.0, 2.0], "moved", [1.0, 2.0]),
        (["moved", "ok"], [], "moved", []),
    ],
)
def test_tries_until_it_need_not(results: list[str], delays: list[float], result: str, slept: list[float]) -> None:
    waited: list[float] = []
    left = iter(results)
    found = retrying(lambda: next(left), lambda outcome: outcome == "moved", delays=delays, sleep=waited.append)
    assert (found, waited) == (result, slept)


def test_an_error_is_not_retried() -> None:
    def fail() -> str:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        retrying(fail, lambda _: True, delays=[1.0], sleep=lambda _: None)


@pytest.mark.parametrize(("share", "delays"), [(0.0, [0, 0, 0, 0]), (0.5, [0.5, 1, 2, 2]), (1.0, [1, 2, 4, 4])])
def test_bounds_double_up_to_the_most(share: float, delays: list[float]) -> None:
    assert list(jittered(4, base_seconds=1, most_seconds=4, random=lambda: share)) == delays
