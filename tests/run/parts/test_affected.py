"""The tables of what must be looked at again: each change that a run can notice before reading, alone."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from muster.data.tree import Tree
from muster.git.agents.refs import AgentRef
from muster.run.incremental import answer
from muster.run.memo.records import RunRecord
from muster.run.memo.state import RunState
from muster.run.parts.affected import BEFORE_READING, Affects, ChangeRow, touched_since
from muster.run.parts.growing import enlarged_part
from muster.run.parts.part import FleetPart, Touched
from muster.run.question import Question, WholeNeeded
from tests.run.test_incremental import state_in
from tests.support.living import Living

#: Another value for a field of what the last run left.
Facts = dict[str, Tree]
Change = Callable[[Living, Question, Facts], Question]


def earlier(_: Living, question: Question, _facts: Facts) -> Question:
    return replace(question, now=question.now - timedelta(hours=1))


def later(_: Living, question: Question, _facts: Facts) -> Question:
    return replace(question, now=question.now + timedelta(days=1))


def rewritten(living: Living, question: Question, _: Facts) -> Question:
    living.repo.git("commit", "--amend", "--quiet", "--message", "another")
    return question.at(living.tip())


def silent(_: Living, question: Question, facts: Facts) -> Question:
    facts["withheld"] = [("backup", ["c1"])]
    return question


def merged(living: Living, question: Question, facts: Facts) -> Question:
    facts["users"] = True
    living.repo.git("switch", "--quiet", "--detach")
    other = living.repo.commit({"theirs.md": "theirs"})
    living.repo.git("switch", "--quiet", "main")
    living.repo.commit({"ours.md": "ours"})
    living.repo.git("merge", "--quiet", "--message", "both", other)
    return question.at(living.tip())


def changed_back(living: Living, question: Question, facts: Facts) -> Question:
    facts["users"] = True
    path = f"clusters/{living.names[0]}/cluster.yaml"
    text = (living.repo.path / path).read_text()
    for content in (f"{text}# another\n", text):
        living.repo.commit({path: content})
    return question.at(living.tip())


def edited(living: Living, question: Question, _: Facts) -> Question:
    living.a_label()
    return question.at(living.tip())


def heard(question: Question, *first: AgentRef) -> Question:
    """The question with others in the place of the first agent's ref."""
    refs = (*first, *question.heard.refs[1:])
    return replace(question, agent_refs_or_none=replace(question.heard, refs=refs))


def spoken(living: Living, question: Question, _: Facts) -> Question:
    return heard(question, replace(question.heard.refs[0], commit=living.tip()))


def left(_: Living, question: Question, _facts: Facts) -> Question:
    return heard(question)


def unread(living: Living, question: Question, _: Facts) -> Question:
    return heard(question, replace(question.heard.refs[0], commit=living.tip(), unread="it was not fetched"))


def slipped(living: Living, question: Question, facts: Facts) -> Question:
    facts["slips"] = ([f"clusters/{living.names[0]}/cluster.yaml"], [])
    return question


def sent(living: Living, question: Question, facts: Facts) -> Question:
    facts["memory"] = "another"
    return question


CHANGES: dict[str, Change] = {
    "it is earlier than at the last run": earlier,
    "history was rewritten": rewritten,
    "a further repository stopped or resumed answering": silent,
    "it is not known which files have another author": merged,
    "a file was changed, and changed back by somebody else": changed_back,
    "a data file changed": edited,
    "time changes a decision": later,
    "an agent's ref is gone": left,
    "a ref that does not count has changed": unread,
    "an agent reported": spoken,
    "a file is incomplete": slipped,
    "pulses went out": sent,
}


def test_every_row_has_a_case() -> None:
    assert [row.change for row in BEFORE_READING] == list(CHANGES)


@pytest.fixture(name="living", scope="module")
def _living(tmp_path_factory: pytest.TempPathFactory) -> Living:
    living = Living.small(tmp_path_factory.mktemp("living") / "fleet", 5, 6)
    for name in living.names:
        living.speaks(name)
    return living


@pytest.fixture(name="kept", scope="module")
def _kept(living: Living, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunState, Question]:
    state = state_in(tmp_path_factory.mktemp("kept"))
    for _ in range(2):
        found = answer(living.question(), state)
        living.land(found.settled)
        found.remember(state)
    return state, living.question()


@pytest.mark.parametrize("row", BEFORE_READING, ids=lambda row: row.change)
def test_a_change_is_noticed(row: ChangeRow[object], living: Living, kept: tuple[RunState, Question]) -> None:
    state, question = kept
    facts, changed = state.facts(), Facts()
    assert facts is not None
    assert not touched_since(question, state, facts), "nothing changed"
    tip = living.tip()
    question = CHANGES[row.change](living, question, changed)
    facts = replace(facts, **changed)
    try:
        if row.affects is Affects.FLEET:
            with pytest.raises(WholeNeeded, match=row.change):
                touched_since(question, state, facts)
        elif row.change != "pulses went out":  # those that went out are the same
            assert touched_since(question, state, facts)
    finally:
        living.repo.git("reset", "--hard", "--quiet", tip)


class TestGrowing:
    """What a part makes of what is enlarged_part."""

    @pytest.fixture
    def part(self, kept: tuple[RunState, Question]) -> FleetPart:
        state, question = kept
        return FleetPart(question, state, state.facts() or RunRecord(""), Touched(), frozenset((1,)))

    def test_nothing(self, part: FleetPart) -> None:
        assert enlarged_part(part, (ChangeRow("no", Affects.FLEET, bool),), 0) is None

    def test_neighbourhoods(self, part: FleetPart) -> None:
        larger = enlarged_part(part, (ChangeRow("more", Affects.NEIGHBOURHOODS, lambda one: frozenset((one,))),), 2)
        assert larger is not None
        assert (larger.chosen, larger.near) == (frozenset((1, 2)), True)

    def test_what_is_shared(self, part: FleetPart) -> None:
        larger = enlarged_part(part, (ChangeRow("shared", Affects.SHARED, bool),), 1)
        assert larger is not None
        assert (larger.chosen, larger.near) == (part.chosen | part.state.whole(), False)

    def test_the_fleet(self, part: FleetPart) -> None:
        with pytest.raises(WholeNeeded, match="all of it"):
            enlarged_part(part, (ChangeRow("all of it", Affects.FLEET, bool),), 1)
