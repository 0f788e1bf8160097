"""What goes between an agent and its relay over HTTP, as JSON.

    GET  /v1/agents/<cluster>       what is known of it: {"commit": name or null, "files": {path: text}, "objectFormat"}
    PUT  /v1/agents/<cluster>       {"expected": name or null, "files": ...} -> {"commit": name}; 409: look again
    GET  /v1/agents/<cluster>/hub   what the hub says of it: {"accepted", "synced", "leaseSeconds", "answers"}, the
                                    last of the requests for certificates in its query, `?request=<name>&request=...`

Among the files may be `.commit`: what the agent would have committed, signed. The relay keeps it, as it does with what
agents push.
"""

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from muster.agents.hub.view import CertificateAnswer, HubView, bounded
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree, mapping_at, read_json
from muster.git.relayed import COMMIT, refuse_odd_paths

PREFIX: Final = "/v1/agents/"
#: An agent waits for the answer to one request, and looks at the one before.
_MOST_REQUESTS: Final = 8


def texts(files: Mapping[str, bytes]) -> dict[str, Tree]:
    """Files as they are sent."""
    return {path: content.decode("utf-8", "replace") for path, content in files.items()}


def files_of(said: Tree) -> dict[str, bytes]:
    """Files that were sent; ValueError where they are none."""
    if not isinstance(said, dict):
        raise ValueError("it is no mapping with files")  # noqa: TRY004 - what is sent is wrong, not a type
    files = dict[str, bytes]()
    for path, text in said.items():
        if not isinstance(text, str):
            raise ValueError("a file is a text")  # noqa: TRY004
        files[path] = text.encode()
    refuse_odd_paths(path for path in files if path != COMMIT)
    return files


def put(body: bytes) -> tuple[str | None, Mapping[str, bytes]]:
    """What an agent puts: in place of which, and the files. ValueError where it makes no sense."""
    said = read_json(body)
    if not isinstance(said, dict):
        raise ValueError("it is no mapping with files")  # noqa: TRY004
    expected, files = said.get("expected"), files_of(said.get("files"))
    if expected is not None and not isinstance(expected, str):
        raise ValueError("what is expected is a name")
    return expected, files


def requests_of(query: str) -> list[str]:
    """The requests for certificates that a query names."""
    asked = parse_qs(query, max_num_fields=_MOST_REQUESTS).get("request", [])
    return [name for name in asked if is_cluster_name(name)]  # both are names of objects


def view_text(view: HubView) -> Tree:
    """What the hub says, as it is sent."""
    answers: Tree = {
        name: {"certificate": base64.b64encode(answer.certificate).decode(), "denied": answer.denied}
        for name, answer in view.answers.items()
    }
    return {
        "accepted": view.accepted, "synced": view.synced, "leaseSeconds": view.lease_seconds, "answers": answers,
        "doubt": list(view.doubt),
    }  # fmt: skip


def view_said(said: Mapping[str, Tree]) -> HubView:
    """What the hub says, as it was sent. What makes no sense is not said."""
    answers = {name: _answer(one) for name, one in mapping_at(dict(said), "answers").items()}
    lease = bounded(said.get("leaseSeconds"))
    return HubView(
        said.get("accepted") is True, said.get("synced") is not False, lease, _doubt(said.get("doubt")), answers
    )


def _doubt(said: Tree) -> tuple[str, str] | tuple[()]:
    if isinstance(said, list) and len(said) == 2 and all(isinstance(text, str) for text in said):
        return said[0], said[1]
    return ()


def _answer(said: Tree) -> CertificateAnswer:
    one = mapping_at(said)
    text = one.get("certificate")
    try:
        certificate = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        certificate = b""
    return CertificateAnswer(certificate, one.get("denied") is True)
