"""Keeps credentials out of the repository, whose readers can read everything that was ever committed.

Secrets are of no kind that muster reads, so they are skipped like other objects. This module searches the known kinds:
for Secrets inside a ManifestWork, private keys in any text, passwords in URLs, and headers with credentials.
"""

import base64

from muster.data.kinds import MANIFEST_WORK, Kind
from muster.data.printable import without_secrets
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.regex import SPACE, Regex

_PASSWORD = Regex(rf"://[^/{SPACE}'\"<>@]*:[^/{SPACE}'\"<>]*@")
_KEY = "PRIVATE KEY-----"
_BASE64_PEM = "LS0tLS1CRUdJTi"  # -----BEGIN
_HEADERS = ("authorization", "cookie", "token", "secret", "password", "apikey", "api-key")


@dataclass(frozen=True, slots=True)
class Screened:
    """An object without its credentials: `left_out` are the paths of what is not in it any more. `body` is None, and
    `reason` says why, where it must not be written at all."""

    body: Tree
    left_out: tuple[str, ...] = ()
    reason: str = ""


def screened(kind: Kind, body: Tree) -> Screened:
    """Return an object as it may be committed. The body given is not changed."""
    if kind is MANIFEST_WORK:
        manifests = dig(body, "spec", "workload", "manifests")
        held = [m for m in manifests if _is_secret(m)] if isinstance(manifests, list) else []
        if held:
            return Screened(None, reason=f"{len(held)} of the manifests in it {_are_secrets(len(held))}")
    left_out: list[str] = []
    clean = _clean(body, "", left_out)
    keys = [path for path in left_out if path.startswith("!")]
    if keys:
        return Screened(None, reason=f"there is a private key at {keys[0][1:]}")
    spec = mapping_at(clean, "spec")
    headers = mapping_at(spec, "proxyHeader")
    if trusted := sorted(name for name in headers if any(mark in name.lower() for mark in _HEADERS)):
        left_out += [f"spec.proxyHeader.{name}" for name in trusted]
        rest = {name: value for name, value in headers.items() if name not in trusted}
        clean = {**clean, "spec": {**spec, "proxyHeader": rest}}
    return Screened(clean, tuple(left_out))


def has_clear_secret(body: Tree) -> bool:
    """Is an object a Secret, a list or a ManifestWork with one, or a set of such ManifestWorks, that has its data in
    clear text? SOPS leaves names and writes each value as `ENC[...]`."""
    template = mapping_at(body, "spec", "manifestWorkTemplate") or mapping_at(body, "spec")
    manifests = mappings_at(template, "workload", "manifests")
    if not _is_secret(body):
        return any(map(has_clear_secret, manifests))
    items = mappings_at(body, "items")
    data = (*mapping_at(body, "data").values(), *mapping_at(body, "stringData").values())
    return any(map(has_clear_secret, items)) or any(value and not str(value).startswith("ENC[") for value in data)


def _are_secrets(number: int) -> str:
    return "is a Secret" if number == 1 else "are Secrets"


def _is_secret(manifest: Tree) -> bool:
    """Is a manifest a Secret, or a list with one?"""
    if not isinstance(manifest, dict):
        return False
    group = str(manifest.get("apiVersion")).rpartition("/")[0]
    inside = any(map(_is_secret, mappings_at(manifest, "items")))
    return inside or (group == "" and manifest.get("kind") in ("Secret", "SecretList"))


def _clean(tree: Tree, path: str, left_out: list[str]) -> Tree:
    """A copy without passwords in URLs; `left_out` gets their paths, and those of private keys after a `!`."""
    if isinstance(tree, dict):
        return {name: _clean(value, f"{path}.{name}" if path else name, left_out) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_clean(value, f"{path}[{index}]", left_out) for index, value in enumerate(tree)]
    if not isinstance(tree, str):
        return tree
    if _KEY in tree or (_BASE64_PEM in tree and _KEY in _decoded(tree)):
        left_out.append(f"!{path}")
    elif "://" in tree and _PASSWORD.search(tree):
        left_out.append(path)
        return without_secrets(tree)
    return tree


def _decoded(text: str) -> str:
    plain = "".join(text[text.index(_BASE64_PEM) :].split())
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4]).decode("latin-1")
    except ValueError:
        return ""
