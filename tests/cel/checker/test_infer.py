"""What the checker accepts and refuses, with places and messages."""

from dataclasses import replace

import pytest

from muster.cel.ast import walk
from muster.cel.checker.check import CheckedExpression, check
from muster.cel.declarations import parse_overload
from muster.cel.env import CheckEnv
from muster.cel.parser import parse
from muster.cel.types import BOOL, DYN, INT, STRING, parse_type
from tests.cel.environment import ENVIRONMENT, VARIABLES


def checked(text: str, env: CheckEnv | None = None) -> CheckedExpression:
    return check(parse(text), env or ENVIRONMENT, text)


TYPES = [
    # literals and aggregates
    ("1", "int"),
    ("1u", "uint"),
    ("1.0", "double"),
    ("'a'", "string"),
    ("b'a'", "bytes"),
    ("true", "bool"),
    ("null", "null_type"),
    ("[]", "list(dyn)"),
    ("[1, 2]", "list(int)"),
    ("[1, 'a']", "list(dyn)"),
    ("{}", "map(dyn,dyn)"),
    ("{'a': 1}", "map(string,int)"),
    ("{'a': 1, 2: 'b'}", "map(dyn,dyn)"),
    ("[[[[[]]]], [], [[[]]]]", "list(list(list(list(list(dyn)))))"),
    ("[[], [1]]", "list(list(int))"),
    ("[1, x]", "list(dyn)"),
    ("[?maybe, 3]", "list(int)"),
    ("{?'a': maybe}", "map(string,int)"),
    ("[optional.none(), optional.of(1)]", "list(optional_type(int))"),
    ("[optional.of(1), optional.of(dyn(1))]", "list(optional_type(dyn))"),
    ("[optional.of(1), null][0]", "optional_type(int)"),
    ("[self.spec.paused, true]", "list(wrapper(bool))"),
    # names and fields
    ("self.spec.leaseDurationSeconds", "int"),
    ("self['spec'].taints[0].key", "string"),
    ("self.spec.taints[0].other", "dyn"),
    ("labels.a", "string"),
    ("labels['a']", "string"),
    ("x.a.b[3].c", "dyn"),
    ("anything.a.b", "dyn"),
    ("has(self.spec.taints)", "bool"),
    ("lease.spec.renewTime", "wrapper(timestamp)"),
    ("self.?spec.taints", "optional_type(list(taint))"),
    ("maybe.orValue(3)", "int"),
    ("self.?spec.?taints[?0].?key.orValue('')", "string"),
    ("ints[?0]", "optional_type(int)"),
    ("optional.of({'c': 1}).c", "optional_type(int)"),
    ("int", "type(int)"),
    ("type(1)", "type(int)"),
    ("google.protobuf.Timestamp", "type(timestamp)"),
    ("type(net.IP)", "type(type(net.IP))"),
    # operators
    ("1 + 2", "int"),
    ("'a' + s", "string"),
    ("ints + [1]", "list(int)"),
    ("[] + ints", "list(int)"),
    ("now - now", "duration"),
    ("now - d", "timestamp"),
    ("now - lease.spec.renewTime >= d", "bool"),
    ("x + 1", "int"),
    ("x + x", "dyn"),
    ("x < 1", "bool"),
    ("-i", "int"),
    ("!b", "bool"),
    ("i < f", "bool"),
    ("i == f", "bool"),
    ("i in [1.0]", "bool"),
    ("x == 'a'", "bool"),
    ("b ? 1 : x", "dyn"),
    ("b ? [] : [1]", "list(int)"),
    ("status == 'True'", "bool"),
    ("status in ['True', 'False']", "bool"),
    ("(b ? status : s) == 'other'", "bool"),
    ("'a' in labels", "bool"),
    ("'spec' in self", "bool"),
    ("self.spec.paused && b", "bool"),
    ("x in x", "bool"),
    ("self.spec == null", "bool"),
    ("self.spec.paused == null", "bool"),
    ("now == null", "bool"),
    # functions
    ("size(s) + s.size() + size(labels)", "int"),
    ("string(now)", "string"),
    ("int('3')", "int"),
    ("s.matches('a')", "bool"),
    ("now.getHours('Europe/Berlin')", "int"),
    ("d.getHours()", "int"),
    ("math.greatest(1, 2, 3)", "int"),
    ("math.greatest(1, 2.0)", "dyn"),
    ("math.greatest([1.0])", "double"),
    ("sets.contains([1], ints)", "bool"),
    ("ip('::1').family()", "int"),
    ("cidr('::/8').ip()", "net.IP"),
    ("quantity('1Gi').add(3).isGreaterThan(quantity('1'))", "bool"),
    ("ints.sum()", "int"),
    ("ints.sort()", "list(int)"),
    ("strings.join(',')", "string"),
    ("'%d'.format([1])", "string"),
    ("s.split(',')", "list(string)"),
    ("strings.quote('a')", "string"),
    ("type(1) == int", "bool"),
    ("dyn(1)", "dyn"),
    # comprehensions
    ("ints.all(e, e > 0)", "bool"),
    ("labels.exists(k, k == 'a')", "bool"),
    ("ints.map(e, string(e))", "list(string)"),
    ("ints.map(e, e > 1, [e])", "list(list(int))"),
    ("ints.filter(e, e > 1)", "list(int)"),
    ("labels.filter(k, k > 'a')", "list(string)"),
    ("x.filter(e, e)", "list(dyn)"),
    ("[].map(e, e)", "list(dyn)"),
    ("self.metadata.labels.all(k, v, k < v)", "bool"),
    ("ints.transformList(n, e, n + e)", "list(int)"),
    ("labels.transformMap(k, v, size(v))", "map(string,int)"),
    ("ints.transformMap(n, e, 'a')", "map(int,string)"),
    ("labels.transformMapEntry(k, v, {v: 1})", "map(string,int)"),
    ("self.spec.map(k, k)", "list(string)"),
    ("cel.bind(v, i + 1, [v])", "list(int)"),
    ("maybe.optMap(v, string(v))", "optional_type(string)"),
    ("maybe.optFlatMap(v, optional.of(v))", "optional_type(int)"),
    ("self.spec.taints.sortBy(t, t.key)", "list(taint)"),
    ("self.spec.taints.map(t, t.key)[0]", "string"),
]


