"""A snapshot with files laid over it: what one pass wrote, the next one reads."""

from muster.data.snapshot import Agents
from muster.data.source import SourceFile
from muster.features.test.memory import MemorySnapshot
from muster.fleet.derived import content_id
from muster.run.overlay import Overlay


def test_what_is_written_stands_in_the_place_of_what_was_there() -> None:
    agents = SourceFile("derived/a.yaml", "x", lambda: b"an agent's\n", "agents/a")
    below = MemorySnapshot({"a.yaml": "a\n", "derived/a.yaml": "old\n", "derived/b.yaml": "b\n"}, (agents,), "c0ffee")
    over = Overlay(below, {"derived/a.yaml": "new\n", "derived/b.yaml": None, "derived/c.yaml": "c\n"})
    found = {file.label: file for file in over.files()}
    assert {label: file.read() for label, file in found.items()} == {
        "a.yaml": b"a\n",
        "agents/a:derived/a.yaml": b"an agent's\n",
        "derived/a.yaml": b"new\n",
        "derived/c.yaml": b"c\n",
    }
    assert found["derived/c.yaml"].oid == content_id(b"c\n")
    assert over.commit == "c0ffee"


def test_what_the_snapshot_below_does_not_know_is_not_known() -> None:
    over = Overlay(MemorySnapshot({}), {"derived/a.yaml": "new\n"})
    assert (over.past, over.authors, over.ignored) == (None, None, ())
    assert over.agents == MemorySnapshot({}).agents == Agents()
