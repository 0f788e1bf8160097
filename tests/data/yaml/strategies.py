"""Random trees and texts, leaning towards what YAML readers stumble over."""

from hypothesis import strategies as st

from muster.data.tree import Tree

#: Every slug that a problem can carry.
KINDS = (
    "alias", "control-character", "depth", "directive", "duplicate-key", "encoding", "key", "merge-key",
    "not-a-mapping", "number", "size", "syntax", "tab", "tag", "too-many-problems", "too-many-values",
)  # fmt: skip

#: Strings that some reader takes for something else, or for structure.
TRICKY = (
    "", " ", "~", "null", "Null", "true", "False", "yes", "NO", "on", "Off", "y", "N", "=", "<<", "0", "-1",
    "017", "0x1", "0o7", "0b1", "1_000", "1.5", ".5", "1e3", "624e76", "624e769365028171",
    "0259173248980282", ".inf", "-.INF", ".nan", "1:30", "1:30:45", "2026-01-01", "2026-01-01T00:00:00Z",
    "2026-01-01 00:00:00", "-", "- a", "--- a", "---", "...", "?", "? a", ":", "a:", "a: b", ": a", "a:b",
    "#", "a #b", "a# b", "&a", "*a", "!a", "!!str a", "|", ">", "%a", "@a", "`a`", "'", '"', "'a'", '"a"',
    "[a]", "{a: b}", "a, b", "a\tb", "\ta", "a\n", "\n", "a\n\nb", "a\n b\n", " a\nb", "a \nb", "a\r\nb",
    "a\rb", "\x00", "\x1b[0m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\uffff", "\U0001f600", "\\",
    "\\n", "é", "漢字", "a  b", "a ", "https://x.example:6443/a?b=c", "self.spec.x >= 5 && !has(lease)",
    "#a\nb", "---\na", "a\n---\n",
)  # fmt: skip

characters = st.characters(exclude_categories=["Cs"])
strings = st.one_of(
    st.sampled_from(TRICKY),
    st.text(characters, max_size=20),
    st.text(st.sampled_from("ab:#- \n\t'\"{}[],&*!|>%@?0.e\r"), max_size=12),
)
keys = st.one_of(st.sampled_from(("a", "b", "kind", "name")), strings)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    strings,
)


def _collections(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(st.lists(children, max_size=4), st.dictionaries(keys, children, max_size=4))


trees: st.SearchStrategy[Tree] = st.recursive(scalars, _collections, max_leaves=15)
mappings: st.SearchStrategy[dict[str, Tree]] = st.dictionaries(keys, trees, max_size=5)
