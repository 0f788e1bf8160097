"""Events as lines: whole ones, on the disk, and in nobody's way."""

import io
import json
import resource
from pathlib import Path

import pytest

from muster.answers.publish.lines import FileSink, StreamSink
from muster.answers.publish.sinks import DeliveryError
from tests.answers.publish.test_http import EVENT


def test_a_file_gets_one_line_per_event(tmp_path: Path) -> None:
    path = tmp_path / "muster" / "pulses.jsonl"
    for _ in range(2):  # as two runs
        sink = FileSink(path)
        sink.send(EVENT)
        sink.close()
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [EVENT, EVENT]


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept", encoding="utf-8")
    (tmp_path / "pulses.jsonl").symlink_to(victim)
    with pytest.raises(DeliveryError):
        FileSink(tmp_path / "pulses.jsonl").send(EVENT)
    assert victim.read_text(encoding="utf-8") == "kept"


def test_a_full_disk_is_said() -> None:
    with pytest.raises(DeliveryError, match="No space left"):
        FileSink(Path("/dev/full")).send(EVENT)


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "pulses.jsonl"
    sink = FileSink(path)
    sink.send(EVENT)
    whole = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limits[1]))
    try:
        with pytest.raises(DeliveryError, match="No space left"):
            sink.send(EVENT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sink.close()
    assert path.read_bytes() == whole


def test_a_stream_gets_one_line_per_event() -> None:
    stream = io.StringIO()
    StreamSink(stream).send({**EVENT, "subject": "ManagedCluster/ü\n"})
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue())["subject"] == "ManagedCluster/ü\n"
