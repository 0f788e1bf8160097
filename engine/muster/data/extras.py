"""The command that installs an extra: from where this muster came from, as muster is on no package index."""

import json
import shlex
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final
from urllib.parse import unquote

from muster.data.printable import without_secrets
from muster.data.tree import Tree, dig

_NAME: Final = "muster-fleet"


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the muster that runs, or the extra's libraries if its source is unknown.

    The source is that of PEP 610: `direct_url.json`, which pip and uv write.
    """
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return f"pip install '{_NAME}[{extra}]', from where you have muster"
    return f"pip install {_requirement(found, extra)}"


def _requirement(found: Distribution, extra: str) -> str:
    try:
        direct: Tree = json.loads(found.read_text("direct_url.json") or "null")
    except ValueError:
        direct = None
    url = dig(direct, "url")
    if not isinstance(url, str) or not url.isprintable():
        return shlex.join(_libraries(found, extra))
    if dig(direct, "dir_info") is not None:
        editable = "-e " if dig(direct, "dir_info", "editable") is True else ""
        return editable + shlex.quote(f"{unquote(url.removeprefix('file://'))}[{extra}]")
    if not url.startswith("ssh://"):  # where git's user is no secret, and needed
        url = without_secrets(url)
    commit = dig(direct, "vcs_info", "commit_id")
    source = f"{dig(direct, 'vcs_info', 'vcs')}+{url}@{commit}" if commit else url
    return shlex.quote(f"{_NAME}[{extra}] @ {source}")


def _libraries(found: Distribution, extra: str) -> list[str]:
    """The requirements of an extra, without their markers."""
    split = (one.partition(";") for one in found.requires or ())
    return [name.strip() for name, _, marker in split if marker.replace('"', "'").strip() == f"extra == '{extra}'"]
