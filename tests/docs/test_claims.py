"""Commands, options, codes and settings that the pages name exist."""

import re
from collections.abc import Iterator

import click
import pytest

from muster.commandline import cli
from muster.data.codes import Code
from tests.schemas.loading import resolve, schemas
from tests.support.docs_site import pages

#: Those that are written by hand; history names what is gone.
PAGES = {path: text for path, text in pages().items() if "errors.md" not in path and path != "CHANGELOG.md"}
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_WORDS = r"muster ([a-z-]+(?: [^`\n|;&#<>$()]*)?)"
_SETTING = re.compile(r"Fleet\.spec\.([A-Za-z.]*[A-Za-z])")


def unknown(line: str) -> Iterator[str]:
    """Yield the verb or the options of a command line that muster does not have."""
    words = line.split()
    command: click.Command | None = cli
    context = click.Context(cli, info_name="muster")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        verb = words.pop(0)
        command = command.get_command(context, verb)
        if command is None:
            yield verb
            return
        context = click.Context(command, info_name=verb, parent=context)
    assert command is not None
    known = {"--help"}.union(*((*option.opts, *option.secondary_opts) for option in command.params))
    yield from (word for word in words if re.match("--[a-z]", word) and word.split("=")[0] not in known)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_commands_options_codes_and_settings_exist(page: str) -> None:
    text = PAGES[page].replace("\\\n", " ")
    fences = "\n".join(_FENCE.findall(text))
    lines = re.findall(rf"^(?:\$ )?{_WORDS}", fences, re.MULTILINE) + re.findall(f"`{_WORDS}", _FENCE.sub("", text))
    assert [(line, wrong) for line in lines for wrong in unknown(line)] == []
    assert set(re.findall(r"MUS\d{3}", text)) <= {str(code) for code in Code}
    assert [path for path in _SETTING.findall(text) if not has_setting(path)] == []


def has_setting(path: str) -> bool:
    """Does the Fleet's spec have a field? Below a map with any keys it may."""
    node, stem = schemas()["fleet"]["properties"]["spec"], "fleet"
    for name in path.split("."):
        while "$ref" in node:
            node, stem = resolve(node["$ref"], stem)
        node = node.get("items", node)
        if name not in node.get("properties", {}):
            return isinstance(node.get("additionalProperties"), dict)
        node = node["properties"][name]
    return True


def test_what_does_not_exist_is_found() -> None:
    assert [*unknown("get clusters --frobnicate"), *unknown("gte clusters"), *unknown("export objects --status")] == [
        "--frobnicate",
        "gte",
    ]
    assert [has_setting(path) for path in ("derived.branch", "derived.brunch", "policyParams.any.thing")] == [
        True,
        False,
        True,
    ]
