"""The cause of a change: the set of changes that is found suffices, and no proper subset of it does."""

import random
from collections.abc import Collection, Mapping
from itertools import chain, combinations
from pathlib import Path

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT
from muster.data.tree import Tree
from muster.features.explain.cause import Cause, ChangedLines, _SetSearch, find_cause
from muster.features.explain.explain import decided_values
from muster.features.whatif.rehearsal import rehearsal
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.run.incremental import Wanted
from muster.run.settle import settle
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Repo, copy, new_repository
from tests.support.living import BINDING, cluster, lease, observed, placement

SOME = PLACEMENT.id("some", "apps")
WANTED = Wanted(frozenset(("Placement/apps/some",)), wide=True)


def base(folder: Path) -> Repo:
    repo = new_repository(folder)
    files = {"apps/binding.yaml": BINDING, "apps/some.yaml": placement("some", 2), "README.md": "# A\n"}
    for number in range(6):
        name = f"c{number}"
        files |= {
            f"clusters/{name}/cluster.yaml": cluster(name),
            f"clusters/{name}/observed.yaml": observed(name),
            f"clusters/{name}/lease.yaml": lease(name, NOON),
        }
    repo.commit(files)
    _reconcile(repo)
    return repo


def _reconcile(repo: Repo) -> None:
    settled = settle(_snapshot(repo), NOON)
    if settled.files:
        repo.commit(dict(settled.files))


def _snapshot(repo: Repo) -> CommitSnapshot:
    repository = open_repository(repo.path, repo.environ)
    heard = local_agent_refs(repository)
    return CommitSnapshot(repository, repo.tip(), heard.refs, heard.agents)


def cause_of(repo: Repo, start: str, id_: ObjectId, field: str) -> Cause:
    repository = open_repository(repo.path, repo.environ)
    with rehearsal(repository, start, local_agent_refs(repository)) as trial:
        return find_cause(trial, repo.tip(), id_, field, NOON, WANTED)


def values_with(
    repo: Repo, start: str, end: str, changes: Collection[ChangedLines], field: str, folder: Path
) -> Mapping[str, Tree]:
    """What a full run decides over the start with these changes alone, which are made here by line numbers of `end`."""
    tried = copy(repo.path, folder)
    tried.git("checkout", "-q", "--detach", start)
    files: dict[str, str | None] = {}
    for path in {change.path for change in changes}:
        own = [change for change in changes if change.path == path]
        if any(change.whole for change in own):
            files[path] = None if own[0].whole == "removed" else repo.show(path, end) + "\n"
            continue
        text = (tried.path / path).read_text()
        for change in own:
            old, new = "".join(change.removed), "".join(change.added)
            assert not old or old in text
            text = text.replace(old, new, 1) if old else text + new
        files[path] = text
    if files:
        tried.commit(files)
    return decided_values(settle(_snapshot(tried), NOON).last, SOME, field)


NOISE = {
    "README.md": "# B\n",
    "clusters/c4/cluster.yaml": cluster("c4", leaseDurationSeconds="90"),
    "apps/other.yaml": placement("other", 1),
    "policies/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
}


@pytest.mark.parametrize(
    ("edits", "field", "paths"),
    [
        ({"apps/some.yaml": placement("some", 3)}, "numberOfSelectedClusters", ["apps/some.yaml"]),
        # The label is needed, and so is what selects by it.
        (
            {
                "apps/some.yaml": placement("some", 2, region="ap"),
                "clusters/c5/cluster.yaml": cluster("c5", region="ap"),
            },
            "c5",
            ["apps/some.yaml", "clusters/c5/cluster.yaml"],
        ),
        # Each of them suffices: one is named.
        (
            {"clusters/c0/cluster.yaml": cluster("c0", accepted=False), "apps/binding.yaml": None},
            "c0",
            ["apps/binding.yaml"],
        ),
    ],
)
def test_the_set_causes_it_and_no_proper_subset_does(
    tmp_path: Path, edits: dict[str, str | None], field: str, paths: list[str]
) -> None:
    repo = base(tmp_path / "fleet")
    start = repo.tip()
    for path, text in {**NOISE, **edits}.items():
        repo.commit({path: text})
    end = repo.tip()
    found = cause_of(repo, start, SOME, field)
    assert sorted({change.path for change in found.changes}) == paths
    assert found.files == len(NOISE) - 1 + len(edits), "a text that no fleet has is not looked at"
    assert found.smallest
    subsets = chain.from_iterable(combinations(found.changes, size) for size in range(len(found.changes) + 1))
    for number, some in enumerate(subsets):
        values = values_with(repo, start, end, some, field, tmp_path / f"tried{number}")
        assert (values == found.after) == (len(some) == len(found.changes)), some


