"""The webhook of a watch: a forge says that somebody pushed, and the watch fetches at once instead of at its interval.

Only the signature and the kind of event count; the body is never parsed. Whoever replays a request causes one fetch.

* GitHub: `X-Hub-Signature-256: sha256=<HMAC-SHA256 of the body>`,
  https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
* Gitea, Forgejo: `X-Gitea-Signature: <HMAC-SHA256 of the body>`, https://docs.gitea.com/usage/webhooks
* GitLab: `X-Gitlab-Token: <the secret>`,
  https://docs.gitlab.com/user/project/integrations/webhooks/#validate-payloads-by-using-a-secret-token
"""

import hashlib
import hmac
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from muster.net.serving.connection import AdmittedRequest
from muster.net.serving.http11 import HttpRequest, Response, response
from muster.net.serving.tokens import MIN_SECRET, check_length

#: Where a forge posts its events.
PATH: Final = "/webhook"
#: The variable that has the secret if no file has it.
VARIABLE: Final = "MUSTER_WEBHOOK_SECRET"
#: The longest event. GitLab lists 20 commits, Gitea 5, GitHub up to 2,048. A longer one is refused: its commits are
#: fetched at the interval.
MAX_BYTES: Final = 1 << 20
#: The events that a change of refs causes, by the header that names the event.
_PUSHES: Final = {
    "x-github-event": ("push", "create", "delete"),
    "x-gitea-event": ("push", "create", "delete"),
    "x-gitlab-event": ("Push Hook", "Tag Push Hook"),
}
_HMACS: Final = {"x-hub-signature-256": "sha256=", "x-gitea-signature": ""}


class Webhook:
    """Receives events that are signed with the `secret`, and calls `pushed` for pushes. Nothing is accepted while the
    secret is None: its file cannot be read."""

    def __init__(self, secret: Callable[[], str | None], pushed: Callable[[], None]) -> None:
        self._secret, self._pushed = secret, pushed

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        """Refuse what is not a POST with a body and with something that can prove its sender.

        A token is compared here, before the body is received.
        """
        if request.method != "POST":
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow="POST")
        signed = any(name in request.headers for name in _HMACS)
        if not request.length or not (signed or self._has_token(request)):
            return response(HTTPStatus.UNAUTHORIZED)
        return AdmittedRequest(MAX_BYTES, PATH)

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """202 for a push, 200 for other events, 401 unless the sender knows the secret."""
        if not (self._has_token(request) or self._has_hmac(request, body)):
            return response(HTTPStatus.UNAUTHORIZED)
        if not any(request.headers.get(name) in events for name, events in _PUSHES.items()):
            return response(HTTPStatus.OK)
        self._pushed()
        return response(HTTPStatus.ACCEPTED)

    def _has_token(self, request: HttpRequest) -> bool:
        secret, token = self._secret(), request.headers.get("x-gitlab-token")
        return secret is not None and token is not None and _equal(secret, token)

    def _has_hmac(self, request: HttpRequest, body: bytes) -> bool:
        if (secret := self._secret()) is None:
            return False
        digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return any(_equal(f"{prefix}{digest}", request.headers.get(name, "")) for name, prefix in _HMACS.items())


def webhook_secret(text: str) -> str:
    """The secret in a file or a variable. ValueError if it is too short, or not ASCII, as GitLab's header needs."""
    secret = check_length(text)
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(f"a secret has at least {MIN_SECRET} printable ASCII characters")
    return secret


def _equal(secret: str, sent: str) -> bool:
    """Are the texts equal? Takes the same time for all texts of one length."""
    return hmac.compare_digest(secret.encode(), sent.encode())