@pytest.mark.parametrize(("text", "type_"), TYPES, ids=[row[0] for row in TYPES])
def test_the_type_of_an_expression(text: str, type_: str) -> None:
    found = checked(text)
    assert [str(issue) for issue in found.issues] == []
    assert str(found.type) == type_


ISSUES = [
    # names
    ("lease.spec.renewtime", 11, "lease.spec has no field 'renewtime'", "did you mean 'renewTime'?"),
    (
        "has(self.spec.hub)",
        14,
        "self.spec has no field 'hub'",
        "its fields are 'hubAcceptsClient', 'leaseDurationSeconds', 'paused', 'taints'",
    ),
    ("self['spek']", 4, "self has no field 'spek'", "did you mean 'spec'?"),
    ("self.spec.taints.all(t, t.keys == 'a')", 26, "the schema of t has no field 'keys'", "did you mean 'key'?"),
    ("slef.spec", 0, "undeclared name 'slef'", "did you mean 'self'?"),
    ("i.foo", 2, "i is an int and has no field 'foo'", ""),
    ("fooo(1)", 0, "undeclared function 'fooo'", None),
    ("s.startWith('a')", 2, "undeclared function 'startWith'", "did you mean 'startsWith'?"),
    ("math.maxx(1)", 5, "undeclared function 'math.maxx'", None),
    ("Foo{a: 1}", 0, "unknown type 'Foo'", "write objects as maps, such as {'key': value}"),
    # operators and functions
    ("i + s", 2, "'+' cannot be applied to (int, string)", "convert the other: string(...)"),
    ("i + u", 2, "'+' cannot be applied to (int, uint)", "convert one of them: uint(...)"),
    ("s * 2", 2, "'*' cannot be applied to (string, int)", "there is int * int"),
    ("now - now > 3", 10, "'>' cannot be applied to (duration, int)", "write the length of time as duration('90s')"),
    (
        "now > d",
        4,
        "'>' cannot be applied to (timestamp, duration)",
        "compare a length of time with a difference of two instants, such as now - t",
    ),
    ("s.startsWith(1)", 2, "'startsWith' cannot be applied to (string, int)", "there is string.startsWith(string)"),
    ("b && i", 5, "'&&' cannot be applied to (bool, int)", None),
    ("b ? 1 : 's'", 2, "the branches of '?:' differ: an int, a string", "give both one type, or wrap one in dyn(...)"),
    ("i ? 1 : 2", 2, "'?:' cannot be applied to (int, int, int)", None),
    ("ints['a']", 4, "'[]' cannot be applied to (list(int), string)", None),
    ("ints.join()", 5, "'join' cannot be applied to (list(int))", None),
    ("i[0]", 1, "'[]' cannot be applied to (int, int)", None),
    # comparisons that cannot hold
    ("i == 's'", 2, "'==' is always false: an int never equals a string", "convert the string: int(...)"),
    ("s != 1", 2, "'!=' is always true: a string never equals an int", "convert the string: int(...)"),
    (
        "b == 'true'",
        2,
        "'==' is always false: a bool never equals a string",
        "a bool is true or false, without quotes; a condition's status is a string: 'True'",
    ),
    (
        "s == null",
        2,
        "'==' is always false: a string never equals null",
        "use has(...) to ask whether a field is present",
    ),
    (
        "lease.spec.renewTime == s",
        21,
        "'==' is always false: a timestamp never equals a string",
        "convert the string: timestamp(...)",
    ),
    ("s in ints", 2, "'in' is always false: no list(int) contains a string", ""),
    (
        "status == 'true'",
        7,
        "'==' is always false: status is never 'true', only 'True', 'False', 'Unknown'",
        "did you mean 'True'?",
    ),
    ("'Yes' != status", 6, "'!=' is always true: status is never 'Yes', only 'True', 'False', 'Unknown'", ""),
    (
        "status in ['True', 'Flase']",
        7,
        "status is never 'Flase', only 'True', 'False', 'Unknown'",
        "did you mean 'False'?",
    ),
    (
        "self.status.conditions.exists(c, c.status == 'x')",
        42,
        "'==' is always false: c.status is never 'x', only 'True', 'False', 'Unknown'",
        "",
    ),
    # literals that can only fail
    ("d > duration('5x')", 13, "this call always fails: '5x' is not a duration such as 90s, 5m or 1h30m", ""),
    (
        "timestamp('2026-13-01T00:00:00Z')",
        10,
        "this call always fails: timestamp out of range: '2026-13-01T00:00:00Z': month must be in 1..12",
        "",
    ),
    ("s.matches('(a')", 10, "this call always fails: '(a' is not a regular expression: missing ): (a", ""),
    ("ip('10.0.0')", 3, "this call always fails: '10.0.0' is not an IP address", ""),
    ("{'a': 1, 'b': 2, 'a': 3}", 17, "this map always fails: it has the key 'a' twice", ""),
    # comprehensions and aggregates
    ("i.all(e, true)", 2, "'all' needs a list or a map, this is an int", ""),
    ("ints.filter(e, e + 1)", 17, "the condition of 'filter' must be a bool, this is an int", ""),
    (
        "ints.transformMapEntry(n, e, e)",
        29,
        "the body of 'transformMapEntry' must be a map such as {k: v}, this is an int",
        "",
    ),
    ("{1.0: 2}", 1, "a map's key must be a string, int, uint or bool, this is a double", ""),
    ("[?1]", 2, "an element marked with '?' must be an optional, this is an int", ""),
    ("{?'a': 1}", 7, "an entry marked with '?' must be an optional, this is an int", ""),
]


