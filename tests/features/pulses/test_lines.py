"""Events as lines: whole ones, on the disk, and in nobody's way."""

import io
import json
import os
import resource
from pathlib import Path

import pytest

from muster.features.pulses.lines import FileSink, StreamSink
from muster.features.pulses.sinks import DeliveryError
from tests.features.pulses.test_http import EVENT


def test_a_file_gets_one_line_per_event(tmp_path: Path) -> None:
    path = tmp_path / "made" / "of" / "the-fleet" / "pulses.jsonl"
    for _ in range(2):  # as two runs
        sink = FileSink(tmp_path / "made", "of/the-fleet/pulses.jsonl")
        sink.send(EVENT)
        sink.close()
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [EVENT, EVENT]


def test_a_link_in_the_place_of_the_file_or_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "victim").write_text("kept", encoding="utf-8")
    (inside / "pulses.jsonl").symlink_to(outside / "victim")
    (inside / "folder").symlink_to(outside)
    for name in ("pulses.jsonl", "folder/victim", "folder/new"):
        with pytest.raises(DeliveryError):
            FileSink(inside, name).send(EVENT)
    assert (outside / "victim").read_text(encoding="utf-8") == "kept"
    assert [path.name for path in outside.iterdir()] == ["victim"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DeliveryError):
        FileSink(tmp_path, "pipe").send(EVENT)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "/tmp/x",
        "//host/x",
        "%2e%2e/x",
        "..%2fx",
        "",
        ".",
        "a/",
        "a//b",
        ".hidden",
        "a/.git",
        "a\\b",
        "a\0b",
        "-x",
        "a b",
        "\u202e",
        "a/./b",
    ],
)
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="not a valid file name"):
        FileSink(tmp_path / "in", name)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said() -> None:
    with pytest.raises(DeliveryError, match="No space left"):
        FileSink(Path("/dev"), "full").send(EVENT)


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "pulses.jsonl"
    sink = FileSink(tmp_path, "pulses.jsonl")
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
