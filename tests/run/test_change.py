"""Changes that are kept by object read as a plain list of them does."""

from hypothesis import given
from hypothesis import strategies as st

from muster.data.kinds import CLUSTER_CLAIM, MANAGED_CLUSTER
from muster.run.change import Change, ChangesByObject, by_object
from muster.run.facts import Fact

IDS = (MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b"), CLUSTER_CLAIM.id("c", "default"))
FACTS = st.none() | st.builds(
    Fact, st.sampled_from(("condition", "taint")), st.sampled_from(("Ready", "x")), word=st.sampled_from(("", "ready"))
)
CHANGES = st.lists(st.builds(Change, st.sampled_from(IDS), FACTS, FACTS, st.sampled_from(("", "rule"))))


def parts(changes: list[Change]) -> list[tuple[object, ...]]:
    """All of each change: facts are equal whatever their words are."""
    facts = [(one.was, one.now) for one in changes]
    return [(one.object, one.source, *map(repr, both)) for one, both in zip(changes, facts, strict=True)]


@given(CHANGES, CHANGES, st.slices(8))
def test_they_read_as_a_list(first: list[Change], later: list[Change], some: slice) -> None:
    first.sort(key=lambda change: change.object)
    found, plain = ChangesByObject(reversed([*by_object(first)]), later), [*first, *later]
    assert len(found) == len(plain)
    assert parts(list(found)) == parts(plain)
    assert parts(found[some]) == parts(plain[some])
    if plain:
        assert parts([found[-1]]) == parts(plain[-1:])


def test_objects_with_equal_changes_share_them() -> None:
    first = [Change(id_, None, Fact("condition", "Ready", word="ready"), "rule") for id_ in IDS]
    assert len({id(rows) for _, rows in by_object(first)}) == 1
