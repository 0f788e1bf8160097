"""Proposals: effects that wait for approval are proposed on a branch per topic, which adds an Approval when merged.

A branch adds that one file to the head that it was made from, and nothing in `derived/`: the merge is a person's edit,
and the next run decides what follows from it. So it can be merged, squashed or rebased however the head moves, and is
rewritten only if other effects wait.

An Approval whose effects have happened stays: muster does not change people's files. The next proposal of its topic
replaces it.

Proposals are made after every run from the present state, so a killed run loses nothing. Errors do not fail the run,
and the next run tries again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Final

from muster.data.agentref import approval_file, proposal_branch
from muster.data.decision import Held
from muster.data.groups import grouped
from muster.data.kinds import APPROVAL, FLEET, ROLLOUT
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mappings_at
from muster.data.yaml.emitter import UnwritableError, file_text
from muster.dataclass import dataclass
from muster.fleet.faults import is_fault
from muster.fleet.settings import RECORD
from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.forges import GITLAB, forge_of, request_page, url_of
from muster.git.landing.proposals import Branches
from muster.git.repository import Repository
from muster.rules.effects.freeze import FREEZES
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.transitions.transitions import plain

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult

_HEADER: Final = (
    "Proposed by muster. Merging it approves exactly these effects; effects that are removed from it still wait."
)
_MAX_NAMED: Final = 100
#: Limit of effects in one Approval (schemas/approval.json).
_MAX_EFFECTS: Final = 100_000


class ProposalState(Enum):
    """What this run did with a proposal; STANDS: nothing."""

    MADE = "is new"
    UPDATED = "was updated"
    STANDS = ""
    WITHDRAWN = "was withdrawn: none of its effects waits any more"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal; `page`: the URL that opens its merge request, if known."""

    topic: str
    state: ProposalState
    effects: int
    page: str = ""

    def __str__(self) -> str:
        branch = proposal_branch(self.topic)
        if self.state is ProposalState.WITHDRAWN:
            return f"{branch} {self.state.value}"
        count = "1 effect waits" if self.effects == 1 else f"{self.effects} effects wait"
        text = f"{count} for approval on {branch}"
        text += f", which {self.state.value}" if self.state.value else ""
        return f"{text}: {self.page}" if self.page else text


@dataclass
class Proposed:
    """The proposals, withdrawn ones included, and errors, a line each."""

    proposals: list[Proposal] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def propose(repository: Repository, done: "ReconcileResult", branch: str, remote: str | None) -> Proposed:
    """Update the proposal branches after a run of `branch`; with a remote, there."""
    proposed, fleet = Proposed(), done.settled.last.fleet
    if done.waits is not None:
        return proposed  # the times since when effects wait were not committed
    if not fleet.held and (not done.settled.rested or any(map(is_fault, done.settled.findings))):
        return proposed  # effects of faulty objects may wait
    wanted = _wanted(fleet.held)
    branches = Branches(repository, remote)
    try:
        left = done.commit and branches.among(done.heard.own)
        if not (wanted or _asks(fleet) or _asked(done.settled.first.fleet) or left):
            return proposed
        forge = str(fleet.settings.get("approval", "forge") or "")
        _Proposing(branches, done.head, branch, forge, proposed).all(wanted)
    except RepositoryError as error:
        hint = f" ({error.hint})" if error.hint else ""
        proposed.troubles.append(f"effects that wait for approval could not be proposed: {error.message}{hint}")
    return proposed


def _asks(fleet: FleetWithPolicies) -> bool:
    stages = (stage for obj in fleet.of(ROLLOUT) for stage in mappings_at(obj.body, "spec", "stages"))
    asks = fleet.settings.get("approval", "topics") or fleet.settings.get(FREEZES)
    return bool(asks) or any(stage.get("approval") is True for stage in stages)


def _asked(fleet: FleetWithPolicies) -> bool:
    """Did the Fleet ask for approval in the last run?"""
    records = [dig(fleet.previous.get(obj.id), *RECORD) for obj in fleet.of(FLEET)]
    return any(dig(record, "approval", "topics") or dig(record, FREEZES) for record in records)


def _wanted(held: Sequence[Held]) -> dict[str, list[Held]]:
    """The effects in the Approval of each topic: those that wait, and approved ones that have not happened yet. Topics
    without waiting effects are left out."""
    by_topic = grouped((effect.wait.topic, effect) for effect in held if effect.wait is not None)
    return {
        topic: sorted(effects, key=lambda effect: (effect.object, effect.effect))[:_MAX_EFFECTS]
        for topic, effects in sorted(by_topic.items())
        if any(effect.wait is not None and not effect.wait.approved for effect in effects)
    }


