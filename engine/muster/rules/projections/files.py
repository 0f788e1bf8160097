"""A Projection's file: what its path may be, and its content as YAML, JSON or text.

Equal values give equal bytes. A path stays in the Projection's folder and can be written on every machine, and a file
is small enough to be read again.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from muster.cel.runtime.describe import type_name
from muster.data.locations import is_portable
from muster.data.tree import Tree
from muster.data.yaml import limits
from muster.rules.policies.trees import UnfitError, tree_of

_YAML: Final = (".yaml", ".yml")
_JSON: Final = ".json"
_MOST_CHARACTERS: Final = 400


def check_path(path: str) -> str:
    """Return a path below the Projection's folder. Raises UnfitError if it is none."""
    steps = path.split("/")
    if len(path) > _MOST_CHARACTERS:
        raise UnfitError(f"the path has {len(path)} characters, more than {_MOST_CHARACTERS}", "make it shorter")
    if ".." in steps or path.startswith("/"):
        raise UnfitError(f"the path {path!r} leads out of the Projection's folder", "name a file below that folder")
    if not all(steps):
        raise UnfitError(f"the path {path!r} names no file", "name a file, such as cluster.metadata.name + '.yaml'")
    if wrong := next((step for step in steps if not is_portable(step)), None):
        hint = "take letters, digits and -_.@+=, and begin with a letter or digit"
        raise UnfitError(f"the path {path!r} has {wrong!r}, which not every machine takes for a file's name", hint)
    return path


def object_text(value: Any, path: str) -> str:
    """Return the text of a file with one map. Raises UnfitError if the value is no map."""
    tree = tree_of(value)
    if not isinstance(tree, dict):
        raise UnfitError(f"the object is a {type_name(value)}, not a map", "give a map, or use `objects` or `text`")
    return _text(tree, [tree], path)


def objects_text(value: Any, path: str) -> str:
    """Return the text of a file with several maps: YAML documents, or one JSON list. Raises UnfitError."""
    tree = tree_of(value)
    wrong = next((element for element in value if not isinstance(element, Mapping)), None)
    if wrong is not None:
        raise UnfitError(f"one of the objects is a {type_name(wrong)}, not a map", "give a list of maps, or use `text`")
    return _text(tree, tree, path)


def plain_text(text: str) -> str:
    """Return a text that ends with a newline. Raises UnfitError if it cannot be written."""
    return _checked(text if text.endswith("\n") else f"{text}\n")


def _text(tree: Tree, documents: list[Tree], path: str) -> str:
    if path.endswith(_JSON):
        return _checked(json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    if not path.endswith(_YAML):
        hint = "end the path in one of them, or use `text`"
        raise UnfitError(f"the path {path!r} ends in none of .yaml, .yml and .json, so the format is unknown", hint)
    from muster.data.yaml.emitter import emit  # checks that write nothing need not load it
    from muster.fleet.derived import HEADER

    try:
        texts = [emit(document, header="" if number else HEADER) for number, document in enumerate(documents)]
    except ValueError as error:
        raise UnfitError(f"it cannot be written as YAML: {error}", "leave that out") from None
    return _checked("---\n".join(texts) or f"# {HEADER}\n")


def _checked(text: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UnfitError("it has half a surrogate pair, which is no text", "leave that out") from None
    if size > limits.FILE:
        raise UnfitError(f"it has {size} bytes, more than {limits.FILE}", "write several files, or less")
    return text
