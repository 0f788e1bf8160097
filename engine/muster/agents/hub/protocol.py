"""The messages between an agent and its relay over HTTP, as JSON.

    GET  /v1/agents/<cluster>       the cluster's files: {"commit": name or null, "files": {path: text}, "objectFormat"}
    PUT  /v1/agents/<cluster>       {"expected": name or null, "files": ...} -> {"commit": name}; 409: get them again
    GET  /v1/agents/<cluster>/hub   the hub's view: {"accepted", "synced", "leaseSeconds", "doubt", "answers"}, the
                                    answers to the certificate requests in its query, `?request=<name>&request=...`;
                                    with `works=<digest>`, also the ManifestWorks of the cluster, {"digest", "bodies"}:
                                    bodies are null if they have this digest

The files may include `.commit`: the signed commit that the agent would have pushed. The relay keeps it, as it does with
commits that agents push.
"""

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from muster.agents.hub.view import CertificateAnswer, ClusterWorks, HubView, bounded, decode_certificate, is_work
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree, dig, mapping_at, read_json
from muster.git.agents.relays import COMMIT, check_paths

PREFIX: Final = "/v1/agents/"
#: An agent waits for the answer to one request, and reads the answer to the one before.
_MOST_REQUESTS: Final = 8


def encode_files(files: Mapping[str, bytes]) -> dict[str, Tree]:
    """Encode files for a message."""
    return {path: content.decode("utf-8", "replace") for path, content in files.items()}


def decode_files(message: Tree) -> dict[str, bytes]:
    """Decode files. ValueError if the message has another form."""
    if not isinstance(message, dict):
        raise ValueError("it is not a mapping with files")  # noqa: TRY004 - the message is wrong, not a type
    files = dict[str, bytes]()
    for path, text in message.items():
        if not isinstance(text, str):
            raise ValueError("a file is not a text")  # noqa: TRY004
        files[path] = text.encode()
    check_paths(path for path in files if path != COMMIT)
    return files


def read_put(body: bytes) -> tuple[str | None, Mapping[str, bytes]]:
    """Return the expected name and the files of a PUT. ValueError if the body has another form."""
    message = read_json(body)
    if not isinstance(message, dict):
        raise ValueError("it is not a mapping with files")  # noqa: TRY004
    expected, files = message.get("expected"), decode_files(message.get("files"))
    if expected is not None and not isinstance(expected, str):
        raise ValueError("`expected` is not a name")
    return expected, files


def read_hub_query(query: str) -> tuple[list[str], str | None]:
    """Return the certificate requests that a query names, and the digest of the works that the agent has; None if it
    does not ask for works. ValueError for too many fields, or for what is no name."""
    fields = parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_REQUESTS + 1)
    named, works = fields.get("request", []), fields.get("works")
    if not all(map(is_cluster_name, named)):  # names of objects have the same form
        raise ValueError("a request has no valid name")
    return named, works[0] if works else None


def encode_view(view: HubView, known_works: str | None = None) -> Tree:
    """Encode the hub's view of a cluster, without the bodies of works that have a known digest."""
    answers: Tree = {
        name: {"certificate": base64.b64encode(answer.certificate).decode(), "denied": answer.denied}
        for name, answer in view.answers.items()
    }
    works: Tree = {}
    if view.works is not None:
        bodies = None if view.works.digest == known_works else list(view.works.bodies.values())
        works = {"works": {"digest": view.works.digest, "bodies": bodies}}
    return {
        "accepted": view.accepted,
        "synced": view.synced,
        "leaseSeconds": view.lease_seconds,
        "answers": answers,
        "doubt": list(view.doubt),
        **works,
    }


def decode_works(message: Mapping[str, Tree], cluster: str, known: ClusterWorks | None) -> ClusterWorks | None:
    """Decode the works of a cluster; those that are `known` if they are not sent again, None if there is no answer."""
    digest, bodies = dig(dict(message), "works", "digest"), dig(dict(message), "works", "bodies")
    if bodies is None and known is not None and known.digest == digest:
        return known
    if (
        not isinstance(bodies, list)
        or not isinstance(digest, str)
        or not all(is_work(body, cluster) for body in bodies)
    ):
        return None
    return ClusterWorks(digest, {str(body["metadata"]["name"]): body for body in bodies})


def decode_view(message: Mapping[str, Tree]) -> HubView:
    """Decode the hub's view of a cluster, without its works. Fields of another form count as missing."""
    answers = {name: _decode_answer(answer) for name, answer in mapping_at(dict(message), "answers").items()}
    return HubView(
        message.get("accepted") is True,
        message.get("synced") is not False,
        bounded(message.get("leaseSeconds")),
        _decode_doubt(message.get("doubt")),
        answers,
    )


def _decode_doubt(message: Tree) -> tuple[str, str] | tuple[()]:
    if isinstance(message, list) and len(message) == 2 and all(isinstance(text, str) for text in message):
        return message[0], message[1]
    return ()


def _decode_answer(message: Tree) -> CertificateAnswer:
    answer = mapping_at(message)
    return CertificateAnswer(decode_certificate(answer.get("certificate")), answer.get("denied") is True)
