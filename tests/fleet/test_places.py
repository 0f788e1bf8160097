"""Where a field was written: file, line and column, also of what stands in a list, and of what is not there."""

from collections import Counter

import pytest

from muster.data.decision import Path
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import At
from muster.data.yaml import positions
from muster.data.yaml.loader import load_documents
from muster.data.yaml.nodes import ComposedFile, compose
from muster.fleet.places import expression_place, place_of, places_of

TEXT = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
spec:
  hubAcceptsClient: true
  taints:
  - {key: x, effect: NoSelect}
  - key: y
    effect: NoSelect
    value: v
"""
LIST = "apiVersion: v1\nkind: List\nitems:\n- {}\n- metadata: {name: a}\n  spec:\n    hubAcceptsClient: false\n"


def part(text: str, path: str = "a.yaml", item: int | None = None, index: int = 0) -> Part:
    document = load_documents(text.encode(), path).documents[index]
    body = document.body if item is None else document.body["items"][item]
    source = SourceFile(path, "", text.encode)
    return Part(MANAGED_CLUSTER.id("a"), "v1", body, Layer.INPUT, source, document.index, item)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("spec", "hubAcceptsClient"), "a.yaml:5:3"),
        (("spec", "taints", ("y", "NoSelect", "v")), "a.yaml:8:5"),
        (("spec", "taints", ("y", "NoSelect", "v"), "effect"), "a.yaml:9:5"),
        (("spec", "taints", 0), "a.yaml:7:5"),
        (("spec", "taints", ("z", "NoSelect", "")), "a.yaml:6:3"),
        (("spec", "leaseDurationSeconds"), "a.yaml:4:1"),
        (("status",), "a.yaml:1:1"),
    ],
)
def test_the_field_or_its_nearest_ancestor(path: Path | At, place: str) -> None:
    assert str(place_of([part(TEXT)], path)) == place


def test_the_part_that_comes_nearest_is_the_one() -> None:
    other = part("metadata: {name: a}\nspec:\n  leaseDurationSeconds: 30\n", "b.yaml")
    assert str(place_of([part(TEXT), other], ("spec", "leaseDurationSeconds"))) == "b.yaml:3:3"
    assert str(place_of([part(LIST, "l.yaml", 1)], ("spec", "hubAcceptsClient"))) == "l.yaml:7:5"


def test_every_part_that_sets_a_field_is_named() -> None:
    both = [part(TEXT), part(LIST, "l.yaml", 1), part("metadata: {name: a}\n", "c.yaml")]
    assert [str(place) for place in places_of(both, ("spec", "hubAcceptsClient"))] == ["a.yaml:5:3", "l.yaml:7:5"]


def test_a_character_of_an_expression() -> None:
    written = part("spec:\n  rule: >-\n    a &&\n    bad\n")
    place, excerpt = expression_place([written], ("spec", "rule"), 5)
    assert str(place) == "a.yaml:4:5"
    assert "bad" in excerpt


def test_a_file_is_read_once_for_all_findings_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Counter[str]()

    def counted(data: bytes, label: str) -> ComposedFile:
        read[label] += 1
        return compose(data, label)

    monkeypatch.setattr(positions, "compose", counted)
    content = f"{TEXT}# of this test alone\n---\n{TEXT}"
    for index in range(2):
        written = part(content, index=index)
        for path in (("spec",), ("spec", "taints", 0), ("metadata", "name")):
            place_of([written], path)
    assert read == {"a.yaml": 1}
