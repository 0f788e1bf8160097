"""Templates as kubectl reads them, by the tables of its reference and of client-go's tests; mistakes have a caret."""

import re
import time

import pytest

from muster.data.jsonpath.template import BadTemplate, parse
from muster.data.jsonpath.values import filled, remove_at, values_at
from muster.data.tree import Tree

#: The object of https://kubernetes.io/docs/reference/kubectl/jsonpath/, and of client-go's tests.
NODES: Tree = {
    "kind": "List",
    "items": [
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "127.0.0.1"}},
            "status": {
                "capacity": {"cpu": "4"},
                "ready": True,
                "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}],
            },
        },
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.2", "labels": {"kubernetes.io/hostname": "127.0.0.2"}},
            "status": {
                "capacity": {"cpu": "8"},
                "ready": False,
                "addresses": [
                    {"type": "LegacyHostIP", "address": "127.0.0.2"},
                    {"type": "another", "address": "127.0.0.3"},
                ],
            },
        },
    ],
    "users": [
        {"name": "myself", "user": {}},
        {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
    ],
    "numbers": [1, 2.5, -3, 4.0],
    "empty": [],
    "nothing": None,
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("kind is {.kind}", "kind is List"),
        ("{$.kind}{@.kind}", "ListList"),
        ("{['kind']}", "List"),
        ("{.users[0].name}", "myself"),
        ("{.users[-1].name}", "e2e"),
        ("{.users[-1:].name}", "e2e"),
        ("{.users[*].name}", "myself e2e"),
        ("{..name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ("{...name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ('{.users[?(@.name=="e2e")].user.password}', "secret"),
        ("{.users[?(@.name != 'e2e')].name}", "myself"),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
            '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
        ),
        ("{range .items[*]}{.metadata.name}{'\\t'}{end}", "127.0.0.1\t127.0.0.2\t"),
        ("{range .items[*]}{.metadata.name}, {end}{.kind}", "127.0.0.1, 127.0.0.2, List"),
        ("{range .items[*]}{range .status.addresses[*]}{.address}, {end}{end}", "127.0.0.1, 127.0.0.2, 127.0.0.3, "),
        ("{range .empty[*]}{.x}{range .y[*]}{.z}{end}{end}end", "end"),
        ("{range .users[*]}{.name};", "myself;e2e;"),
        ("{.items[*]['metadata.name', 'status.capacity']}", '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}'),
        ("{.items[0].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"),
        ("{.items[0].metadata.labels['kubernetes\\.io/hostname']}", "127.0.0.1"),
        ('{.items[?(@.metadata.labels.kubernetes\\.io/hostname=="127.0.0.2")].status.ready}', "false"),
        ("{.items[?(@..ready==true)].metadata.name}", "127.0.0.1"),
        ("{.items[?(@.status.addresses[?(@.type=='another')])].metadata.name}", "127.0.0.2"),
        ("{.users[?(@.user.password)].name}", "e2e"),
        ("{.numbers}", "[1,2.5,-3,4.0]"),
        ("{.numbers[*]}", "1 2.5 -3 4"),
        ("{.numbers[0,2]}", "1 -3"),
        ("{.numbers[:4:2]} {.numbers[1::2]} {.numbers[1:1]}", "1 -3 2.5 4 "),
        ("{.numbers[?(@<2)]} {.numbers[?(@ >= 2.5)]}", "1 -3 2.5 4"),
        ("{.items[0].status.*}", '{"cpu":"4"} true [{"address":"127.0.0.1","type":"LegacyHostIP"}]'),
        ("{.hello.world}{.nothing.x}{.kind.x}-{.empty[*]}", "-"),
        ('{"{"}{"a\\"b"}{\'it\\\'s\'}', "{a\"bit's"),
        ("{.nothing}", "<nil>"),
        ("{.users[*].name}{'\\n'}", "myself e2e\n"),
    ],
)
def test_what_templates_say(template: str, expected: str) -> None:
    assert filled(parse(template), NODES) == expected


