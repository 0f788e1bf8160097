"""How receivers are configured, and how an event is tried again."""

from datetime import timedelta
from typing import Any

import pytest

from muster.data.tree import Tree
from muster.features.pulses.sinks import (
    DeliveryError,
    RetryPatience,
    SinkSettings,
    address,
    credentials,
    deliver,
    sink_settings,
)


def settings(**more: Any) -> SinkSettings:
    [found] = sink_settings({"pulses": {"sinks": [{"name": "hub", "url": "https://x", **more}]}})
    return found


def test_what_is_not_said_has_a_default_and_times_have_bounds() -> None:
    assert settings() == SinkSettings(
        "hub", "https://x", "structured", timedelta(seconds=10), 4, timedelta(milliseconds=500), "", "", ""
    )
    assert settings(timeout="0s").timeout == timedelta(milliseconds=100)
    assert settings(timeout="9000h").timeout == timedelta(hours=1)
    assert settings(backoff="9000h").backoff == timedelta(hours=1)


def test_of_two_with_one_name_the_first_counts() -> None:
    sinks = [{"name": "hub", "url": "https://a"}, {"name": "hub", "url": "https://b"}]
    assert [sink.url for sink in sink_settings({"pulses": {"sinks": sinks}})] == ["https://a"]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://x", ("x", None)),
        ("http://[::1]:8080/p", ("::1", 8080)),
        ("ftp://x", None),
        ("https://", None),
        ("https://x:0", None),
        ("https://x:99999", None),
        ("https://ada@x", None),
        ("https://[x", None),
    ],
)
def test_an_address_is_a_scheme_and_a_host_without_a_user(url: str, found: tuple[str, int | None] | None) -> None:
    if found is not None:
        assert address(url, "http", "https") == found
        return
    with pytest.raises(DeliveryError) as refused:
        address(url, "http", "https")
    assert (refused.value.again, refused.value.unreachable) == (False, True)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HOME", "/root", "begin with MUSTER_SINK_"),
        ("MUSTER_SINK_A", "", "is not set"),
        ("MUSTER_SINK_A", "Bearer x\r\nEvil: y", "line break"),
    ],
)
def test_credentials_are_those_that_are_meant_for_sinks(name: str, value: str, said: str) -> None:
    with pytest.raises(DeliveryError, match=said) as refused:
        credentials(settings(credentialsFrom=name), {name: value})
    assert not refused.value.again
    assert credentials(settings(), {}) == ""
    assert credentials(settings(credentialsFrom="MUSTER_SINK_A"), {"MUSTER_SINK_A": "Bearer x"}) == "Bearer x"


class Flaky:
    """Refuses as it is told to, then takes the event."""

    def __init__(self, *errors: DeliveryError) -> None:
        self.errors, self.asked = list(errors), 0

    def send(self, event: Tree) -> None:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)

    def close(self) -> None:
        """Nothing is open."""


def down(**more: Any) -> DeliveryError:
    return DeliveryError("down", **more)


@pytest.mark.parametrize(
    ("errors", "attempts", "asked", "slept", "arrives"),
    [
        ([], 4, 1, [], True),
        ([down(), down()], 4, 3, [1.0, 2.0], True),
        ([down()] * 4, 4, 4, [1.0, 2.0, 4.0], False),
        ([down(again=False)], 4, 1, [], False),
        ([down(after_seconds=7)], 4, 2, [7.0], True),
        ([down(after_seconds=9000)], 4, 2, [30.0], True),
        ([down()], 1, 1, [], False),
    ],
)
def test_an_event_is_tried_again_after_longer_and_longer_pauses(
    errors: list[DeliveryError], attempts: int, asked: int, slept: list[float], *, arrives: bool
) -> None:
    pauses: list[float] = []
    sink = Flaky(*errors)
    patience = RetryPatience(pauses.append, lambda: 0.5)
    if arrives:
        deliver(sink, settings(attempts=attempts, backoff="1s"), {}, patience)
    else:
        with pytest.raises(DeliveryError, match="down"):
            deliver(sink, settings(attempts=attempts, backoff="1s"), {}, patience)
    assert (sink.asked, pauses) == (asked, slept)
