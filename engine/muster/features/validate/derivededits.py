"""Edits of `derived/` in a pull request: a finding for each commit that changes it and is not muster's own.

`derived/` is the memory of the last run: approvals, certificates, since when a cluster is silent. The next run trusts
it, so a pull request must not change it. `deploy/git/pre-receive` refuses such a push; on a forge without that hook,
this finding reports it.

A run's commit (`muster.git.enginecommits`) is not reported if it is signed with a key that the base's Fleet names: a
pull request cannot choose who may sign. If the Fleet names none, anybody can make such a commit, so it is a warning. A
commit of `muster sign` is reported, too. Even a certificate that the authority signed may be
one that was revoked, and a pull request must not bring it back.
"""

from collections.abc import Iterator
from typing import Final

from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.locations import FOLDER
from muster.data.source import Place
from muster.git.changes import changed_paths
from muster.git.enginecommits import EngineCommits
from muster.git.log import read_log
from muster.git.repository import Repository, resolve

_HINT: Final = "take the folder from the base: git checkout {base} -- derived/, or git rm what is not there, and commit"
_UNSIGNED: Final = (
    "name muster's keys in Fleet.spec.commit.signers: then its own runs are not reported, and forged ones are errors"
)


def derived_edits(repository: Repository, base: str, head: str) -> Iterator[Finding]:
    """Yield the findings of the commits between two revisions that change `derived/` and are not proven to be
    muster's; none if the folder is the same in both. RepositoryError for a revision that does not exist."""
    before, after = resolve(repository, base), resolve(repository, head)
    if not _derived(repository, before, after):
        return
    log = tuple(read_log(repository, f"{before}..{after}", paths=(FOLDER,)))
    parents = {one.commit: one.parents for one in reversed(log)}
    known = EngineCommits(repository, before)
    own, signed = known.among(list(parents)), known.signers is not None
    for commit in parents:
        if signed and commit in own:
            continue
        # In a shallow clone the first commit has no parents: all that it brings is compared with the base.
        paths = _derived(repository, parents[commit][0] if parents[commit] else before, commit)
        if not paths:
            continue
        what = f"commit {commit[:12]} changes {paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}"
        if commit in own:
            message = f"{what} like a run, and no signature proves that it is one"
            yield finding(Code.DERIVED_EDITED, message, Place(paths[0]), hint=_UNSIGNED, severity=Severity.WARNING)
        else:
            message = f"{what}: only muster writes below {FOLDER}"
            yield finding(Code.DERIVED_EDITED, message, Place(paths[0]), hint=_HINT.format(base=base))


def _derived(repository: Repository, before: str, after: str) -> list[str]:
    return [one.path for one in changed_paths(repository, before, after) if one.path.startswith(FOLDER)]