@pytest.mark.parametrize(
    ("template", "said", "column"),
    [
        (".kind", "paths are written in braces", 0),
        ("{kind}", "{.kind}", 1),
        ("x {.kind", "not closed", 2),
        ("{.kind[}", "bracket is not closed", 6),
        ("{.a['b]}", "bracket is not closed", 3),
        ('{.a["b"]}', "single quotes", 3),
        ("{.a[]}", "single quotes", 3),
        ("{.a[0:4:0]}", "at least 1", 3),
        ("{'x}", "quote is not closed", 1),
        ("{.a[?(@.b=='x']}", "not a part of a path", 14),
        ("{.a[?(@.b<>'x')]}", "compared by", 9),
        ("{.a[?(@.b=~'x')]}", "compared by", 9),
        ("{.a[?(@.b=='x')}", "ends with )]", 14),
        ("{....a}", "second descent", 3),
        ("{.a}{end}", "no range", 4),
        ("{.a #}", "not a part of a path", 4),
        ("a\n{b}", "{.b}", 1),
        ("{range .a}" * 21, "can be nested", None),
        ("{.a" + "[?(@" * 30, "can be nested", None),
        ("{.x}" + " " * 10_000, "at most", None),
        ("{.kind[0]}", "a string has no entries", 6),
        ("{.users[5]}", "a list of 2 has no such entry", 7),
        ("{.users.name[?(@.x)]}{.kind[?(@.x)]}", "to filter", 27),
        ("{.items[?(@.kind>3)]}", "a string and a number cannot be compared", 7),
        ("{.items[?(@.status==1)]}", "a mapping and a number", 7),
        ("{.items[?(@..name==1)]}{.items[?(@.status.*==1)]}", "cannot be compared", None),
    ],
)
def test_what_is_wrong_is_said_with_a_caret(template: str, said: str, column: int | None) -> None:
    with pytest.raises(BadTemplate) as caught:
        filled(parse(template), NODES)
    message, source, caret = str(caught.value).split("\n")
    assert said in message
    assert caret.strip() == "^"
    assert source
    if column is not None:
        assert caret.index("^") == column, f"\n{source}\n{caret}"


def test_templates_that_would_never_end_are_given_up() -> None:
    deep: Tree = 1
    for _ in range(40):
        deep = [deep, deep]
    began = time.process_time()
    for template in ("{..}", "{range ..}{range ..}{@}", "{...*...*...*}", "{[?(@..)]}"):
        with pytest.raises(BadTemplate, match="more than 10000 values"):
            filled(parse(template), deep, most=10_000)
    assert time.process_time() - began < 5


def test_values_order_nobody_about_and_what_the_template_says_is_its_writers() -> None:
    hostile = {
        "a": "\x1b[31m::error::x\n::add-mask::y",
        "b": "##vso[x]",
        "c": {"d": "\x9b##[group]"},
        "e": "::err",
        "f": "or::",
    }
    said = filled(parse("{.a}{'\\n'}{.b}{'\\t'}{.c}{'\\n'}{.e}{.f}"), hostile)
    assert said.split("\n") == [
        "\\x1b[31m::error::x\\n::add-mask::y",
        '#\\x23vso[x]\t{"d":"\\u009b#\\u0023[group]"}',
        "\\x3a:error::",
    ]


POD: Tree = {
    "metadata": {"annotations": {"a.b/c": "x"}},
    "status": {
        "phase": "Running",
        "ready": True,
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Other", "status": "False", "n": 2},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".status.phase", ["Running"]),
        ("status.phase", ["Running"]),
        ("$.status['phase']", ["Running"]),
        ("{.status.phase}", ["Running"]),
        (".status.missing.deeper", []),
        (".status.phase.deeper", []),
        (r".metadata.annotations.a\.b/c", ["x"]),
        (r".metadata.annotations['a\.b/c']", ["x"]),
        (".status.conditions[0].type", ["Ready"]),
        (".status.conditions[-1].type", ["Other"]),
        (".status.conditions[*].n", [1, 2]),
        (".status.conditions.*.n", [1, 2]),
        ("..phase", ["Running"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.n>1)].type", ["Other"]),
        (".status.conditions[?(@.type != 'Ready')].status", ["False"]),
        ("", [POD]),
    ],
)
def test_values_at_a_single_path(path: str, values: list[Tree]) -> None:
    assert values_at(POD, path) == values


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".status[", "this bracket is not closed"),
        (".a['b", "this bracket is not closed"),
        (".status.conditions[7].type", "a list of 2 has no such entry"),
        (".status.conditions[?(@.type==Ready)]", "a path begins with a dot: {.Ready}"),
    ],
)
def test_a_path_that_cannot_be_used_is_an_error_in_one_line(path: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as error:
        values_at(POD, path)
    assert "\n" not in str(error.value)


def test_a_field_is_removed_wherever_a_path_finds_it() -> None:
    tree: Tree = {"a": [{"x": 1, "y": 2}, {"y": 3}, "z"], "b.c": 1}
    remove_at(tree, ".a[*].y")
    remove_at(tree, r".b\.c")
    remove_at(tree, ".missing.y")
    assert tree == {"a": [{"x": 1}, {}, "z"]}
