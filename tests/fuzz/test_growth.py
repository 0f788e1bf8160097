"""Text of others takes time in proportion to its length: a part of the families of hostile text, in short texts."""

import re

import pytest

from muster.data.source import Layer, SourceFile
from muster.fleet.files import read_file
from muster.fleet.objects import Object
from muster.fleet.places import expression_place
from muster.fleet.reading import FilesRead
from muster.fleet.schema_findings import schema_findings
from tests.fuzz.growth import Family, grows_too_fast, some_families
from tests.fuzz.readers import READERS

_LENGTH, _FLOOR_SECONDS = 1 << 13, 0.03


@pytest.mark.parametrize(("number", "name"), list(enumerate(READERS)))
def test_takes_time_in_proportion_to_the_text(number: int, name: str) -> None:
    found = (grows_too_fast(READERS[name], family, _LENGTH, _FLOOR_SECONDS) for family in some_families(number))
    assert not list(filter(None, found))


_DOCUMENT = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a, labels: {b: c}}
spec: {unknown: "a + 1"}
---
"""


def test_findings_take_time_in_proportion_to_their_number() -> None:
    assert not grows_too_fast(_findings, Family("", _DOCUMENT, ""), 1 << 16, _FLOOR_SECONDS)


def _findings(text: str) -> list[object]:
    """Find the place of a field, of an expression and of a misspelt kind in each document."""
    found = list[object]()
    for content in (text, text.replace("kind: ManagedCluster", "kind: ManagedClustr")):
        reading = FilesRead()
        read_file(reading, SourceFile("a.yaml", "0" * 40, content.encode), Layer.INPUT)
        found += reading.findings
        for part in reading.parts:
            found += schema_findings(Object(part.id, part.body, (part,)))
            found.append(expression_place([part], ("spec", "unknown"), 4))
    assert len(found) > len(text) // len(_DOCUMENT)
    return found


def test_a_reader_that_takes_more_is_found() -> None:
    trailer = re.compile("x(.*?) *$")
    assert grows_too_fast(lambda text: trailer.match(f"x{text}x"), Family("", " ", ""), _LENGTH, _FLOOR_SECONDS)
    assert not grows_too_fast(lambda text: text.split(" "), Family("", " ", ""), _LENGTH, _FLOOR_SECONDS)
