"""Edits of `derived/` in a pull request: a finding for each commit that changes it and is not muster's own.

`derived/` is the memory of the last run: approvals, certificates, since when a cluster is silent. The next run trusts
it, so a pull request must not change it. `deploy/git/pre-receive` refuses such a push; on a forge without that hook,
this finding reports it.

Two sorts of commits are muster's own: those of runs (`muster.gitio.enginecommits`), and those of the signer, which only
add certificates. A signer's commit counts if the Fleet names an authority. The settings are those of the base, so a
pull request cannot choose who may sign.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from muster.fleet.approvals import CERTIFICATE, DECIDED, SIGNED
from muster.fleet.merge import overlay
from muster.gitio.changes import changed_paths
from muster.gitio.enginecommits import EngineCommits
from muster.gitio.fleetspec import fleet_spec
from muster.gitio.repository import LOG, Repository, blob_at, resolve
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.kinds import CSR
from muster.model.locations import AUTHORITY, FOLDER
from muster.model.source import Place
from muster.model.tree import Tree, dig, mapping_at
from muster.yamlio.loader import load_documents

_HINT: Final = "take the folder from the base: git checkout {base} -- derived/, or git rm what is not there, and commit"
_IDENTITY: Final = frozenset(("apiVersion", "kind", "metadata"))
_REQUESTS: Final = f"{FOLDER}{CSR.plural}/"


def derived_edits(repository: Repository, base: str, head: str) -> Iterator[Finding]:
    """Yield the findings of the commits between two revisions that change `derived/` and are not muster's own; none if
    the folder is the same in both. RepositoryError for a revision that does not exist."""
    before, after = resolve(repository, base), resolve(repository, head)
    if not _derived(repository, before, after):
        return
    listed = repository.git.output(*LOG, "--format=%H %P", f"{before}..{after}", "--", f":(top,literal){FOLDER}")
    parents = {commit: rest for commit, *rest in map(str.split, reversed(listed.decode().splitlines()))}
    with closing(EngineCommits(repository, before)) as known:
        own = known.among(list(parents))
    authority = bool(dig(fleet_spec(repository, before), *AUTHORITY))
    for commit in (one for one in parents if one not in own):
        # In a shallow clone the first commit has no parents: all that it brings is compared with the base.
        parent = parents[commit][0] if parents[commit] else before
        paths = _derived(repository, parent, commit)
        if not paths or (authority and all(_adds_certificate(repository, parent, commit, path) for path in paths)):
            continue
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        message = f"commit {commit[:12]} changes {paths[0]}{more}: only muster writes below {FOLDER}"
        yield finding("MUS504", message, Place(paths[0]), hint=_HINT.format(base=base))


def _derived(repository: Repository, before: str, after: str) -> list[str]:
    return [one.path for one in changed_paths(repository, before, after) if one.path.startswith(FOLDER)]


def _adds_certificate(repository: Repository, before: str, after: str, path: str) -> bool:
    """Whether a file is a request for a certificate, and gets one, and nothing else in it changes."""
    if not path.startswith(_REQUESTS):
        return False
    old, new = (_body(blob_at(repository, commit, path)) for commit in (before, after))
    certificate, signed = dig(new, *CERTIFICATE), dig(new, *DECIDED, SIGNED)
    if not isinstance(certificate, str):
        return False
    status: dict[str, Tree] = {CERTIFICATE[-1]: certificate}
    if signed is not None:
        status["muster"] = {DECIDED[-1]: {SIGNED: signed}}
    below = old or {name: value for name, value in new.items() if name in _IDENTITY}
    return bool(overlay(below, {"status": status}, CSR.list_keys) == new)


def _body(content: bytes | None) -> dict[str, Tree]:
    documents = load_documents(content, "").documents if content is not None else ()
    return mapping_at(documents[0].body) if len(documents) == 1 else {}
