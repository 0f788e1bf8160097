"""A run as one JSON document."""

import json

from muster.data.times import parse_time
from muster.features.get.listing import run_document
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from tests.features.pulses.test_walkthrough import cluster, lease

NOW = parse_time("2026-01-01T00:00:30Z")


def test_a_run_is_all_that_the_library_gives() -> None:
    texts = {"a.yaml": cluster("a") + "---\n" + lease("a", "2026-01-01T00:00:00Z"), "broken.yaml": "a: ["}
    run = evaluate_snapshot(MemorySnapshot(texts, commit="c0ffee"), NOW)
    document = run_document(run, run.objects)
    assert json.loads(json.dumps(document)) == document
    assert (document["now"], document["commit"]) == ("2026-01-01T00:00:30Z", "c0ffee")
    assert document["horizon"] == "2026-01-01T00:05:00Z"
    assert (document["objects"], document["files"]) == (run.objects, run.files)
    assert [(found["code"], found["file"]) for found in document["findings"]] == [("MUS001", "broken.yaml")]
    assert run_document(run, run.objects[:1])["objects"] == run.objects[:1]
