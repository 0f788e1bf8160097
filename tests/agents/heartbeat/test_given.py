"""Facts that a file gives: it changes while the agent runs, and may be read while somebody writes it."""

from pathlib import Path

import pytest

from muster.agents.heartbeat.given import GivenFacts, read_given


def claims(value: str) -> dict[str, object]:
    return {"clusterClaims": [{"name": "web", "value": value}]}


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path, lines = tmp_path / "facts.yaml", list[str]()
    path.write_text("clusterClaims: [{name: web, value: 2026-01-01}]\nother: 1\n", encoding="utf-8")
    given = GivenFacts(path, lines.append)
    assert given.read() == claims("2026-01-01"), "a text, as JSON has no dates"
    path.write_text("clusterClaims: [{name: web, value: v2}]\n", encoding="utf-8")
    assert given.read() == claims("v2")
    assert lines == []


def test_what_cannot_be_read_stays_and_is_said_once(tmp_path: Path) -> None:
    path, lines = tmp_path / "facts.yaml", list[str]()
    path.write_text("clusterClaims: [{name: web, value: v1}]\n", encoding="utf-8")
    given = GivenFacts(path, lines.append)
    for text in ("clusterClaims: [{na", "clusterClaims: [{na", "", "[1]"):
        path.write_text(text, encoding="utf-8")
        assert given.read() == claims("v1")
    path.unlink()
    assert given.read() == claims("v1")
    assert [line.removeprefix(f"--status {path}").partition(";")[0] for line in lines] == [
        ":1:20: the mapping in '{ }' is not closed",
        " is not a mapping",
        ":1:1: the document is a list, not a mapping",
        " cannot be read: No such file or directory",
    ]
    path.write_text("{}", encoding="utf-8")
    assert given.read() == {}, "it takes its facts back"


@pytest.mark.parametrize("text", ["", "a: 1\n---\nb: 1\n", "a", "a: &x 1\nb: *x\n"])
def test_a_file_that_is_no_mapping_does_not_start_an_agent(tmp_path: Path, text: str) -> None:
    path = tmp_path / "facts.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^--status .*facts\.yaml"):
        read_given(path)