@dataclass(frozen=True, slots=True)
class _Proposing:
    """Makes proposals on the commit `head` of the branch `target`."""

    branches: Branches
    head: str
    target: str
    forge: str
    proposed: Proposed

    def all(self, wanted: dict[str, list[Held]]) -> None:
        """Make, update and withdraw proposals."""
        tips = self.branches.tips()
        for topic in sorted({*tips, *wanted}):
            held, tip = wanted.get(topic, []), tips.get(topic)
            if tip is not None:
                self.branches.bring(topic, tip, self.head)
            if held:
                self._propose(topic, held, tip)
            elif tip is not None and self._is_ours(topic, tip):
                self._move(topic, None, tip, ProposalState.WITHDRAWN, 0)

    def _propose(self, topic: str, held: list[Held], tip: str | None) -> None:
        waiting = sum(effect.wait is not None and not effect.wait.approved for effect in held)
        try:
            content = file_text(_approval(topic, held), header=_HEADER)
        except UnwritableError as error:
            self.proposed.troubles.append(f"the proposal for {topic} cannot be written: {error}")
            return
        if tip is not None and self.branches.proposes(topic, tip, content, self.head):
            self._note(topic, ProposalState.STANDS, waiting)
        elif tip is None or self._is_ours(topic, tip):
            commit = self.branches.build(topic, content, "\n".join(_message(topic, held)), self.head)
            self._move(topic, commit, tip, ProposalState.MADE if tip is None else ProposalState.UPDATED, waiting)

    def _is_ours(self, topic: str, tip: str) -> bool:
        if self.branches.is_own(topic, tip, self.head):
            return True
        self.proposed.troubles.append(
            f"{proposal_branch(topic)} has commits that are not muster's, so it is not updated although other effects "
            "wait now: merge it or delete it"
        )
        return False

    def _move(self, topic: str, new: str | None, tip: str | None, state: ProposalState, waiting: int) -> None:
        options = self._options(topic, waiting) if state is ProposalState.MADE else ()
        outcome = self.branches.move(topic, new, tip, options)
        if isinstance(outcome, Rejected):
            self.proposed.troubles.append(f"{proposal_branch(topic)} cannot be written: {outcome}")
        elif not isinstance(outcome, Moved):  # if it moved meanwhile, the next run tries again
            self._note(topic, state, waiting)

    def _note(self, topic: str, state: ProposalState, waiting: int) -> None:
        page = ""
        if self.branches.remote is not None and state is not ProposalState.WITHDRAWN:
            url = url_of(self.branches.repository, self.branches.remote)
            page = request_page(url, self.forge or forge_of(url), self.target, proposal_branch(topic))
        self.proposed.proposals.append(Proposal(topic, state, waiting, page))

    def _options(self, topic: str, waiting: int) -> tuple[str, ...]:
        """Push options that make GitLab open the merge request; without names of objects."""
        url = url_of(self.branches.repository, self.branches.remote) if self.branches.remote is not None else ""
        if (self.forge or forge_of(url)) != GITLAB:
            return ()
        return (
            "merge_request.create",
            f"merge_request.target={self.target}",
            f"merge_request.title={_subject(topic, waiting)}",
            "merge_request.remove_source_branch",
        )


def _approval(topic: str, held: list[Held]) -> Tree:
    effects = [
        {"object": str(effect.object), "effect": effect.effect, "since": format_time(effect.wait.since)}
        for effect in held
        if effect.wait is not None
    ]
    return APPROVAL.body({"name": topic}, spec={"effects": effects})


def _subject(topic: str, waiting: int) -> str:
    return f"Approve 1 effect: {topic}" if waiting == 1 else f"Approve {waiting} effects: {topic}"


def _message(topic: str, held: list[Held]) -> Iterator[str]:
    waiting = [effect for effect in held if effect.wait is not None and not effect.wait.approved]
    yield _subject(topic, len(waiting))
    yield ""
    yield f"Merging this approves what {approval_file(topic)} names, and nothing else:"
    yield ""
    yield from plain(f"- {effect.object}: {effect.effect}" for effect in waiting[:_MAX_NAMED])
    if len(waiting) > _MAX_NAMED:
        yield f"- and {len(waiting) - _MAX_NAMED} more"
