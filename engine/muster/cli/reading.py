"""What commands read: a revision of the repository, or the files of a work tree or directory.

What evaluates a fleet is imported by the functions that do: `validate` reads fleets, too, and evaluates none.
"""

import os
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli.cache import open_state_of, use_cache
from muster.cli.instants import Instant, instant_of
from muster.cli.listening import Freshness, age_line, agent_refs_at, require_heard
from muster.data.agentref import relay_of
from muster.data.decision import NOTHING_PUBLISHED, Memory
from muster.data.printable import printable
from muster.data.snapshot import Snapshot
from muster.dataclass import dataclass
from muster.fleet.agent_messages import unasked_remote
from muster.git.agents.listing import AgentRefs, local_agent_refs
from muster.git.agents.settings import unasked_remotes
from muster.git.derivedbranch import derived_branch, derived_tip, evaluated_commit
from muster.git.directory import DirectorySnapshot
from muster.git.errors import KilledError, RepositoryError
from muster.git.memory.pulses import Remembered
from muster.git.mergebase import commit_of
from muster.git.open import open_commit, open_revision, work_tree_snapshot
from muster.git.push import fetch_missing
from muster.git.record.past import KnownThen, past_of, snapshot_then
from muster.git.repository import Repository, branch_tip, current_branch, open_repository, ref_tip, resolve
from muster.git.snapshot import CommitSnapshot, staged_snapshot
from muster.git.status import UnknownChangesError, work_tree_changes
from muster.rules.policies.lazy import Witness
from muster.run.question import COMMITTED, FileSource, Question, read_work_tree

if TYPE_CHECKING:
    from muster.data.finding import Finding
    from muster.run.incremental import Wanted
    from muster.run.memo.state import RunState
    from muster.run.run import Run, Settled
    from muster.run.shards.workers import Workers


@dataclass(frozen=True)
class FleetReading:
    """An opened fleet: the snapshot, and the agents' refs.

    `repository`, `base` (the commit that was last decided on) and `heard` are None for a plain directory. `unasked`:
    what the revision would have this machine ask and the governing one does not. `state` is the file that `--state`
    names. `past` is what was known of agents then, if the revision is past; `heard` is then from there.
    """

    snapshot: Snapshot
    freshness: Freshness
    repository: Repository | None = None
    base: str | None = None
    heard: AgentRefs | None = None
    unasked: "tuple[Finding, ...]" = ()
    state: Path | None = None
    past: KnownThen | None = None

    @property
    def published(self) -> Memory:
        """The pulses that were published before, if the revision is past. Other commands read the memory of the
        repository where they need it."""
        return self.past.memory if self.past is not None else NOTHING_PUBLISHED

    @cached_property
    def branch(self) -> str | None:
        """The branch that is checked out; None if there is none."""
        return current_branch(self.repository) if self.repository else None

    def instant(self, now: datetime) -> Instant:
        """Return the instant at which a reconcile would decide."""
        if self.repository is None or self.base is None:
            return Instant(now)
        return instant_of(self.repository, self.base, now)

    def tip_of(self, ref: str) -> str | None:
        """Return the commit of an agent's ref, named as in messages; None if it is missing, or if a relay writes it."""
        refs = self.heard.refs if self.heard is not None else ()
        return next(
            (agent_ref.commit for agent_ref in refs if agent_ref.short == ref and not relay_of(agent_ref.name)), None
        )

    def question(self, now: datetime) -> Question | None:
        """Return the question to ask the state of the branch that is checked out; None if something else is read."""
        repository, commit, agent_refs, branch = self.repository, self.base, self.heard, self.branch
        if repository is None or commit is None or agent_refs is None or branch is None or self.past is not None:
            return None
        tip = branch_tip(repository, branch)
        if tip is None or evaluated_commit(repository, tip) != commit:
            return None
        try:
            files = (
                COMMITTED if self.snapshot.commit else FileSource(read_work_tree, work_tree_changes(repository, tip))
            )
        except (UnknownChangesError, RepositoryError):
            return None
        return Question(repository, commit, agent_refs, now, Remembered(repository, listed=agent_refs.own), files=files)

    def kept(self) -> "RunState | None":
        """Return the state of the last run on the branch that is checked out; None if none is kept."""
        if self.repository is None or self.branch is None:
            return None
        return open_state_of(os.environ, self.repository, self.branch, self.state)

    def require_heard(self, run: "Run") -> None:
        """Raise RepositoryError if clusters that report through refs have no refs now.

        A plain directory has no refs at all: there, clusters keep their derived state, with a finding.
        """
        if self.repository is None or self.heard is None or self.past is not None:
            return
        require_heard(self.repository, run, self.heard, self.freshness)

    def age(self, now: datetime) -> str:
        """Return a line about the age of the agents' refs; empty if no agent uses a ref."""
        if self.repository is None or self.heard is None:
            return ""
        return age_line(self.repository, self.heard, now) if self.past is None else self.past.age(now)

    def print_age(self, now: datetime, *, err: bool) -> None:
        """Print the age of the agents' refs; on standard error if the output is for machines."""
        if line := self.age(now):
            click.echo(line, err=err)


