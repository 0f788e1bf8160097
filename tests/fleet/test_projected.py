"""The record of the files that Projections write."""

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.derived import content_id
from muster.fleet.projected import PROJECTIONS, is_as_recorded, record_of, recorded_files, records

FILE = "derived/projections/flux/a.yaml"


def decided(path: tuple[str, ...], value: Tree) -> Decision:
    return Decision(MANAGED_CLUSTER.id("a"), path, value, Because("r", OF_ITSELF))


def test_a_record_names_the_file_and_its_content() -> None:
    record = record_of(FILE, "x\n")
    assert record == {"file": FILE, "digest": content_id(b"x\n")[:12]}
    assert is_as_recorded(record, content_id(b"x\n"))
    assert not is_as_recorded(record, content_id(b"y\n"))
    assert not is_as_recorded(record, None)


def test_records_are_found_however_they_were_decided() -> None:
    record = record_of(FILE, "x\n")
    for path, value in (
        ((*PROJECTIONS, "flux"), record),
        (PROJECTIONS, {"flux": record}),
        (PROJECTIONS[:2], {"projections": {"flux": record}, "held": []}),
    ):
        assert records({path: decided(path, value)}) == {"flux": record}
        assert list(recorded_files({path: decided(path, value)})) == [FILE]


def test_what_is_no_record_does_not_count() -> None:
    for path, value in (
        ((*PROJECTIONS, "flux"), None),
        ((*PROJECTIONS, "flux"), {"file": "clusters/a/cluster.yaml", "digest": ""}),
        (PROJECTIONS, "text"),
        (PROJECTIONS[:2], {"projections": {"flux": "text"}}),
        (("status", "conditions", "A"), {}),
    ):
        assert records({path: decided(path, value)}) == {}
