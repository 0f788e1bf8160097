"""Outages in rehearsals: what real runs decide if some agents stop, and all others keep renewing.

All outages share one full run over the fleet whose agents have renewed until the end. An outage puts back the Leases of
its clusters, and goes on from the record of that run: each further run looks at what is due. The agents stop at the
start, so their last renewal is the one that the fleet has.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.data.decision import Memory
from muster.data.kinds import MANAGED_CLUSTER, PLACEMENT_DECISION
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.features.drill.facts import Facts, facts_of
from muster.features.forecast.forecast import instants
from muster.features.whatif.rehearsal import Rehearsal, rehearsal
from muster.features.whatif.supposing import Beat, Edits, Supposition, annotations_path, beats, renew_ahead, renewals
from muster.fleet.files import ParsedFiles, loading_once
from muster.fleet.fleet import Fleet
from muster.git.agents.listing import AgentRefs
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from muster.git.status import work_tree_changes
from muster.run.collector import without_collection
from muster.run.incremental import Wanted
from muster.run.memo.state import companions, copy_of
from muster.run.run import Settled

if TYPE_CHECKING:
    from muster.cli.reading import FleetReading


#: Nearly every step of an outage changes what Placements read. Deciding that first costs as much as the answer.
_EVERY_STEP: Final = Wanted(wide=True)
#: The files that a process has parsed: its outages read mostly the same ones. Emptied when there are too many.
_PARSED: Final[ParsedFiles] = {}
_MOST_PARSED: Final = 20_000


@dataclass(frozen=True, slots=True)
class OutageStep:
    """What is different after a run at an instant: the facts that changed, and all effects that are held then, each as
    object, effect and rule."""

    at: str
    facts: Facts
    held: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class OutageWork:
    """A piece of work for any process: rehearse the loss of the clusters whose Leases `edits` put back. It goes on
    from a run in a repository, with its record in a file."""

    lost: tuple[str, ...]
    edits: Mapping[tuple[str, str], bytes | None]
    folder: Path
    environ: Mapping[str, str]
    commit: str
    heard: AgentRefs
    memory: Memory
    state: Path
    start: datetime
    until: datetime


def rehearse_outage(outage: OutageWork) -> tuple[OutageStep, ...]:
    """Rehearse an outage: the first step is the start."""
    repository = open_repository(outage.folder, outage.environ)
    state_copy = outage.state.with_name(f"{uuid.uuid4().hex}.sqlite")
    try:
        state = copy_of(outage.state, state_copy)
        trial = Rehearsal(repository, repository, outage.commit, outage.heard, outage.memory, state, wanted=_EVERY_STEP)
        trial.suppose(outage.edits)
        if len(_PARSED) > _MOST_PARSED:
            _PARSED.clear()
        with loading_once(_PARSED), without_collection():
            steps = tuple(
                OutageStep(format_time(at), _changed_facts(settled), _held(settled))
                for at, settled in instants(trial, outage.start, outage.until)
            )
        if state is not None:
            state.close()
        return steps
    finally:
        for path in companions(state_copy):
            with suppress(FileNotFoundError):
                path.unlink()


def _changed_facts(settled: Settled) -> dict[str, Tree]:
    written = (first_body(text.encode(), path) for path, text in settled.files.items() if text is not None)
    gone = (path.split("/") for path, text in settled.files.items() if text is None)
    ids = (
        PLACEMENT_DECISION.id(name.removesuffix(".yaml"), namespace)
        for _, folder, *_, namespace, name in gone
        if folder == PLACEMENT_DECISION.folder
    )
    return {**{str(id_): None for id_ in ids}, **dict(facts_of(written))}


def _held(settled: Settled) -> tuple[tuple[str, str, str], ...]:
    held = settled.last.fleet.held
    return tuple((str(effect.object), effect.effect, effect.because.rule.partition("#")[0]) for effect in held)


@dataclass(frozen=True, slots=True)
class OutageBase:
    """The fleet at the start, with the agents that renew, their Leases renewed ahead, and the facts of the full run."""

    trial: Rehearsal
    fleet: Fleet
    agents: tuple[Beat, ...]
    ahead: Edits
    start: datetime
    until: datetime
    facts: Facts

    def outage(self, lost: Collection[str]) -> OutageWork:
        """The loss of clusters."""
        repository, state = self.trial.repository, self.trial.state
        assert state is not None
        return OutageWork(
            tuple(sorted(lost)),
            self._put_back(lost),
            repository.git_dir,
            dict(repository.git.environ),
            self.trial.commit,
            self.trial.heard,
            self.trial.memory,
            state.path,
            self.start,
            self.until,
        )

    def _put_back(self, lost: Collection[str]) -> Edits:
        """The files with the Leases of lost clusters, as they were; the others in the same files are renewed."""
        silent = [beat for beat in self.agents if beat.cluster in lost]
        sources = {(beat.lease.source.ref, beat.lease.source.path): beat.lease.source for beat in silent}
        supposition = Supposition(self.fleet)
        renewals(
            supposition,
            (beat for beat in self.agents if beat.cluster not in lost and _where(beat) in sources),
            self.until,
        )
        edits: dict[tuple[str, str], bytes | None] = {where: source.read() for where, source in sources.items()}
        edits |= supposition.edits
        notes = (("", annotations_path(MANAGED_CLUSTER.id(beat.cluster))) for beat in silent)
        return edits | {where: None for where in notes if where in self.ahead}


def _where(beat: Beat) -> tuple[str, str]:
    return beat.lease.source.ref, beat.lease.source.path


def outage_base(trial: Rehearsal, fleet: Fleet, start: datetime, until: datetime) -> OutageBase:
    """Make the full run that all outages share."""
    agents = tuple(beats(fleet, ("*",), start))
    supposition = Supposition(fleet)
    renew_ahead(supposition, agents, until)
    trial.suppose(supposition.edits)
    run = trial.step(start).last
    return OutageBase(trial, fleet, agents, supposition.edits, start, until, dict(facts_of(run.objects)))


@contextmanager
def rehearsed(reading: "FleetReading") -> Iterator[Rehearsal]:
    """Yield a rehearsal of what is read: a commit, or the work tree. RepositoryError for a plain directory."""
    repository, commit, heard, snapshot = reading.repository, reading.base, reading.heard, reading.snapshot
    if repository is None or commit is None or heard is None:
        raise RepositoryError("drills are rehearsed on top of a commit", "run it in a fleet repository with commits")
    with rehearsal(repository, commit, heard, require=reading.require_heard) as trial:
        if snapshot.commit is None:
            paths = {change.path for change in work_tree_changes(repository, commit)}
            files: dict[tuple[str, str], bytes | None] = dict.fromkeys((("", path) for path in paths), None)
            files |= {("", file.path): file.read() for file in snapshot.files() if not file.ref and file.path in paths}
            trial.suppose(files)
        yield trial
