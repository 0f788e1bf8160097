"""Edits of `derived/` in a pull request: a finding for each commit that changes it and is not muster's own.

`derived/` is the memory of the last run: approvals, certificates, since when a cluster is silent. The next run trusts
it, so a pull request must not change it. `deploy/git/pre-receive` refuses such a push; on a forge without that hook,
this finding reports it. Every commit is looked at, also if a later one undoes it: the branch will have been in the
state between.

A run's commit (`muster.git.enginecommits`) is not reported if it is signed with a key that the base's Fleet names: a
pull request cannot choose who may sign. If the Fleet names none, anybody can make such a commit, so it is a warning; it
is an error if no run can have made it, because its instant is ahead of the clock or before the base's last run, or
because it brings back an earlier state. A commit of `muster sign` is reported, too. Even a certificate that the
authority signed may be one that was revoked, and a pull request must not bring it back.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from muster.cli.instants import is_ahead
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.locations import FOLDER
from muster.data.source import Place
from muster.git.changes import changed_paths
from muster.git.enginecommits import NOW, SOURCE, WHOLE, EngineCommit, EngineCommits
from muster.git.log import LoggedCommit, read_log
from muster.git.repository import Repository, resolve, shallow_commits

_HINT: Final = "take the folder from the base: git checkout {base} -- derived/, or git rm what is not there, and commit"
_UNDONE: Final = "leave the commit out: git rebase --interactive {base}"
_UNSIGNED: Final = (
    "name muster's keys in Fleet.spec.commit.signers: then its own runs are not reported, and forged ones are errors"
)
_CLAIM: Final = f"^({NOW}|{SOURCE}|{WHOLE}):"


def derived_edits(repository: Repository, base: str, head: str) -> Iterator[Finding]:
    """Yield the findings of the commits between two revisions that change `derived/`, or claim to be runs, and are not
    proven to be muster's. RepositoryError for a revision that does not exist."""
    before, after = resolve(repository, base), resolve(repository, head)
    log = tuple(read_log(repository, f"{before}..{after}", topological=True, oldest_first=True))
    if not log:
        return
    review = _Review(repository, before, after, log)
    yield from sorted(review.findings(base), key=Finding.sort_key)


class _Review:
    """The commits between two others, oldest first, with the id of `derived/` in each and before it."""

    def __init__(self, repository: Repository, before: str, after: str, log: Sequence[LoggedCommit]) -> None:
        self._repository, self._before, self._after = repository, before, after
        engine = EngineCommits(repository, before)
        fork = repository.git.line("merge-base", before, after) or before
        ids = sorted({before, fork, *(id_ for logged in log for id_ in (logged.commit, *logged.parents))})
        self._trees: Mapping[str, str] = dict(zip(ids, engine.derived_trees(ids), strict=True))
        self._cut_off = shallow_commits(repository)
        self._signed = engine.signers is not None
        runs = engine.among([logged.commit for logged in log])
        last = engine.last() if runs and not self._signed else None
        self._runs = {id_ for id_, run in runs.items() if self._signed or self._is_plausible(run, last, runs)}
        # What the folder may be: that of the base, and what runs made of it.
        self._legitimate = {self._trees[id_] for id_ in (before, fork, *self._runs)}
        self._log, self._reported = log, set[str]()

    def findings(self, base: str) -> Iterator[Finding]:
        """Yield the findings, in the order of the commits; `base` is the name to show."""
        editing = list[str]()
        for logged in self._log:
            if self._edits(logged) and not (self._signed and logged.commit in self._runs):
                editing.append(logged.commit)
                self._reported.add(self._trees[logged.commit])
        paths = self._paths() if editing else {}
        undone = self._trees[self._before] == self._trees[self._after]
        hint = (_UNDONE if undone else _HINT).format(base=base)
        for commit in editing:
            changed = paths.get(commit) or (FOLDER,)
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            what, place = f"commit {commit[:12]} changes {changed[0]}{more}", Place(changed[0])
            if commit in self._runs:
                message = f"{what} like a run, and no signature proves that it is one"
                yield finding(Code.DERIVED_EDITED, message, place, hint=_UNSIGNED, severity=Severity.WARNING)
            else:
                yield finding(Code.DERIVED_EDITED, f"{what}: only muster writes below {FOLDER}", place, hint=hint)
        answered = self._runs.union(editing)
        for logged in read_log(self._repository, f"{self._before}..{self._after}", grep=_CLAIM):
            if logged.commit not in answered:
                message = f"commit {logged.commit[:12]} has a line {NOW}, {SOURCE} or {WHOLE}, and is no run of muster"
                yield finding(Code.RUN_FORGED, message, hint=f"reword it: git rebase --interactive {base}")

    def _paths(self) -> Mapping[str, Sequence[str]]:
        """The derived files that each commit changed; of a merge, against all its parents."""
        log = read_log(
            self._repository, f"{self._before}..{self._after}", paths=(FOLDER,), full_history=True, changes=True
        )
        paths = dict[str, Sequence[str]]()
        for logged in log:
            root = changed_paths(self._repository, self._before, logged.commit) if not logged.parents else ()
            changes = root or logged.changes
            paths[logged.commit] = sorted(change.path for change in changes if change.path.startswith(FOLDER))
        return paths

    def _is_plausible(self, run: EngineCommit, last: EngineCommit | None, runs: Mapping[str, EngineCommit]) -> bool:
        """May muster have made an unsigned commit that looks like a run? A pair that undoes itself it did not make."""
        others = (self._trees[id_] for id_ in (self._before, *runs) if id_ != run.commit)
        in_time = not is_ahead(run.now) and (last is None or run.now >= last.now)
        return in_time and self._trees[run.commit] not in others

    def _edits(self, logged: LoggedCommit) -> bool:
        tree, parents = self._trees[logged.commit], {self._trees[parent] for parent in logged.parents}
        if not parents:  # a root; in a shallow clone, it brings all that was before it
            return tree not in self._legitimate and (bool(tree) or logged.commit in self._cut_off)
        if len(logged.parents) == 1:
            return tree not in parents
        # A merge may take what any parent has, but not drop what the base has. What a commit before it did is reported.
        drops = tree not in self._legitimate | self._reported and bool(parents & self._legitimate)
        return tree not in parents or drops
