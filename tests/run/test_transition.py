"""Changes that are kept by object read as a plain list of them does."""

from hypothesis import given
from hypothesis import strategies as st

from muster.data.kinds import CLUSTER_CLAIM, MANAGED_CLUSTER
from muster.run.facts import Fact
from muster.run.transition import Transition, TransitionsByObject, by_object, net_changes

IDS = (MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b"), CLUSTER_CLAIM.id("c", "default"))
FACTS = st.none() | st.builds(
    Fact, st.sampled_from(("condition", "taint")), st.sampled_from(("Ready", "x")), word=st.sampled_from(("", "ready"))
)
CHANGES = st.lists(st.builds(Transition, st.sampled_from(IDS), FACTS, FACTS, st.sampled_from(("", "rule"))))


def parts(changes: list[Transition]) -> list[tuple[object, ...]]:
    """All of each change: facts are equal whatever their words are."""
    facts = [(one.was, one.now) for one in changes]
    return [(one.object, one.source, *map(repr, both)) for one, both in zip(changes, facts, strict=True)]


@given(CHANGES, st.slices(8))
def test_they_read_as_a_list(plain: list[Transition], some: slice) -> None:
    plain.sort(key=lambda change: change.object)
    found = TransitionsByObject(reversed([*by_object(plain)]))
    assert len(found) == len(plain)
    assert parts(list(found)) == parts(plain)
    assert parts(found[some]) == parts(plain[some])
    if plain:
        assert parts([found[-1]]) == parts(plain[-1:])


def test_of_several_passes_the_first_and_the_last_count() -> None:
    def bucket(text: str) -> Fact:
        return Fact("bucket", text=text)

    cluster, pool, note = *IDS[:2], Fact("note", "owner")
    passes = [
        Transition(cluster, bucket("claimed"), bucket("marked"), "one"),
        Transition(pool, note, None),
        Transition(cluster, None, held := Fact("held", "x")),
        Transition(cluster, None, note),
        Transition(cluster, bucket("marked"), bucket("deleting"), "two"),
        Transition(cluster, held, None),
    ]
    assert net_changes(passes) == [
        Transition(cluster, bucket("claimed"), bucket("deleting"), "two"),
        Transition(pool, note, None),
    ]


def test_objects_with_equal_changes_share_them() -> None:
    first = [Transition(id_, None, Fact("condition", "Ready", word="ready"), "rule") for id_ in IDS]
    assert len({id(rows) for _, rows in by_object(first)}) == 1
