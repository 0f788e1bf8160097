"""What is said of what is not committed: the same from what earlier checks left as from the whole fleet."""

from collections import Counter
from pathlib import Path

import pytest

from muster.data.codes import Code
from muster.data.snapshot import Snapshot
from muster.features.validate.touched import touched_findings
from muster.git.agents.listing import local_agent_refs
from muster.git.changes import staged_changes
from muster.git.open import open_commit, work_tree_snapshot
from muster.git.repository import Repository, open_repository, resolve
from muster.git.snapshot import IndexSnapshot
from muster.git.status import work_tree_changes
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot, with_references, with_removals
from muster.run.memo.state import RunState, open_state
from muster.run.question import Question
from muster.run.uncommitted import UncommittedCheck, check_question, check_uncommitted
from tests.support.editing import Editing
from tests.support.example import NOON
from tests.support.git import Content
from tests.support.living import CONDITION_POLICY, REMEDY, TAINT_POLICY, Living, cluster, placement


def state_in(folder: Path) -> RunState:
    state = open_state(folder / "kept" / "s")
    assert state is not None
    return state


@pytest.mark.parametrize("seed", (1,))
def test_of_the_index_the_same_is_said(tmp_path: Path, seed: int, people: type[Editing] = Editing) -> None:
    living = people.small(tmp_path / "fleet", seed, 10)
    repository = open_repository(living.repo.path, living.repo.environ)
    partial = 0
    for number in range(20):
        what = living.step()
        living.repo.git("add", "--all")
        tip = resolve(repository, "HEAD")
        changes = staged_changes(repository, tip)
        names = [change.path for change in changes]
        state = state_in(tmp_path)
        question = check_question(repository, tip, changes)
        checked = check_uncommitted(question, state, names, now=NOON, compare=True)
        state.close()
        head = open_commit(repository, "HEAD")
        whole = whole_check(IndexSnapshot(repository), head, heard=False)
        assert_same(checked, whole, names, (number, what))
        committed = Counter(one.identity for one in whole_check(head, head, heard=False).sorted_findings())
        staged = Counter(one.identity for one in whole.sorted_findings())
        expected = [one for one in whole.sorted_findings() if staged[one.identity] > committed[one.identity]]
        assert checked.brought_about == tuple(one for one in expected if one.code != Code.WAIVER), (number, what)
        partial += checked.fleet.partial
        living.commit_or_not()
    assert partial > 2 or people is not Editing, "what this is about has happened"


@pytest.mark.parametrize("seed", (0,))
def test_of_the_work_tree_the_same_is_said(tmp_path: Path, seed: int, people: type[Editing] = Editing) -> None:
    living = people.small(tmp_path / "fleet", seed, 10)
    repository = open_repository(living.repo.path, living.repo.environ)
    partial = 0
    for number in range(15):
        what = living.step()
        if living.chance.random() < 0.3:
            living.repo.git("add", "--all")
        files = sorted(str(file.relative_to(living.repo.path)) for file in living.repo.path.glob("[a-z]*/**/*.yaml"))
        names = living.chance.sample(files, min(len(files), 2))
        state = state_in(tmp_path)
        checked = check_uncommitted(asked_of_the_work_tree(repository), state, names, now=NOON)
        state.close()
        head = open_commit(repository, "HEAD")
        whole = whole_check(work_tree_snapshot(repository, local_agent_refs(repository)), head)
        assert_same(checked, whole, names, (number, what))
        partial += checked.fleet.partial
        living.commit_or_not()
    assert partial > 2 or people is not Editing, "what this is about has happened"


def asked_of_the_work_tree(repository: Repository) -> Question:
    tip = resolve(repository, "HEAD")
    return check_question(repository, tip, work_tree_changes(repository, tip), local_agent_refs(repository))


def asked_of_the_index(repository: Repository) -> Question:
    tip = resolve(repository, "HEAD")
    return check_question(repository, tip, staged_changes(repository, tip))


def whole_check(snapshot: Snapshot, base: Snapshot, *, heard: bool = True) -> FleetWithPolicies:
    return with_removals(with_references(check_snapshot(snapshot, base), heard=heard), NOON)


def assert_same(checked: UncommittedCheck, whole: FleetWithPolicies, names: list[str], when: object) -> None:
    assert checked.fleet.sorted_findings() == whole.sorted_findings(), when
    assert touched_findings(checked.fleet, names) == touched_findings(whole, names), when
    assert checked.count == len(whole.objects), when


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {c: d}\n"


@pytest.mark.parametrize("committed", (True, False), ids=("committed", "uncommitted"))
def test_a_finding_in_a_file_without_objects_goes_and_comes_back_with_it(tmp_path: Path, committed: bool) -> None:
    repo = Living.small(tmp_path / "fleet", 0, 4).repo
    repository, path = open_repository(repo.path, repo.environ), repo.path / "clusters/secret.yaml"
    if committed:
        repo.commit({"clusters/secret.yaml": SECRET})
    seen = []
    for text in (SECRET, None, SECRET, "# nothing\n", None, None):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        state = state_in(tmp_path)
        checked = check_uncommitted(asked_of_the_work_tree(repository), state, now=NOON)
        state.close()
        seen.append(any(found.file == "clusters/secret.yaml" for found in checked.fleet.findings))
    assert seen == [True, False, True, False, False, False]


def test_findings_of_policies_stay_whatever_else_is_edited(tmp_path: Path) -> None:
    """The policies are checked with what changes beside them, and their findings are kept for the next check."""
    misspelt = CONDITION_POLICY.format(kind="ManagedCluster", when="self.metadata.nam == ''", reason="Here", hold="")
    repo = Living.small(tmp_path / "fleet", 0, 4).repo
    repo.commit({"policies/misspelt.yaml": misspelt})
    repository = open_repository(repo.path, repo.environ)
    edits: tuple[dict[str, Content], ...] = (
        {},
        {"apps/some.yaml": placement("some", 2)},
        {"apps/some.yaml": placement("some", 3)},
        {"clusters/c001/cluster.yaml": cluster("c001", region="ap")},
        {"policies/remedy.yaml": REMEDY.replace("r}", "s}")},
        {"policies/remedy.yaml": REMEDY},
        {"policies/more.yaml": TAINT_POLICY.format(kind="Cluster", when="tru", effect="NoSchedule")},
        {"policies/more.yaml": None},
        {"fleet.yaml": None},
    )
    for edit in edits:
        for path, text in edit.items():
            repo.write(path, text)
        state = state_in(tmp_path)
        checked = check_uncommitted(asked_of_the_work_tree(repository), state, now=NOON)
        state.close()
        whole = whole_check(
            work_tree_snapshot(repository, local_agent_refs(repository)), open_commit(repository, "HEAD")
        )
        assert_same(checked, whole, list(edit), edit)
        assert any(found.file == "policies/misspelt.yaml" for found in checked.fleet.findings), edit
