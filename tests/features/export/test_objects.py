"""Objects as a live hub takes them."""

from typing import Any

import pytest

from muster.features.export.cli import exported


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ({"metadata": {"annotations": {"muster.dev/a": "x", "b": "y"}}}, {"metadata": {"annotations": {"b": "y"}}}),
        ({"metadata": {"annotations": {"muster.dev/a": "x"}}}, {"metadata": {}}),
        ({"status": {"muster": {}, "phase": "Up"}}, {"status": {"phase": "Up"}}),
        ({"status": {"muster": {}}}, {}),
        ({"status": None}, {"status": None}),
    ],
)
def test_what_is_musters_own_stays_here(body: dict[str, Any], left: dict[str, Any]) -> None:
    before = repr(body)
    assert list(exported([{"apiVersion": "v1", **body}], own_kinds=False)) == [{"apiVersion": "v1", **left}]
    assert repr(body) == before


def test_objects_of_musters_own_kinds_go_only_where_they_are_asked_for() -> None:
    own = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet"}
    assert list(exported([own], own_kinds=False)) == []
    assert list(exported([own], own_kinds=True)) == [own]
