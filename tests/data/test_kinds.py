"""The registry of kinds: what is said of a kind is said once, and holds together."""

from muster.data.ids import ObjectId
from muster.data.kinds import ALL, BY_NAME, CLUSTERS, TAINT_EFFECTS, TARGETS, is_cluster, kind_of
from muster.fleet.schemas import schema_of


def test_a_kind_is_told_by_group_and_name() -> None:
    for kind in ALL:
        id_ = kind.id("x")
        assert kind_of(id_) is kind
        assert [one for one in ALL if one.has(id_)] == [kind]
        assert not kind.has(id_._replace(group="example.com"))
        assert is_cluster(id_) is (kind in CLUSTERS)
    assert not is_cluster(ObjectId("cluster.x-k8s.io", "Cluster", "", "x"))


def test_no_two_kinds_share_a_name_a_plural_or_a_schema() -> None:
    for names in ([k.name for k in ALL], [k.plural for k in ALL], [k.schema for k in ALL]):
        assert len(set(names)) == len(ALL)
    assert all(schema_of(kind) for kind in ALL)


def test_clusters_have_a_headline_and_take_taints() -> None:
    assert all(kind.headline for kind in CLUSTERS)
    assert TAINT_EFFECTS.keys() == {kind.name for kind in CLUSTERS}
    assert {BY_NAME[name] for name in TARGETS} == set(TARGETS.values())
    assert all(kind.counted for kind in TARGETS.values()), "adapters report on generations"
