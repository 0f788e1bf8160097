"""No document makes a terminal or the log of a job obey the text of others, and each reads back as what it was."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from muster.cli.documents import json_text, yaml_stream
from muster.data.yaml.emitter import emit, file_text, flow
from muster.data.yaml.loader import load_documents

COMMANDS = (
    "::add-mask::x",
    "  ::error file=a,line=1::x",
    "::set-output name=a::b",
    "##vso[task.complete result=Failed]x",
    "##[error]x",
    "###[group]x",
    "####[x]##vso[y]",
    "##teamcity[message text='x']",
    "a ##vso[task.setvariable]b",
    "\\##vso[x]",
    "\\\\##[x]",
    "#\u200b#[x]",
    "::warning::",
    "\t::debug::x",
)
CONTROLS = (
    "\x1b[31mred",
    "\x9b2J",
    "a\rb",
    "\u202ea",
    "a\u200fb",
    "\u2066a",
    "\x00",
    "\x7f",
    "\u2028a",
    "\u061ca",
    "\xada",
)
PLACES: tuple[Callable[[str], Any], ...] = (
    lambda text: {"a": text},
    lambda text: {"a": f"first\n{text}\nlast\n"},
    lambda text: {"a": f"{text}\nlast"},
    lambda text: {"a": [{"b": f"x\n    {text}\n"}, text]},
    lambda text: [f"x\n{text}", text],
    lambda text: {text: text},
    lambda text: {f"a\n{text}": {"b": f"a\n\n{text}\n"}},
    lambda text: {"a": {"b": {"c": f"#!/bin/sh\n# x\n{text}\n"}}},
    lambda text: {"a": [[f"x\n{text}"]]},
)
FORMATS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "yaml": (lambda tree: yaml_stream([tree, tree]), lambda text: list(yaml.load_all(text, yaml.CSafeLoader))[1]),
    "yaml 1.2": (emit, lambda text: load_documents(text.encode(), "").documents[0].body),
    "a file": (file_text, lambda text: yaml.load(text, yaml.CSafeLoader)),
    "on one line": (flow, lambda text: yaml.load(text, yaml.CSafeLoader)),
    "json": (json_text, json.loads),
    "json on one line": (lambda tree: flow(tree, as_json=True), json.loads),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", (*COMMANDS, *CONTROLS))
def test_nothing_is_obeyed_and_nothing_is_lost(form: str, text: str) -> None:
    write, read = FORMATS[form]
    for place in PLACES:
        tree = place(text)
        if form == "yaml 1.2" and isinstance(tree, list):
            continue  # the loader reads objects
        written = write(tree)
        assert read(written) == tree
        for line in written.splitlines():
            assert not line.lstrip(" -?:|").startswith("::"), line
        for command in ("##[", "##vso[", "##teamcity["):
            assert command not in written
        bare = written.replace("\n", "")
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in bare), written
        assert not any(char in bare for char in "\u061c\u200b\u200e\u200f\u2028\u2029\u202e\u2066\xad"), written
