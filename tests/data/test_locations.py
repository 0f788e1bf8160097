"""Where derived files lie: every valid name has a file that every machine can write, and no two names share one."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.ids import ObjectId
from muster.data.kinds import ALL, LEASE, MANAGED_CLUSTER
from muster.data.locations import SHARDS, derived_path, is_derived_path, is_safe

NAMES = st.one_of(
    st.from_regex(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,20}", fullmatch=True),
    st.from_regex(r"(con|nul|COM1|lpt9)(\.[a-z]{1,3})?", fullmatch=True),
    st.integers(min_value=245, max_value=253).map(lambda length: "a" * length),
).filter(is_safe)


def path_of(name: str, shards: int = 1) -> str:
    return derived_path(MANAGED_CLUSTER.id(name), shards)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("prod-eu-1", "prod-eu-1.yaml"),
        ("a.b.c", "a.b.c.yaml"),
        ("a" * 250, "a" * 250 + ".yaml"),
        ("a" * 251, "a" * 200 + "@772f911dd9d66928.yaml"),
        ("a" * 253, "a" * 200 + "@32859a3ab65ac529.yaml"),
        ("con", "con@1143da2bc54c495c.yaml"),
        ("nul.eu.example", "nul_eu_example@01ac5a665b93aaef.yaml"),
        ("console", "console.yaml"),
        ("Mixed", "mixed@f340b6d6edeff462.yaml"),
    ],
)
def test_names_as_files(name: str, file: str) -> None:
    assert path_of(name) == f"derived/managedclusters/{file}"


@pytest.mark.parametrize(
    ("shards", "folder"), [(1, ""), (16, "c/"), (256, "c2/"), (4096, "c22/"), (0, ""), (100, "c/"), (5000, "c22/")]
)
def test_shards_are_hex_digits(shards: int, folder: str) -> None:
    assert path_of("prod-eu-1", shards) == f"derived/managedclusters/{folder}prod-eu-1.yaml"


@given(first=NAMES, second=NAMES, shards=st.sampled_from(SHARDS))
def test_no_two_objects_share_a_file_also_where_case_does_not_count(first: str, second: str, shards: int) -> None:
    one = derived_path(LEASE.id(first, second), shards)
    other = derived_path(LEASE.id(second, first), shards)
    assert (one.casefold() == other.casefold()) == (first == second)


@given(name=NAMES, namespace=NAMES, shards=st.sampled_from(SHARDS))
def test_every_step_can_be_written_everywhere(name: str, namespace: str, shards: int) -> None:
    device = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
    for step in derived_path(LEASE.id(name, namespace), shards).split("/"):
        assert len(step.encode()) <= 255
        assert not device.fullmatch(step)
        assert step == step.lower()


@pytest.mark.parametrize("length", range(249, 254))
def test_the_longest_names_can_really_be_written(tmp_path: Path, length: int) -> None:
    file = tmp_path / derived_path(LEASE.id("a" * length, "b" * length), 4096)
    file.parent.mkdir(parents=True)
    file.write_text("")


@given(NAMES, NAMES, NAMES, st.sampled_from(SHARDS), st.sampled_from(SHARDS))
def test_a_path_is_an_objects_in_any_number_of_shards(
    name: str, namespace: str, other: str, shards: int, others: int
) -> None:
    ids = [MANAGED_CLUSTER.id(name), MANAGED_CLUSTER.id(other), LEASE.id(name, namespace), LEASE.id(namespace, name)]
    for id_ in ids:
        for path in (derived_path(one, number) for one in ids for number in (shards, others)):
            assert is_derived_path(path, id_) == any(path == derived_path(id_, number) for number in SHARDS)


@pytest.mark.parametrize("path", ["", "derived", "derived//a.yaml", "derived/managedclusters//a.yaml", "a/b/c/d/e/f"])
def test_other_paths_are_nobodys(path: str) -> None:
    assert not is_derived_path(path, MANAGED_CLUSTER.id("a"))


def test_no_two_kinds_share_a_folder() -> None:
    folders = [derived_path(ObjectId(kind.group, kind.name, "", "x"), 1) for kind in ALL]
    assert len(set(folders)) == len(folders)
