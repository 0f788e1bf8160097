"""A rehearsal: real runs in a scratch repository, step by step.

Each step evaluates at an instant and commits the result, so that the next one finds what a real run would find. Pulses
count as sent. Suppositions (a renewed lease, an edited file) are committed like anything else.

The scratch repository borrows the real one's objects (`objects/info/alternates`), so making it is cheap, and nothing is
written to the real one. It has no hooks, remotes or configuration, and is deleted at the end of the block.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from muster.data.agentref import relay_of
from muster.data.decision import Memory, PulseKey
from muster.dataclass import dataclass
from muster.features.whatif.supposing import Edits
from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import PULSES, AgentRef
from muster.git.fastimport import build_commit
from muster.git.memory.pulses import Remembered
from muster.git.memory.rootref import files_of
from muster.git.repository import Repository, common_directory, open_repository, ref_tip
from muster.git.snapshot import CommitSnapshot
from muster.git.store.process import Git, without_location
from muster.rules.policies.lazy import Witness
from muster.run.collector import without_collection
from muster.run.incremental import NOTHING_WANTED, Wanted, answer
from muster.run.memo.state import RunState, copy_of, open_state
from muster.run.question import Question, Remembers
from muster.run.run import Run, Settled
from muster.run.transitions.transitions import commit_message

_IDENTITY = {
    "GIT_AUTHOR_NAME": "muster",
    "GIT_AUTHOR_EMAIL": "muster@invalid",
    "GIT_COMMITTER_NAME": "muster",
    "GIT_COMMITTER_EMAIL": "muster@invalid",
}


@contextmanager
def scratch_of(repository: Repository, commit: str) -> Iterator[Repository]:
    """Yield a bare repository with the branch `main` at a commit of another, and the same memory of pulses."""
    with TemporaryDirectory(prefix="muster-scratch-") as folder:
        path, environ = Path(folder), {**without_location(repository.git.environ), **_IDENTITY}
        git = Git(path, environ)
        git.output(
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
            f"--object-format={repository.object_format}",
            ".",
        )
        origin = common_directory(repository).resolve()
        (path / "objects/info").mkdir(exist_ok=True)
        (path / "objects/info/alternates").write_text(f"{origin / 'objects'}\n", encoding="utf-8")
        if (origin / "shallow").is_file():
            shutil.copyfile(origin / "shallow", path / "shallow")
        git.output("update-ref", "refs/heads/main", commit)
        if (pulses := ref_tip(repository, PULSES)) is not None:
            git.output("update-ref", PULSES, pulses)
        yield open_repository(path, environ)


@dataclass(frozen=True, slots=True)
class _Sent:
    """The published pulses, those of the rehearsal included. Satisfies `muster.run.question.Remembers`."""

    memory: Memory
    at: str


@dataclass
class Rehearsal:
    """A fleet in a scratch repository over its `origin`, after the steps so far. `require`: refuses a run whose agents
    are missing here, as commands do that make no rehearsal; where they are, they would never fall silent. `wanted`:
    what each step evaluates even if nothing changes it."""

    origin: Repository
    repository: Repository
    commit: str
    heard: AgentRefs
    memory: Memory
    state: RunState | None
    require: Callable[[Run], None] | None = None
    wanted: Wanted = NOTHING_WANTED
    _sent: int = 0

    def step(self, now: datetime) -> Settled:
        """Evaluate at an instant, commit the result, and count due pulses as sent."""
        with without_collection():
            run_answer = answer(self._question(self.commit, now), self.state, wanted=self.wanted)
        settled = self._heard(run_answer.settled)
        if settled.files:
            files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
            message = commit_message(settled.last, settled.changes)
            self.commit = build_commit(self.repository, files, message, self.commit)
        if self.state is not None:
            run_answer.remember(self.state)
        pulses = [pulse for pulse in settled.last.fleet.pulses if pulse.sent is not None]
        if pulses:
            self._sent += 1
            self.memory = {**self.memory, **{PulseKey(p.object, p.policy): p.sent for p in pulses if p.sent}}
        return settled

    def attempt(
        self, edits: Edits, now: datetime, wanted: Wanted = NOTHING_WANTED, witness: Witness | None = None
    ) -> Settled:
        """Evaluate with edits on top, and go back: the next attempt, or step, begins as this one did. `wanted`: what is
        evaluated even if nothing changes it; a `witness` records how."""
        tried = replace(self)
        tried.suppose(edits)
        question = replace(tried._question(tried.commit, now), witness=witness)
        with without_collection():
            return self._heard(answer(question, self.state, wanted=wanted).settled)

    def _heard(self, settled: Settled) -> Settled:
        if self.require is not None:
            self.require(settled.first)
        return settled

    def _question(self, commit: str, now: datetime) -> Question:
        return Question(self.repository, commit, self.heard, now, self.remembered)

    @property
    def snapshot(self) -> CommitSnapshot:
        """The files as they are now."""
        return CommitSnapshot(self.repository, self.commit, self.heard.refs, self.heard.agents)

    @property
    def remembered(self) -> Remembers:
        """The published pulses, those of the rehearsal included."""
        return _Sent(self.memory, f"rehearsal {self._sent}")

    def suppose(self, edits: Edits) -> None:
        """Commit edits to the branch and to agent refs."""
        files = {path: data for (ref, path), data in edits.items() if not ref}
        if files:
            self.commit = build_commit(self.repository, files, "Supposed\n", self.commit)
        refs = {ref for ref, _ in edits if ref}
        if refs:
            heard = (self._edited(ref, edits) if ref.short in refs else ref for ref in self.heard.refs)
            self.heard = replace(self.heard, refs=tuple(heard))

    def _edited(self, ref: AgentRef, edits: Edits) -> AgentRef:
        files = {path: data for (name, path), data in edits.items() if name == ref.short}
        if ref.recorded is not None:
            held = {path: data for path, data in ref.recorded.files.items() if isinstance(data, bytes)}
            return replace(
                ref, commit=build_commit(self.repository, {**held, **files}, "Supposed\n", None), recorded=None
            )
        if relay_of(ref.name):  # a single root commit: its files and these
            files = {**files_of(self.repository, ref.commit), **files}
            return replace(ref, commit=build_commit(self.repository, files, "Supposed\n", None))
        return replace(ref, commit=build_commit(self.repository, files, "Supposed\n", ref.commit))


@contextmanager
def rehearsal(
    repository: Repository,
    commit: str,
    heard: AgentRefs,
    state: Path | None = None,
    memory: Memory | None = None,
    require: Callable[[Run], None] | None = None,
) -> Iterator[Rehearsal]:
    """Yield a rehearsal that begins at a commit, with agent refs. `state`: the state file of the branch. `memory`: the
    published pulses, if they are not those of the repository. `require`: see `Rehearsal`."""
    memory = Remembered(repository).memory if memory is None else memory
    with scratch_of(repository, commit) as scratch:
        state_path = scratch.git_dir / "state" / "state.sqlite"
        copied = copy_of(state, state_path) if state is not None else None
        yield Rehearsal(repository, scratch, commit, heard, memory, copied or open_state(state_path), require)
