"""How a manifest is applied: the update strategies of Open Cluster Management's work agent.

Source: ocm `pkg/work/spoke/apply`. Deliberate differences: `Update`, the default, applies the manifest's fields by
server-side apply and takes them from other managers, where upstream replaces the object; an executor applies in its own
name, where upstream asks for its rights and applies in the agent's; jq expressions are not supported.
"""

import copy
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from muster.agents.kube.apiserver import ApiError, ApiServer
from muster.agents.works.manifests import (
    CREATE_ONLY,
    READ_ONLY,
    SERVER_SIDE_APPLY,
    UPDATE,
    Manifest,
    ManifestOptions,
    ResourceKey,
    is_orphaned,
)
from muster.data.jsonpath.values import remove_at
from muster.data.tree import Tree, dig, digest_of, mapping_at, mappings_at

MANAGER: Final = "work-agent"
_SPEC_HASH: Final = "open-cluster-management.io/config-spec-hash"
#: What an executor must be allowed to do with each object, and what more if the object goes with the work.
_VERBS: Final = ("create", "update", "patch", "get")
_DELETE: Final = "delete"


class ApplyError(Exception):
    """A manifest cannot be applied: a condition's reason and message."""

    def __init__(self, message: str, reason: str = "AppliedManifestFailed") -> None:
        super().__init__(message)
        self.reason = reason


def executor_of(spec: Tree) -> str:
    """Return the service account in whose name a work is applied, `namespace/name`; empty for the agent's own.

    ApplyError for another sort of executor.
    """
    if dig(spec, "executor") is None:
        return ""
    subject = mapping_at(spec, "executor", "subject")
    account = mapping_at(subject, "serviceAccount")
    if subject.get("type") != "ServiceAccount":
        raise ApplyError("only support ServiceAccount type for the executor")
    if not account.get("namespace") or not account.get("name"):
        raise ApplyError("the executor service account is nil")
    return f"{account['namespace']}/{account['name']}"


def server_of(server: ApiServer, executor: str) -> ApiServer:
    """Return the server as an executor asks it."""
    return server.acting_as(f"system:serviceaccount:{executor.replace('/', ':')}") if executor else server


def check_executor(server: ApiServer, executor: str, manifest: Manifest, spec: Tree) -> None:
    """Raise ApplyError unless the executor, as which `server` is asked, may apply the manifest and delete it later."""
    key = manifest.key
    if not executor or key is None:
        return
    for verb in (*_VERBS, *(() if is_orphaned(spec, key) else (_DELETE,))):
        if not _may(server, verb, key):
            where = f"{key.group} {key.resource}, {key.namespace} {key.name}"
            raise ApplyError(f"not allowed to apply the resource {where}: {executor} may not {verb} it")


def _may(server: ApiServer, verb: str, key: ResourceKey) -> bool:
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {"verb": verb, **key._asdict()},
        },
    }
    answer = server.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=asked)
    return dig(answer, "status", "allowed") is True


def apply_manifest(server: ApiServer, manifest: Manifest, options: ManifestOptions) -> Tree:
    """Apply a manifest and return the object; None if it is only read. ApplyError or ApiError if that fails."""
    if manifest.problem:
        raise ApplyError(manifest.problem)
    match options.strategy:
        case strategy if strategy == UPDATE:
            return server.apply(manifest.path, manifest.body, MANAGER)
        case strategy if strategy == READ_ONLY:
            return None
        case strategy if strategy == CREATE_ONLY:
            return _created(server, manifest)
        case strategy if strategy == SERVER_SIDE_APPLY:
            return _applied(server, manifest, options.apply)
    raise ApplyError(f"the update strategy {options.strategy!r} is not known")


def _created(server: ApiServer, manifest: Manifest) -> Tree:
    existing = _existing(server, manifest)
    if existing is not None:
        return existing
    collection = manifest.path.rpartition("/")[0]
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
    return server.request("POST", collection, query, manifest.body)


def _applied(server: ApiServer, manifest: Manifest, config: Tree) -> Tree:
    """Apply with the work's own field manager. Ignored fields are set once, and then as long as the rest stays."""
    body = manifest.body
    ignored = mappings_at(config, "ignoreFields")
    if ignored:
        manifest, reduced = _with_hash(manifest, ignored)
        existing = _existing(server, manifest)
        hashed = mapping_at(reduced, "metadata", "annotations")[_SPEC_HASH]
        if mapping_at(existing, "metadata", "annotations").get(_SPEC_HASH) == hashed:
            return existing
        body = manifest.body if existing is None else reduced
    manager = str(dig(config, "fieldManager") or MANAGER)
    return server.apply(manifest.path, body, manager, force=dig(config, "force") is True)


def _existing(server: ApiServer, manifest: Manifest) -> Tree:
    try:
        return server.get_json(manifest.path)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def _with_hash(manifest: Manifest, ignored: list[Tree]) -> tuple[Manifest, Tree]:
    """The manifest, and it without the fields that are ignored once the object exists, both with the hash of the
    latter."""
    reduced = copy.deepcopy(manifest.body)
    for rule in ignored:
        if rule.get("condition") == "OnSpokeChange":
            continue  # such a field counts in the hash, so it is set again if the manifest changes
        if rule.get("jqPathExpressions"):
            raise ApplyError(
                "Failed to process ignoreFields: jq is not supported; write jsonPaths or jsonPointers",
                "AppliedManifestSSAIgnoreFieldError",
            )
        try:
            for path in rule.get("jsonPaths") or ():
                remove_at(reduced, str(path))
        except ValueError as error:
            message = f"Failed to process ignoreFields: {error}"
            raise ApplyError(message, "AppliedManifestSSAIgnoreFieldError") from error
        for pointer in rule.get("jsonPointers") or ():
            _remove_pointer(reduced, str(pointer))
    digest = digest_of(reduced)[:32]

    def hashed(body: Tree) -> Tree:
        annotations = {**mapping_at(body, "metadata", "annotations"), _SPEC_HASH: digest}
        return {**body, "metadata": {**mapping_at(body, "metadata"), "annotations": annotations}}

    return replace(manifest, body=hashed(manifest.body)), hashed(reduced)


def _remove_pointer(tree: Tree, pointer: str) -> None:
    """Remove what a JSON pointer (RFC 6901) means; nothing if there is no such place."""
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:] or ("",))
    for step in steps:
        tree = tree.get(step) if isinstance(tree, dict) else _item(tree, step)
    if isinstance(tree, dict):
        tree.pop(last, None)
    elif _item(tree, last) is not None:
        del tree[int(last)]


def _item(tree: Tree, step: str) -> Tree:
    return tree[int(step)] if isinstance(tree, list) and step.isdecimal() and int(step) < len(tree) else None
