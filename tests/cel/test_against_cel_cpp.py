"""cel-cpp decides what CEL means: the same types, the same values, or both an error."""

import re
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster import cel
from muster.cel.checker.check import check
from muster.cel.parser import parse
from muster.cel.types import (
    BOOL,
    BYTES,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    FieldType,
    ListType,
    MapType,
    ObjectType,
)
from tests.cel.comparing import ERROR, comparable
from tests.cel.environment import ENVIRONMENT, STATUS, VARIABLES
from tests.cel.expressions import Grower, variable_of
from tests.cel.oracle import Oracle, declared
from tests.support.examples import often

#: What both sides can declare alike: no objects with known fields, no optionals, no enums.
NAMES = ("i", "u", "f", "b", "s", "y", "d", "x", "now", "ints", "strings", "labels", "anything")
SHARED = {name: VARIABLES[name] for name in NAMES}
WANTED = (BOOL, BOOL, INT, STRING, TIMESTAMP, ListType(INT), MapType(STRING, INT))
ORACLE = Oracle(SHARED)
seeds = st.integers(0, 2**32)


@settings(max_examples=often(130))
@given(seeds, st.integers(0, 4))
def test_the_checker_accepts_what_cel_cpp_accepts_and_gives_it_the_same_type(seed: int, depth: int) -> None:
    random = Random(seed)
    text = Grower(random, SHARED, wild=0.05).grow(random.choice(WANTED), depth)
    found = check(parse(text), replace(ENVIRONMENT, variables=SHARED), text)
    theirs = ORACLE.type_of(text)
    if any("key must be" in issue.message or "always fails" in issue.message for issue in found.issues):
        return  # cel-cpp refuses such a key or literal only when it evaluates it
    if not found.ok:
        assert theirs is None, [str(issue) for issue in found.issues]
    elif theirs is None:
        # Numbers of different types compare here, as the language definition lets them at run time.
        assert re.search(r"[<>=]=?|in", text)
    elif "{" not in text and "[]" not in text:
        # cel-cpp says map(string,int) of {'a': 1, 'b': dyn(2)}, where cel-go and we say map(string,dyn); and it
        # guesses the type of an empty list's elements from what is done with them.
        assert str(declared(found.type)) == theirs


CONDITION = ObjectType("condition", {"type": FieldType(STRING), "status": FieldType(STATUS), "n": FieldType(INT)})
REPORT = ObjectType("report", {"n": FieldType(INT), "ok": FieldType(BOOL), "list": FieldType(ListType(INT))})
SPEC = ObjectType(
    "spec", {"count": FieldType(INT), "on": FieldType(BOOL), "half": FieldType(DYN), "of": FieldType(ListType(STRING))}
)
OBJECT = ObjectType(
    "self",
    {"spec": FieldType(SPEC), "labels": FieldType(VARIABLES["labels"]), "conditions": FieldType(ListType(CONDITION))},
)
#: A whole number where the type says double is a double to us alone: the oracle does not see the type.
DATA = {**SHARED, "f": DYN, "self": OBJECT, "reports": ListType(REPORT)}
#: The oracle sees data as `dyn`, whatever the schema says, and what is no data by its type.
DATA_ORACLE = Oracle(
    {name: type_ if type_ in (TIMESTAMP, DURATION, UINT, BYTES) else DYN for name, type_ in DATA.items()}
)


def outcome(program: cel.Program, data: Mapping[str, Any]) -> Any:
    try:
        return comparable(program.evaluate(data))
    except cel.EvaluationError:
        return ERROR


def is_known(text: str, ours: Any, theirs: Any) -> bool:
    """Return whether the difference is one of those that we chose.

    cel-cpp converts bool to int, which the language definition has not; and it fails on `[1] in {}`, where cel-go and
    we say that no map has such a key. A map with the keys `true` and `1` does not survive its way to Python.
    """
    if isinstance(ours, list) and "'bool'" in repr(ours) and "{" in text:
        return True
    if "!!" in text:
        return True  # cel-cpp's parser takes two negations away, and with them the question whether it is a bool
    return ("int(" in text and ours == ERROR) or (" in " in text and theirs == ERROR)


@settings(max_examples=often(200))
@given(seeds, st.integers(1, 4))
def test_values_are_those_of_cel_cpp_whatever_the_data(seed: int, depth: int) -> None:
    random = Random(seed)
    text = Grower(random, DATA, wild=0.02).grow(random.choice(WANTED), depth)
    dynamic = cel.compile(text)
    try:
        programs = [dynamic, cel.compile(text, cel.Env(variables=DATA))]
    except cel.CompileError:
        programs = [dynamic]
    for damage in (0.0, 0.05):
        data = {name: variable_of(random, type_, damage) for name, type_ in DATA.items()}
        theirs = DATA_ORACLE.value_of(text, data)
        theirs = theirs if theirs is ERROR else comparable(theirs)
        for program in programs:
            ours = outcome(program, data)
            assert ours == theirs or is_known(text, ours, theirs), (text, ours, theirs)


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("int(true)", ERROR, ("int", 1)),
        ("[1] in {'a': 1}", ("bool", False), ERROR),
        ("1.0 == 1", ("bool", True), ("bool", True)),
    ],
)
def test_known_differences_are_what_they_are_said_to_be(text: str, ours: Any, theirs: Any) -> None:
    assert outcome(cel.compile(text), {}) == ours
    found = DATA_ORACLE.value_of(text, {})
    assert (found if found is ERROR else comparable(found)) == theirs
