"""TLS as servers of muster speak it."""

import ssl
from pathlib import Path


def server_context(certificate: Path, key: Path, client_authority: Path | None, *, optional: bool) -> ssl.SSLContext:
    """With a `client_authority` clients show certificates that it signed; `optional`: or none.

    OSError, of which ssl.SSLError is one, for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL if optional else ssl.CERT_REQUIRED
    return context
