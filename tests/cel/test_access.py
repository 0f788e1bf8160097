"""The fields that an expression reads."""

import pytest

from muster import cel
from muster.cel.access import access, accesses


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("lease.spec.renewTime", "lease.spec.renewTime"),
        ("reported['Ready'].status", "reported.Ready.status"),
        ("self.metadata.labels['a/b']", "self.metadata.labels['a/b']"),
        ("items[2].name", "items[2].name"),
        ("has(self.spec.taints)", "has(self.spec.taints)"),
    ],
)
def test_a_path_of_keys_is_a_field(text: str, read: str) -> None:
    assert str(access(cel.compile(text, cel.Env()).node)) == read


@pytest.mark.parametrize("text", ["self.spec[self.name]", "size(self.spec)", "a + b", "{'a': 1}.a", "1"])
def test_a_computed_value_is_not_a_field(text: str) -> None:
    assert access(cel.compile(text, cel.Env()).node) is None


def test_all_fields_of_an_expression() -> None:
    program = cel.compile("now - lease.spec.renewTime >= variables.grace", cel.Env())
    assert {"lease.spec.renewTime", "variables.grace", "now"} <= set(map(str, accesses(program.node).values()))
