"""Which paths are read, and how those are shown that cannot be."""

import pytest

from muster.git.store.paths import Ignored, decode, is_data, printable


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("clusters/ä.yaml".encode(), "clusters/ä.yaml", ""),
        (b"a\xff.yaml", "a\\xff.yaml", "not-utf8-path"),
        (b"a\nb.yaml", "a\\nb.yaml", "control-characters"),
        ("a\u2028b.yaml".encode(), "a\\u2028b.yaml", "control-characters"),
        (b"\x1b[31m.yaml", "\\x1b[31m.yaml", "control-characters"),
        (b"a/git~1/b.yaml", "a/git~1/b.yaml", "dotgit"),
    ],
)
def test_a_path_is_text_or_says_why_not(path: bytes, text: str, fault: str) -> None:
    assert decode(path) == (text, fault)
    assert printable(path) == text
    assert is_data(path)


@pytest.mark.parametrize(
    ("patterns", "path", "named"),
    [
        ("*.tmp.yaml", "a/b.tmp.yaml", True),
        ("/drafts/", "drafts/a.yaml", True),
        ("/drafts/", "more/drafts/a.yaml", False),
        ("*.yaml\n!keep.yaml", "a/keep.yaml", False),
        ("# *.yaml\n", "a.yaml", False),
        ("*", "derived/managedclusters/a.yaml", False),
        ("**/x", "y/x", True),
    ],
)
def test_ignored_as_git_would_but_never_what_muster_wrote(patterns: str, path: str, *, named: bool) -> None:
    assert (path in Ignored(patterns.encode())) is named


def test_a_line_that_is_no_pattern_is_said_and_the_others_count() -> None:
    ignored = Ignored(b"!\n*.tmp.yaml\n")
    assert ignored.faults == ("line 1 is not a pattern",)
    assert "a.tmp.yaml" in ignored
