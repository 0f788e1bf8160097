"""Renewals are taken out of a text and put back: byte for byte, whatever the text."""

from hypothesis import given
from hypothesis import strategies as st

from muster.git.record.renewals import RenewTime, packed, unpacked, with_renewals, without_renewals

NOW = 1_767_268_800  # 2026-01-01T12:00:00Z
TIMES = st.sampled_from(
    (
        "2026-01-01T11:59:40Z",
        "2026-01-01T11:59:40.25Z",
        "2026-01-01T11:59:40.000000Z",
        "2026-01-01T12:04:59Z",
        "2026-01-01T12:06:00Z",
        "2025-12-31T12:00:00Z",
        "2026-01-01T11:59:40z",
        "2026-01-01 11:59:40Z",
        "2026-01-01T11:59:40+00:00",
        "2026-13-01T11:59:40Z",
        "2026-01-01T11:59:40.1234567890Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-01-01T11:59:40.Z",
        "",
    )
)
BEFORE = st.sampled_from(
    ("renewTime: ", 'renewTime: "', '"renewTime":"', "renewTime", "renewTime:\n  ", "other: ", "é")
)
TEXTS = st.lists(st.tuples(BEFORE, TIMES, st.sampled_from(("\n", '"\n', "", "renew")))).map(
    lambda parts: "".join("".join(part) for part in parts)
)


@given(TEXTS)
def test_the_text_is_the_same(text: str) -> None:
    renewals = list[RenewTime]()
    pieces = without_renewals(text, NOW, renewals)
    digits = [len(one.fraction) for one in renewals]
    again = unpacked(packed(renewals, NOW), digits, NOW)
    assert again == renewals
    assert with_renewals(pieces, [one.text for one in again]) == text


def test_a_renewal_leaves_the_same_text() -> None:
    first, second = list[RenewTime](), list[RenewTime]()
    lease = 'spec:\n  acquireTime: "2026-01-01T00:00:00Z"\n  renewTime: "{}"\n'
    before = without_renewals(lease.format("2026-01-01T11:59:40Z") * 2, NOW, first)
    assert before == without_renewals(lease.format("2026-01-01T12:00:40Z") * 2, NOW + 60, second)
    assert first == [RenewTime(NOW - 20)]
    assert packed(first, NOW) == packed(second, NOW + 60)


def test_an_old_renewal_stays_in_the_text() -> None:
    renewals = list[RenewTime]()
    text = 'renewTime: "2025-12-31T11:00:00Z"'
    assert without_renewals(text, NOW, renewals) == [text]
    assert not renewals