@pytest.mark.parametrize(("text", "offset", "message", "hint"), ISSUES, ids=[row[0] for row in ISSUES])
def test_an_issue(text: str, offset: int, message: str, hint: str | None) -> None:
    (issue,) = checked(text).issues
    assert (issue.message, issue.offset, issue.column) == (message, offset, offset + 1)
    assert hint is None or issue.hint == hint


WARNINGS = [
    ("conditions['Raedy'].status == 'True'", "nothing is known to set conditions['Raedy']", "did you mean 'Ready'?"),
    ("conditions.Raedy.status == 'True'", "nothing is known to set conditions['Raedy']", "did you mean 'Ready'?"),
    ("has(conditions.Other)", "nothing is known to set conditions['Other']", "known keys are 'Available', 'Ready'"),
    ("'Available2' in conditions", "nothing is known to set conditions['Available2']", "did you mean 'Available'?"),
    ("b || true", "this condition is always true: so is the whole '||'", ""),
    ("false && b", "this condition is always false: so is the whole '&&'", ""),
    ("true ? 1 : 2", "this condition is always true: the second branch is never taken", ""),
    (
        "self.spec.taints[0].effects == 'a'",
        "the schema of self.spec.taints[0] has no field 'effects'",
        "did you mean 'effect'?",
    ),
]


@pytest.mark.parametrize(("text", "message", "hint"), WARNINGS, ids=[row[0] for row in WARNINGS])
def test_a_warning_lets_the_expression_run(text: str, message: str, hint: str) -> None:
    found = checked(text)
    (issue,) = found.issues
    assert (issue.message, issue.hint, issue.is_warning) == (message, hint, True)
    assert found.ok


