"""A plan as a comment: found again by its first line, within what a forge takes, with its totals whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.features.plan.comment import MARKER, MAX_BYTES, Comment, comment_text, is_comment
from muster.features.plan.effects import Row, Section
from tests.cli.test_markdown import HOSTILE, parsed, shape
from tests.support.examples import often


def section(names: list[str], title: str = "Placements", *, first: bool = True) -> Section:
    return Section(title, f"clusters: {len(names)}", [Row("shop/web", "loses", names)], first)


def finding(message: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(Code.FIELD_SET_TWICE, severity, message, "a.yaml", 3, 1, hint="mend it")


def test_a_short_one_is_whole() -> None:
    comment = Comment(
        "Plan: 1 cluster Unknown",
        "What it is about.",
        [section(["a", "b"]), section(["c"], "Conditions", first=False)],
        [finding("a|b"), finding("c", Severity.WARNING)],
        [finding("gone")],
    )
    assert (
        comment_text(comment)
        == f"""{MARKER}
### Plan: 1 cluster Unknown

What it is about.

- **Placements**: clusters: 2
- **Conditions**: clusters: 1
- **New findings**: 1 error, 1 warning
- **Mended**: 1 error

<details open><summary><b>New findings</b>: 1 error, 1 warning</summary>

| finding | where | what is wrong | what to do |
| --- | --- | --- | --- |
| **error** MUS101 | <code>a&#46;yaml&#58;3&#58;1</code> | <code>a&#124;b</code> | <code>mend it</code> |
| warning MUS101 | <code>a&#46;yaml&#58;3&#58;1</code> | <code>c</code> | <code>mend it</code> |

</details>

<details open><summary><b>Placements</b>: clusters: 2</summary>

| what | how | which |
| --- | --- | --- |
| <code>shop&#47;web</code> | <code>loses</code> | <code>a</code>, <code>b</code> |

</details>

<details><summary><b>Conditions</b>: clusters: 1</summary>

| what | how | which |
| --- | --- | --- |
| <code>shop&#47;web</code> | <code>loses</code> | <code>c</code> |

</details>

<details><summary><b>Mended</b>: 1 error</summary>

| finding | where | what is wrong | what to do |
| --- | --- | --- | --- |
| **error** MUS101 | <code>a&#46;yaml&#58;3&#58;1</code> | <code>gone</code> | <code>mend it</code> |

</details>
"""
    )


@pytest.mark.parametrize("number", [9, 300, 5_000, 100_000])
def test_many_names_are_folded_then_left_out_and_counted_all_the_same(number: int) -> None:
    text = comment_text(Comment("t", "a", [section([f"cluster-{n:06}" for n in range(number)])]))
    assert f"- **Placements**: clusters: {number}" in text
    assert f"<details><summary>and {number - 8} more</summary>" in text
    assert len(text.encode()) <= MAX_BYTES
    if number > 1000:
        assert "that are left out here" in text
    assert is_comment(text)


def test_where_nothing_fits_the_totals_do() -> None:
    sections = [
        Section(f"Sort {n}", "9999 clusters", [Row(f"{n} {m}" * 60, "how" * 100, ["x" * 250] * 50) for m in range(60)])
        for n in range(9)
    ]
    text = comment_text(Comment("t", "a", sections, [finding("m" * 500)] * 3000))
    assert len(text.encode()) <= MAX_BYTES
    assert all(f"- **Sort {n}**: 9999 clusters" in text for n in range(9))
    assert "- **New findings**: 3000 errors" in text
    smallest = comment_text(Comment("t", "a", sections, [finding("m")] * 3000), most=1500)
    assert "This is too much for a comment" in smallest
    assert is_comment(text)
    assert is_comment(smallest)
    assert len(smallest.encode()) <= 1500


@pytest.mark.parametrize(
    "more",
    [
        "@org",
        "&#64;org",
        "<code>&#64;</code>@",
        "#1",
        "a/b#1",
        "[x](y)",
        "![x](y)",
        "https://evil.example",
        "www.evil.example",
        "www<b></b>.evil.example",
        "www<code></code>.evil",
        "<script>",
        "<img src=x>",
        "<a href=x>",
        "<code><b></code>",
        "<!-- x -->",
        "`x`",
        "\u202e",
        "\x00",
        "\r",
        "$x$",
        "~x~",
        "<details onclick=x>",
        "> quote",
        "![",
        "x:y",
        "!1",
        "*x*",
        "_x_",
        "\\",
    ],
)
def test_what_muster_does_not_write_is_no_comment(more: str) -> None:
    text = comment_text(Comment("t", "a", [section(["a"])]))
    assert is_comment(text)
    assert not is_comment(f"{text}{more}\n")
    assert not is_comment(text.replace("| what |", f"| {more} |"))
    assert not is_comment(f"{more}\n{text}")
    assert not is_comment(text + "x" * MAX_BYTES)


names = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=30)), min_size=1, max_size=30)


@settings(max_examples=often(20))
@given(names, st.sampled_from(HOSTILE))
def test_nothing_in_a_fleet_changes_what_the_page_consists_of(found: list[str], text: str) -> None:
    def page(named: list[str], said: str) -> str:
        return comment_text(Comment("t", "a", [Section("S", "3", [Row(said, said, named)])], [finding(said)]))

    made = page(found, text)
    assert is_comment(made)
    assert made.count(MARKER) == 1
    assert made.startswith(MARKER)
    assert shape(parsed(made)) == shape(parsed(page(["x"] * len(found), "plain")))


def test_a_title_with_several_items_is_one_of_ours() -> None:
    assert is_comment(comment_text(Comment("Plan: a Unknown; web moved to b; and 2 more", "What it is about.")))
