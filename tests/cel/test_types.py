"""Types: their notation, their identity, and what caches see of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    FieldType,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OpaqueType,
    OptionalType,
    StringType,
    Type,
    TypeParam,
    TypeType,
    canonical,
    parse_type,
    parts,
    rebuild,
)

SCALARS = (INT, UINT, DOUBLE, BOOL, STRING, BYTES, NULL, TIMESTAMP, DURATION, TYPE, DYN)

types = st.recursive(
    st.sampled_from([*SCALARS, OpaqueType("net.IP"), TypeParam("A")]),
    lambda inner: st.one_of(
        st.builds(ListType, inner),
        st.builds(MapType, inner, inner),
        st.builds(OptionalType, inner),
        st.builds(NullableType, inner),
        st.builds(TypeType, inner),
        st.builds(OpaqueType, st.just("tuple"), st.tuples(inner, inner, inner)),
    ),
    max_leaves=8,
)


@given(types)
def test_notation_reads_back(type_: Type) -> None:
    assert parse_type(str(type_)) == type_


@given(types)
def test_a_type_is_its_parts_rebuilt(type_: Type) -> None:
    assert rebuild(type_, parts(type_)) == type_


@given(types, types)
def test_canonical_forms_agree_exactly_where_types_do(one: Type, other: Type) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


@pytest.mark.parametrize("text", ["", "list(", "list(int))", "1", "map(int,)", "a b", "int)", "(int)"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a type"):
        parse_type(text)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (" map( string , list(int) ) ", MapType(STRING, ListType(INT))),
        ("google.protobuf.Timestamp", TIMESTAMP),
        ("null", NULL),
        ("type_param:Key", TypeParam("Key")),
        ("kubernetes.Quantity", OpaqueType("kubernetes.Quantity")),
    ],
)
def test_other_ways_to_write(text: str, type_: Type) -> None:
    assert parse_type(text) == type_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (STRING, StringType(max_length=5)),
        (STRING, StringType(values=("a",))),
        (ListType(INT), ListType(INT, 3)),
        (MapType(STRING, INT), MapType(STRING, INT, 3)),
        (ObjectType("o", {"a": FieldType(INT)}), ObjectType("o", {"a": FieldType(INT, required=True)})),
        (ObjectType("o", {"a": FieldType(INT)}), ObjectType("o", {"a": FieldType(INT)}, additional=DYN)),
        (ObjectType("o", {"a": FieldType(INT)}), ObjectType("p", {"a": FieldType(INT)})),
    ],
)
def test_refinements_count_in_identity_and_canonical_form(one: Type, other: Type) -> None:
    assert one != other
    assert canonical(one) != canonical(other)


def test_objects_are_values() -> None:
    one, other = (ObjectType("o", {"a": FieldType(ListType(INT))}) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1
    assert canonical(one) == canonical(other)
    assert one != "o"