def test_lines_of_a_file(tmp_path: Path) -> None:
    repo = base(tmp_path / "fleet")
    start = repo.tip()
    text = (
        "# Now more of them.\n"
        + "# Many like this.\n" * 1000
        + placement("some", 4).replace("namespace: apps}", "namespace: apps, labels: {a: b}}")
    )
    repo.commit({"apps/some.yaml": text})
    found = cause_of(repo, start, SOME, "numberOfSelectedClusters")
    (change,) = found.changes
    assert (change.path, change.line) == ("apps/some.yaml", 1007)
    assert (change.removed, change.added) == (("  numberOfClusters: 2\n",), ("  numberOfClusters: 4\n",))


def test_what_muster_committed_is_no_cause(tmp_path: Path) -> None:
    repo = base(tmp_path / "fleet")
    start = repo.tip()
    repo.commit({"apps/some.yaml": placement("some", 3)})
    _reconcile(repo)
    found = cause_of(repo, start, SOME, "numberOfSelectedClusters")
    assert [change.path for change in found.changes] == ["apps/some.yaml"]
    assert found.files == 1


@pytest.mark.parametrize("seed", range(40))
def test_search_over_any_function(seed: int) -> None:
    """No proper subset suffices, also where more changes undo what fewer do; and the set is the smallest if it says
    so."""
    chance = random.Random(seed)
    items = list(range(7))
    holding = {frozenset(chance.sample(items, chance.randint(1, 5))) for _ in range(4)} | {frozenset(items)}
    if seed % 2:  # what suffices does so with more, too
        every = chain.from_iterable(combinations(items, size) for size in range(8))
        holding = {frozenset(some) for some in every if any(one <= set(some) for one in holding)}
    search = _SetSearch[int](lambda some: frozenset(some) in holding)
    found, smallest = search.smallest(items)
    assert frozenset(found) in holding
    assert not any(one < frozenset(found) for one in holding)
    if smallest:
        assert len(found) == min(map(len, holding))
    assert smallest, "there are few sets of seven"


def test_as_people_ask(muster: Run, tmp_path: Path) -> None:
    repo = base(tmp_path / "fleet")
    repo.git("branch", "before")
    repo.commit({"apps/some.yaml": placement("some", 3)})
    ask = ("explain", "placement/apps/some", "--repo", repo.path, "--now", "2026-01-01T12:00:00Z", "--cause")
    code, out, err = muster(*ask[:2], "numberOfSelectedClusters", *ask[2:], "before..main")
    assert (code, err) == (0, "")
    assert out == (
        "Placement/apps/some status.numberOfSelectedClusters: 2 -> 3\n"
        "1 of 1 changed files suffices; no smaller set of files does:\n"
        "  apps/some.yaml:6\n    - numberOfClusters: 2\n    + numberOfClusters: 3\n"
    )
    assert '"smallest": true' in muster(*ask[:2], "numberOfSelectedClusters", *ask[2:], "before..main", "-o", "json")[1]
    for range_, said in (
        ("before", "'before' is no range of commits such as v1..main"),
        ("before..nowhere", "nowhere"),
        ("main..main", "the range does not change what is decided about Placement/apps/some"),
    ):
        code, _, err = muster(*ask, range_)
        assert code in (2, 4)
        assert said in err.replace("\n", " ")
    code, _, err = muster(*ask[:2], "spec.numberOfClusters", *ask[2:], "before..main")
    assert code == 2
    assert "nothing is decided about Placement/apps/some spec.numberOfClusters at either end" in err
    repo.commit({"clusters/c0/cluster.yaml": cluster("c0", accepted=False)})
    code, out, _ = muster(*ask, "main~1..main")
    assert (code, out.splitlines()) == (
        0,
        [
            "Placement/apps/some cluster c0: chosen -> not chosen",
            "Placement/apps/some cluster c3: not chosen -> chosen",
            "1 of 1 changed files suffices; no smaller set of files does:",
            "  clusters/c0/cluster.yaml:7",
            "    - hubAcceptsClient: true",
            "    + hubAcceptsClient: false",
        ],
    )
    code, _, err = muster("explain", "placement/apps/none", *ask[2:], "before..main")
    assert (code, "there is no placement/apps/none" in err) == (2, True)