def open_reading(
    repo: Path,
    rev: str | None,
    *,
    worktree: bool,
    freshness: Freshness,
    governing: str | None = None,
    now: datetime | None = None,
) -> FleetReading:
    """Open what `--rev` and `--worktree` name, with agents' refs as `freshness` say; those of a past revision by the
    record of the run before (`muster.git.record.past`), as of an instant `now` if a person gave one.

    A revision that is only read may be anybody's: which repositories are asked, and which branches fetched, says the
    Fleet of the revision `governing`, by default that of HEAD, never that of `rev`.
    """
    _check(repo, rev, worktree=worktree)
    if worktree and (checkout := own_repository(repo)) is None:
        return FleetReading(DirectorySnapshot(worktree_root(repo), os.environ), freshness)
    repository = checkout if worktree and checkout else open_repository(repo, os.environ)
    if not worktree:
        commit = resolve(repository, rev or "HEAD")
        past = past_of(repository, commit, now, ask=freshness.ask) if rev and governing is None else None
        if past is not None:
            if past.note:
                click.echo(f"note: {printable(past.note)}", err=True)
            snapshot = snapshot_then(repository, commit, past)
            return FleetReading(snapshot, freshness, repository, snapshot.commit, past.refs, past=past)
        judge = _governing(repository, governing, commit, freshness)
        base = _with_derived_files(repository, commit, judge, freshness)
        agent_refs = agent_refs_at(repository, base, freshness, governing=judge)
        snapshot = CommitSnapshot(repository, base, agent_refs.refs, agent_refs.agents)
        unasked = _unasked_findings(repository, commit, judge)
        for note in unasked if governing is None else ():  # of a named base, the caller compares findings
            click.echo(f"note: {printable(note.message)}", err=True)
        return FleetReading(snapshot, freshness, repository, base, agent_refs, unasked)
    head = ref_tip(repository, "HEAD^{commit}")
    judge = _governing(repository, governing, head or "", freshness)
    head = head and _with_derived_files(repository, head, judge, freshness)
    agent_refs = agent_refs_at(repository, head, freshness, governing=judge)
    unasked = _unasked_findings(repository, head, judge) if head else ()
    return FleetReading(work_tree_snapshot(repository, agent_refs), freshness, repository, head, agent_refs, unasked)


def _unasked_findings(repository: Repository, commit: str, governing: str) -> "tuple[Finding, ...]":
    if commit == governing:
        return ()
    return tuple(unasked_remote(remote.name, remote.url) for remote in unasked_remotes(repository, commit, governing))


def _governing(repository: Repository, revision: str | None, commit: str, freshness: Freshness) -> str:
    """The commit whose Fleet says what this machine asks while it reads another one."""
    if revision is None:
        return ref_tip(repository, "HEAD^{commit}") or commit
    return commit_of(repository, revision, ask=freshness.ask)


def _with_derived_files(repository: Repository, commit: str, governing: str, freshness: Freshness) -> str:
    """The commit with its derived files; if their branch is missing locally, it is fetched."""
    branch = derived_branch(repository, commit)
    if not (branch and freshness.ask) or branch != derived_branch(repository, governing):
        return evaluated_commit(repository, commit)
    if derived_tip(repository, branch) is None:
        fetch_missing(repository, branch, limit_seconds=freshness.limit_seconds)
    return evaluated_commit(repository, commit)


