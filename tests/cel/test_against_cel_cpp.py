"""cel-cpp decides what CEL means: the same types, the same values, or both an error."""

import re
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.cel.checker import check
from muster.cel.parser import parse
from muster.cel.types import BOOL, INT, STRING, TIMESTAMP, ListType, MapType
from tests.cel.expressions import Grower
from tests.cel.oracle import Oracle, declared
from tests.cel.surroundings import VARIABLES, Surroundings

#: What both sides can declare alike: no objects with known fields, no optionals, no enums.
NAMES = ("i", "u", "f", "b", "s", "y", "d", "x", "now", "ints", "strings", "labels", "anything")
SHARED = {name: VARIABLES[name] for name in NAMES}
WANTED = (BOOL, BOOL, INT, STRING, TIMESTAMP, ListType(INT), MapType(STRING, INT))
ORACLE = Oracle(SHARED)
seeds = st.integers(0, 2**32)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(seeds, st.integers(0, 4))
def test_the_checker_accepts_what_cel_cpp_accepts_and_gives_it_the_same_type(seed: int, depth: int) -> None:
    random = Random(seed)
    text = Grower(random, SHARED, wild=0.05).grow(random.choice(WANTED), depth)
    found = check(parse(text), Surroundings(variables=SHARED), text)
    theirs = ORACLE.type_of(text)
    if any("key must be" in issue.message for issue in found.issues):
        return  # cel-cpp refuses such a key only when it evaluates it
    if not found.ok:
        assert theirs is None, [str(issue) for issue in found.issues]
    elif theirs is None:
        # Numbers of different types compare here, as the language definition lets them at run time.
        assert re.search(r"[<>=]=?|in", text)
    elif "{" not in text:
        # cel-cpp says map(string,int) of {'a': 1, 'b': dyn(2)}, where cel-go and we say map(string,dyn).
        assert str(declared(found.type)) == theirs