@pytest.mark.parametrize(
    "text", ["conditions['Ready'].status == 'True'", "conditions[s].status == s", "'Ready' in conditions"]
)
def test_known_and_computed_keys_are_fine(text: str) -> None:
    assert checked(text).issues == ()


def test_keys_in_calls_are_checked_too() -> None:
    declared = parse_overload("status_of status (map(string,dyn), string) -> string")
    env = replace(ENVIRONMENT, functions={**ENVIRONMENT.functions, "status": (declared,)})
    assert checked("status(conditions, 'Ready') == 'True'", env).issues == ()
    assert [issue.hint for issue in checked("status(conditions, 'Reday') == 'True'", env).issues] == [
        "did you mean 'Ready'?"
    ]


def test_one_mistake_is_reported_once_and_several_mistakes_all() -> None:
    text = "slef.spec.a.b + 1 > 2 &&\n  i + s == 3 || foo(bar)"
    found = [(issue.line, issue.column, issue.message) for issue in checked(text).issues]
    assert found == [
        (1, 1, "undeclared name 'slef'"),
        (2, 5, "'+' cannot be applied to (int, string)"),
        (2, 17, "undeclared function 'foo'"),
        (2, 21, "undeclared name 'bar'"),
    ]


@pytest.mark.parametrize("text", ["i", "s + 'a'", "[b]"])
def test_the_result_must_fit_its_place(text: str) -> None:
    (issue,) = checked(text, replace(ENVIRONMENT, result=BOOL)).issues
    assert "but its place needs a bool" in issue.message


@pytest.mark.parametrize("text", ["b", "x", "x.y", "self.spec.paused", "i > 1"])
def test_a_result_that_can_fit_is_fine(text: str) -> None:
    assert checked(text, replace(ENVIRONMENT, result=BOOL)).issues == ()


def test_names_are_looked_up_from_the_container_outwards() -> None:
    variables = {"a.b.v": STRING, "a.v": INT, "v": BOOL, "a.b.w.x": INT}
    env = replace(ENVIRONMENT, variables=variables, container="a.b")
    for text, type_, name in [("v", "string", "a.b.v"), (".v", "bool", "v"), ("w.x", "int", "a.b.w.x")]:
        found = checked(text, env)
        assert (str(found.type), found.names[0]) == (type_, name)


def test_a_comprehension_variable_hides_a_qualified_name() -> None:
    env = replace(ENVIRONMENT, variables={"v.z": INT})
    assert checked("[{'z': 'a'}].map(v, v.z)", env).type == parse_type("list(string)")
    assert checked("v.z", env).type == INT


def test_overloads_are_noted_for_each_call() -> None:
    assert checked("i + 1").overloads == {0: ("add_int64",)}
    assert checked("x + 1").overloads[0] == ("add_int64",)
    assert set(checked("x + x").overloads[0]) >= {"add_int64", "add_string", "add_list"}
    assert (
        checked("math.abs(i)").names == {0: "math.abs", 1: "i"} or "math.abs" in checked("math.abs(i)").names.values()
    )


def test_generic_functions_bind_their_variables_across_arguments() -> None:
    triple = parse_overload("tuple_T_U_V tuple (T, U, V) -> tuple(T,U,V)")
    env = replace(ENVIRONMENT, functions={**ENVIRONMENT.functions, "tuple": (triple,)})
    assert checked("tuple(1, 2u, 3.0) == tuple(1, dyn(2u), dyn(3.0))", env).issues == ()
    assert checked("tuple(1, 2u, 3.0) == tuple(1, 'a', 3.0)", env).issues != ()


def test_every_node_that_is_evaluated_has_a_type() -> None:
    for text, _ in TYPES:
        node = parse(text)
        found = check(node, ENVIRONMENT, text)
        # A node that only spells a part of a longer name (`math` in `math.abs(i)`) is not evaluated itself.
        spelling = {part.id for named in walk(node) if "." in found.names.get(named.id, "") for part in walk(named)}
        assert {part.id for part in walk(node)} - spelling <= found.types.keys()


def test_shared_variables_do_not_make_types_explode() -> None:
    text = "[]"
    for level in range(60):
        text = f"cel.bind(v{level}, {text}, [v{level}, v{level}])"
    assert str(checked(text).type).count("list(") == 61


def test_unknown_types_have_no_issues() -> None:
    env = replace(ENVIRONMENT, variables=dict.fromkeys(VARIABLES, DYN), known_keys={})
    for text, _ in TYPES:
        assert checked(text, env).ok