def evaluate_reading(
    reading: FleetReading,
    now: datetime,
    wanted: "Wanted | None",
    witness: Witness | None = None,
    *,
    rested: bool = False,
) -> "Run":
    """Evaluate once, or, if it is to be `rested`, until nothing more is due. RepositoryError if agents' refs are
    missing.

    Evaluates only what is `wanted`, if that is given, with the findings of the whole fleet. A `witness` is told how
    expressions were evaluated in the first pass. What the last run derived is that of the commit in the first pass
    only.
    """
    from muster.run.evaluate import evaluate_snapshot
    from muster.run.settle import settle

    question = reading.question(now) if wanted is not None else None
    state = reading.kept() if question is not None else None
    if question is not None and state is not None and wanted is not None:
        from muster.run.incremental import answer

        settled: Settled | None = answer(replace(question, witness=witness), state, wanted=wanted).settled
    else:
        settled = settle(reading.snapshot, now, reading.published, witness=witness) if rested else None
    run = (
        settled.first
        if settled is not None
        else evaluate_snapshot(reading.snapshot, now, reading.published, witness=witness)
    )
    reading.require_heard(run)
    return settled.last if rested and settled is not None else run


def settle_reading(reading: FleetReading, now: datetime, workers: "Workers") -> "Settled":
    """Evaluate until nothing more is due, starting from the state of the branch that is checked out. Keeps no state."""
    from muster.run.incremental import answer
    from muster.run.settle import settle

    if (question := reading.question(now)) is not None:
        return answer(question, reading.kept(), workers).settled
    if reading.repository is None or reading.past is not None:
        return settle(reading.snapshot, now, reading.published)
    return settle(reading.snapshot, now, Remembered(reading.repository).memory)


def snapshot_of(repo: Path, rev: str | None, *, worktree: bool, staged: bool = False) -> Snapshot:
    """Return the snapshot that `--rev`, `--worktree` and `--staged` name; HEAD without any. Fetches nothing.

    A directory outside of any repository is read as it is, unless a revision is given.
    """
    _check(repo, rev, worktree=worktree)
    if staged:
        return staged_snapshot(open_repository(repo, os.environ))
    if worktree:
        repository = own_repository(repo)
        if repository is not None:
            return work_tree_snapshot(repository, local_agent_refs(repository))
        return DirectorySnapshot(worktree_root(repo), os.environ)
    return open_revision(open_repository(repo, os.environ), rev)


def _check(repo: Path, rev: str | None, *, worktree: bool) -> None:
    use_cache(os.environ)
    if worktree and rev:
        raise click.UsageError("--rev and --worktree exclude each other.")
    if not repo.is_dir():
        raise RepositoryError(f"{repo} is not a directory", "Give the fleet repository with --repo.")


def own_repository(repo: Path) -> Repository | None:
    """Return the repository whose work tree is the fleet; None for a plain directory, and for a fleet in a folder of
    another repository, such as an example, which has no agents."""
    root = worktree_root(repo)
    try:
        repository = open_repository(root, os.environ)
    except KilledError:
        raise
    except RepositoryError:
        return None
    same = repository.worktree is not None and repository.worktree.resolve() == root.resolve()
    return repository if same else None


def require_repository(repo: Path) -> None:
    """Raise RepositoryError for a directory without objects if it is in no git repository: nothing can be checked."""
    try:
        open_repository(repo, os.environ)
    except KilledError:
        raise
    except RepositoryError as error:
        raise RepositoryError(
            f"{repo.absolute()} is not in a git repository, and no file in it declares an object",
            "run it in a fleet's repository, or name one with --repo DIR",
        ) from error


def base_snapshot(repo: Path, rev: str | None, *, default: str) -> Snapshot | None:
    """Return the revision to compare with; None if none is named and the default one does not exist.

    RepositoryError if a named revision does not exist.
    """
    try:
        repository = open_repository(repo, os.environ)
        if not rev and repository.worktree and repository.worktree.resolve() != worktree_root(repo).resolve():
            return None  # a fleet in a folder of another repository has no commits of its own
        return open_commit(repository, rev or default)
    except RepositoryError:
        if rev:
            raise
        return None  # the first commit, or a plain directory: everything is new


def worktree_root(repo: Path) -> Path:
    """Return the root of the work tree around `repo`; `repo` itself without git, or if it has a fleet of its own."""
    if (repo / "fleet.yaml").is_file():
        return repo
    try:
        return open_repository(repo, os.environ).worktree or repo
    except RepositoryError:
        return repo
