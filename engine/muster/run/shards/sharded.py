"""Full runs in shards: the whole fleet is decided, but never in memory as a whole.

The neighbourhoods are cut into shards, and workers decide each shard alone. Their records make a provisional state, and
the rest is an incremental run from it: over what is shared and all summaries, deciding again the neighbourhoods that
budgets affect. So a run needs memory for the present shards and the summaries, and there is no second way to decide.

If no part of a fleet can be decided alone (`WholeNeeded`), it is decided as a whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from muster.data.decision import Memory, Published, PulseKey
from muster.data.kinds import FLEET, VALIDATING_ADMISSION_POLICY_BINDING, kind_of
from muster.data.locations import FOLDER
from muster.data.snapshot import Agents
from muster.dataclass import dataclass
from muster.fleet.assemble import assemble
from muster.fleet.files import is_hidden
from muster.fleet.fleet import Fleet
from muster.fleet.leases import LEASE_SECONDS
from muster.fleet.projected import is_as_recorded, records
from muster.git.errors import RepositoryError, UnreadableError
from muster.git.history import History
from muster.rules.admission.reads import files_read
from muster.rules.checks.of_clusters import known_sets
from muster.rules.checks.validate import validate
from muster.rules.policies.in_force import NOTHING_READ, FleetWithPolicies, PolicyReads
from muster.run.answer import RunAnswer
from muster.run.full_and_partial import run_part
from muster.run.memo.program import this_program
from muster.run.memo.provisional import Provisional
from muster.run.neighbourhood_records import CONTEXT
from muster.run.parts.affected import TermsMoved
from muster.run.parts.part import CheckedPart, FleetPart, Rest, ShardTerms, Touched
from muster.run.progress import RunStep, doing
from muster.run.question import Question, WholeNeeded, default_neighbourhood
from muster.run.run import Settled
from muster.run.settle import goes_on
from muster.run.shards.cutting import FileGroups, ListedFile, cut
from muster.run.shards.gathered import Gathered, ShardOutcome, joined
from muster.run.shards.shard import Answered, Piece, Shard, ShardFiles, SharedContext

if TYPE_CHECKING:
    from muster.run.shards.executors import Executor

T = TypeVar("T")
#: How often a run may start again because an assumption about the fleet was wrong.
_MOST_ROUNDS: Final = 6


class AssumptionWrong(Exception):  # noqa: N818 - not an error: the run starts anew, knowing more
    """An assumption of the shards about the fleet was wrong."""


class WorkersKilled(Exception):  # noqa: N818 - not an error of the run's
    """The files, by their labels, of a neighbourhood that repeatedly kills workers."""

    def __init__(self, files: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(files)))
        self.files = files


def decide_in_shards(question: Question, why: str, executor: "Executor", files: int) -> RunAnswer:
    """Decide the whole fleet of a commit in shards of about `files` files each.

    WholeNeeded if shards cannot decide the fleet, WorkersKilled if a neighbourhood kills its workers.
    """
    return _in_shards(
        question, executor, lambda aside: _Sharded(question, aside, executor, files), lambda run: run.answer(why)
    )


def check_in_shards(
    question: Question, executor: "Executor", files: int, check: Callable[[FleetPart], CheckedPart]
) -> tuple[CheckedPart, Provisional]:
    """Check the whole fleet of a commit in shards of about `files` files each. `check` checks the rest, and what shards
    could not check; return that, and the state in which it replaces what was checked.

    WholeNeeded if shards cannot check the fleet.
    """

    def begin(aside: frozenset[str]) -> _Sharded:
        return _Sharded(question, aside, executor, files, fresh=False, adapters=True, lease_floor=0, sets=frozenset())

    try:
        return _in_shards(question, executor, begin, lambda run: run.check(check))
    except WorkersKilled as killed:
        raise WholeNeeded("workers died of some files") from killed


def _in_shards(
    question: Question,
    executor: "Executor",
    begin: "Callable[[frozenset[str]], _Sharded]",
    ask: "Callable[[_Sharded], T]",
) -> T:
    """Cut the fleet and ask, again while an assumption about it was wrong. `begin` makes the run, given the paths of
    the files that `.musterignore` names."""
    listed, aside = _listing(question)
    with executor:
        run = begin(aside)
        for _ in range(_MOST_ROUNDS):
            try:
                run.cut_up(listed or _listing(question)[0])
                listed = []
                return ask(run)
            except AssumptionWrong:
                continue
        raise WholeNeeded("what all share does not come to rest")


def _listing(question: Question) -> tuple[list[ListedFile], frozenset[str]]:
    """The files to read, and the paths of those that `.musterignore` names."""
    snapshot = question.snapshot()
    listed = [ListedFile(file.path, file.oid, file.ref) for file in snapshot.files() if not is_hidden(file.path)]
    if snapshot.skipped:
        raise WholeNeeded("links, submodules, or files and refs that are left out")
    return listed, frozenset(file.path for file in snapshot.ignored)


@dataclass
class _Sharded:
    """A run or a check in shards, and its assumptions about the fleet so far; with `sets` it is a check."""

    question: Question
    aside: frozenset[str]
    executor: "Executor"
    files: int
    policies: frozenset[str] = frozenset()
    fresh: bool | None = None
    adapters: bool | None = None
    lease_floor: int | None = None
    twice: bool = False
    sets: frozenset[str] | None = None
    common: SharedContext = field(init=False)
    cut: FileGroups = field(init=False)
    published: dict[str, dict[PulseKey, Published]] = field(init=False)

    def answer(self, why: str) -> RunAnswer:
        """Decide. AssumptionWrong if an assumption was wrong."""
        gathered = self._gathered()
        try:
            done = run_part(self._part(gathered))
        except TermsMoved as moved:
            self.lease_floor, self.adapters = moved.lease_floor, moved.adapters
            raise AssumptionWrong from moved
        self._require_policies(done.settled.first.fleet)
        outcomes = gathered.outcomes_but(done.gone or frozenset())
        self._require_passes(done.settled, outcomes)
        _require_projected(done.settled, outcomes)
        return joined(done, gathered, outcomes, f"the whole fleet, in {gathered.shards} shards: {why}")

    def check(self, check: Callable[[FleetPart], CheckedPart]) -> tuple[CheckedPart, Provisional]:
        """Check. AssumptionWrong if an assumption was wrong."""
        gathered = self._gathered()
        checked = check(self._part(gathered))
        self._require_policies(checked.fleet)
        if (sets := known_sets(checked.fleet)) != self.sets:
            self.sets = sets
            raise AssumptionWrong
        return checked, gathered.kept

    def _gathered(self) -> Gathered:
        """The answers of all shards."""
        gathered = Gathered(self.common)
        count, total = 0, len(self.cut.neighbourhoods)
        for shard, answered in self._decided():
            count += len(shard.names)
            doing(RunStep.DECIDING_SHARDS, count, total)
            self._learn(answered)
            gathered.take(shard, answered)
            for name in shard.names:  # the list is as large as the records
                del self.cut.neighbourhoods[name]
        return gathered

    # -- cutting

    def cut_up(self, listed: Sequence[ListedFile]) -> None:
        """Cut the fleet."""
        question, agents = self.question, self.question.agents or Agents()
        self.cut = groups = cut(listed, self.policies, self._read)
        if len(groups.neighbourhoods) < 2:
            raise WholeNeeded("there is nothing to cut")
        if self.fresh is None or self.adapters is None:
            self.fresh, self.adapters = not groups.derived, groups.adapters
        common = SharedContext(
            this_program(),
            question.commit,
            question.instant,
            self._pieces(groups.common),
            agents.asked,
            self.fresh,
            self.adapters,
            twice=self.twice,
            withheld=agents.withheld,
            object_format=question.repository.object_format,
        )
        shared = assemble(ShardFiles(Shard(common, (), ())))
        if self.lease_floor is None:
            self.lease_floor = last_lease_floor(shared)
        if self.sets is not None and not self.sets:
            self.sets = known_sets(self._with_rest(common))
        self.common = replace(common, lease_floor=self.lease_floor, sets=self.sets, reads=self._reads(common, shared))
        self.published = _published(question.remembered.memory)

    def _with_rest(self, common: SharedContext) -> Fleet:
        """All that clusters share."""
        return assemble(ShardFiles(Shard(common, (), self._pieces(self.cut.rest))))

    def _reads(self, common: SharedContext, fleet: Fleet) -> PolicyReads:
        """What admission policies read, of the `fleet` of the common files. AssumptionWrong if it is in others."""
        if not fleet.of(VALIDATING_ADMISSION_POLICY_BINDING):
            return NOTHING_READ
        reads = validate(fleet).compiled.reads
        self._require_common(files_read(self._with_rest(common), reads), common)
        return reads

    def _require_common(self, paths: frozenset[str], common: SharedContext) -> None:
        """Raise AssumptionWrong if a file is not among the common ones."""
        unseen = paths - common.paths - self.policies
        if unseen:
            self.policies |= unseen
            raise AssumptionWrong

    def _read(self, oids: Sequence[str]) -> Iterator[bytes]:
        for answer in self.question.repository.objects.read(oids):
            if isinstance(answer, UnreadableError):
                raise WholeNeeded("git cannot read a file")  # deciding the whole fleet reports which one
            yield answer.content

    def _pieces(self, listed: Sequence[ListedFile]) -> tuple[Piece, ...]:
        blobs = self._read([file.oid for file in listed])
        return tuple(Piece(file.path, file.oid, data, file.ref) for file, data in zip(listed, blobs, strict=True))

    def _shard(self, names: Sequence[str]) -> Shard:
        agents = self.question.agents or Agents()
        identities = agents.identities
        behind = None if identities is None else {name: identities[name] for name in names if name in identities}
        memory = {key: sent for name in names for key, sent in self.published.get(name, {}).items()}
        return Shard(
            self.common,
            tuple(names),
            self._pieces([file for name in names for file in self.cut.neighbourhoods[name]]),
            agents.present.intersection(names),
            agents.gone.intersection(names),
            agents.retired.intersection(names),
            behind,
            memory,
        )

    # -- deciding the shards

    def _decided(self) -> Iterator[tuple[Shard, Answered]]:
        """Have the shards decided. One that kills workers is halved until the neighbourhood is known."""
        left: Iterator[Sequence[str]] = self.cut.shards(self.files)
        while True:
            halves = list[Sequence[str]]()
            for shard, answered in self.executor.decide(self._shard(names) for names in left):
                if answered is not None:
                    yield shard, answered
                elif len(shard.names) > 1:
                    middle = len(shard.names) // 2
                    halves.extend((shard.names[:middle], shard.names[middle:]))
                else:
                    files = self.cut.neighbourhoods[shard.names[0]]
                    raise WorkersKilled(frozenset(file.label for file in files if not file.path.startswith(FOLDER)))
            if not halves:
                return
            left = iter(halves)

    def _learn(self, answered: Answered) -> None:
        """Raise AssumptionWrong if the answer contradicts an assumption."""
        if answered.other_version:
            raise RepositoryError(
                f"a worker runs another muster than this one ({answered.other_version})",
                "give all workers the same version, with the same policies and schemas in it",
            )
        if answered.whole:
            raise WholeNeeded(answered.whole)
        if not answered.policies <= self.policies:
            self.policies |= answered.policies
            raise AssumptionWrong
        if (answered.adapters and not self.adapters) or (self.fresh and not answered.fresh):
            self.adapters, self.fresh = answered.adapters or self.adapters, self.fresh and answered.fresh
            raise AssumptionWrong

    # -- deciding the rest

    def _part(self, gathered: Gathered) -> FleetPart:
        """What clusters share, and what shards could not evaluate."""
        question = self.question
        unknown = {file.path for file in (*self.cut.common, *self.cut.rest) if not file.ref} | gathered.odd | self.aside
        if gathered.odd or self.aside:
            _require_history(question, derived=self.cut.derived)
        touched = Touched(unknown=frozenset(unknown))
        chosen = frozenset(gathered.kept.whole() | gathered.again(question.remembered.memory))
        terms = ShardTerms(self.common.fresh, self.common.adapters)
        rest = Rest(decided=self.sets is None, shards=terms, read=gathered.summaries)
        return FleetPart(question, gathered.kept, gathered.facts(), touched, chosen, near=False, rest=rest)

    def _require_policies(self, fleet: FleetWithPolicies) -> None:
        """Raise AssumptionWrong if a file that no shard read has a policy, a setting, or what policies read: the glance
        did not see it.

        WholeNeeded if one had it and cannot be read now: only the history tells, which shards do not have.
        """
        lost = (
            finding
            for finding in fleet.findings
            if finding.object in fleet.broken and kind_of(finding.object) in CONTEXT
        )
        if any(finding.file not in self.common.paths for finding in lost):
            raise WholeNeeded("a policy or a setting cannot be read")
        policies = frozenset(part.source.path for part in fleet.read.parts if kind_of(part.id) in CONTEXT)
        self._require_common(policies | files_read(fleet, fleet.compiled.reads), self.common)
        if not fleet.compiled.reads.are_those_of(self.common.reads):
            raise WholeNeeded("admission policies read something else than what all shards had")

    def _require_passes(self, settled: Settled, outcomes: Sequence[ShardOutcome]) -> None:
        """Raise AssumptionWrong if the fleet takes several passes but the shards took one."""
        if self.twice or not any(local.files for local in outcomes) or not goes_on(settled.first):
            return
        if settled.first.fleet.settings.passes < 2:
            raise WholeNeeded("it takes more passes than it may")
        self.twice = True
        raise AssumptionWrong


def _require_projected(settled: Settled, outcomes: Sequence[ShardOutcome]) -> None:
    """Shards do not see the files of Projections. WholeNeeded if one is not as the last run recorded it."""
    fleet = settled.first.fleet
    written = settled.files.keys() | {file.path for local in outcomes for file in local.files}
    for id_ in fleet.beyond.standing & fleet.decided.keys():
        for record in records(fleet.decided[id_]).values():
            path = record["file"]
            if path not in written and not is_as_recorded(record, fleet.read.derived.get(path)):
                raise WholeNeeded("a file of a Projection was changed by hand")


def last_lease_floor(fleet: Fleet) -> int:
    """The least duration of leases at the last run, as the Fleet records it."""
    if not fleet.settings.get("heartbeats", "maxPerSecond"):
        return 0
    floors = (fleet.before(id_, *LEASE_SECONDS) for id_ in fleet.previous if FLEET.has(id_))
    return next((seconds for seconds in floors if isinstance(seconds, int)), 0)


def _require_history(question: Question, *, derived: bool) -> None:
    """WholeNeeded if comparing files with their earlier content requires the whole fleet."""
    past = History(question.repository, question.commit)
    if past.lingers or (derived and not past.commit):
        raise WholeNeeded("history does not say what was in files that hold no object now")


def _published(memory: Memory) -> dict[str, dict[PulseKey, Published]]:
    """The earlier pulses, by the probable neighbourhood of their object."""
    by_neighbourhood: dict[str, dict[PulseKey, Published]] = {}
    for key, sent in memory.items():
        by_neighbourhood.setdefault(default_neighbourhood(key.object), {})[key] = sent
    return by_neighbourhood
