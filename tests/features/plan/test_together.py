"""Branches together: every set of up to three is what git merges, and a reconcile decides."""

import json
import random
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest

from muster.data.codes import Code
from muster.features.plan.together import BranchesTogether, plan_together
from muster.features.whatif.rehearsal import rehearsal
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.run.settle import settle
from muster.run.transitions.placement_moves import derivation_of
from tests.support.commandline import Run
from tests.support.example import NOON
from tests.support.git import Content, Repo, copy, new_repository
from tests.support.living import BINDING, cluster, lease, observed, placement

#: What is decided, as far as the test looks: which clusters each Placement has.
Choices = Mapping[str, frozenset[str]]
PLACEMENTS = ("four", "eu", "one")


def base(folder: Path) -> Repo:
    repo = new_repository(folder)
    files: dict[str, Content] = {
        "apps/binding.yaml": BINDING,
        "apps/four.yaml": placement("four", 4),
        "apps/eu.yaml": placement("eu", 2, region="eu"),
        "apps/one.yaml": placement("one", 1, region="us"),
        "README.md": "# A\n",
    }
    for number in range(8):
        name = f"c{number}"
        files |= {
            f"clusters/{name}/cluster.yaml": cluster(name, region="eu" if number % 2 else "us"),
            f"clusters/{name}/observed.yaml": observed(name, cpu=8 + number),
            f"clusters/{name}/lease.yaml": lease(name, NOON),
        }
    repo.commit(files)
    repo.commit(dict(_settled(repo).files))
    return repo


def _settled(repo: Repo):  # type: ignore[no-untyped-def]
    repository = open_repository(repo.path, repo.environ)
    heard = local_agent_refs(repository)
    return settle(CommitSnapshot(repository, repo.tip(), heard.refs, heard.agents), NOON)


def edits(chance: random.Random) -> list[dict[str, Content]]:
    """Eight edits of which some share something."""
    numbers = chance.sample(range(8), 6)

    def tainted(number: int) -> dict[str, Content]:
        region = "eu" if number % 2 else "us"
        text = cluster(f"c{number}", region=region, taints="[{key: k, effect: NoSelect}]")
        return {f"clusters/c{number}/cluster.yaml": text}

    found: list[dict[str, Content]] = [
        {f"clusters/c{numbers[0]}/cluster.yaml": cluster(f"c{numbers[0]}", accepted=False)},
        tainted(numbers[1]),
        tainted(numbers[2]),
        {"apps/four.yaml": placement("four", chance.choice((2, 5, 6)))},
        {"apps/four.yaml": placement("four", 3)},
        {"apps/eu.yaml": placement("eu", chance.choice((1, 3)), region="eu")},
        {"README.md": f"# {chance.random()}\n"},
        {f"clusters/c{numbers[3]}/cluster.yaml": cluster(f"c{numbers[3]}", region=chance.choice(("ap", "eu", "us")))},
    ]
    chance.shuffle(found)
    return found


def together_of(repo: Repo, branches: Mapping[str, str]) -> BranchesTogether:
    repository = open_repository(repo.path, repo.environ)
    with rehearsal(repository, repo.tip("main"), local_agent_refs(repository)) as trial:
        return plan_together(trial, branches, NOON)


def really(repo: Repo, names: tuple[str, ...]) -> Choices | None:
    """What a reconcile decides of branches that git has merged; None if it does not merge them."""
    repo.git("checkout", "-q", "--detach", "main")
    for name in names:
        repo.git("merge", "-q", "--no-edit", name, check=False)
        if repo.git("ls-files", "--unmerged"):
            repo.git("merge", "--abort")
            return None
    settled = _settled(repo)
    bodies = {**settled.first.fleet.previous, **derivation_of(settled).after}
    found: dict[str, set[str]] = {name: set() for name in PLACEMENTS}
    for id_, body in bodies.items():
        if id_.kind == "PlacementDecision" and id_.group.startswith("cluster."):
            name = body["metadata"]["labels"]["cluster.open-cluster-management.io/placement"]
            found[name] |= {one["clusterName"] for one in body["status"].get("decisions") or ()}
    return {name: frozenset(chosen) for name, chosen in found.items()}


def _key(placement_: str, name: str) -> str:
    return f"Placement/apps/{placement_}: cluster {name}"


def check(folder: Path, seed: int, triples: int) -> int:
    """Compare all singles and pairs, and some sets of three, with real merges. Returns how much came from several."""
    chance = random.Random(seed)
    repo = base(folder / "fleet")
    branches = {}
    for number, edit in enumerate(edits(chance)):
        repo.git("checkout", "-q", "-b", f"b{number}", "main")
        repo.commit(edit)
        branches[f"b{number}"] = repo.tip()
        repo.git("checkout", "-q", "main")
    found = together_of(repo, branches)
    sets = [some for size in (1, 2) for some in combinations(sorted(branches), size)]
    sets += chance.sample([*combinations(sorted(branches), 3)], triples)
    pairs = {pair for some in sets for pair in combinations(some, 2)}
    truth = {some: really(repo, some) for some in {*sets, (), *pairs}}
    known = truth[()]
    assert known is not None
    seen = 0
    for some in sets:
        after = truth[some]
        smaller = [truth[less] for size in range(len(some)) for less in combinations(some, size)]
        if after is None or None in smaller:
            assert some not in found.effects
            continue
        if some in found.effects:
            moved = {_key(p, name) for p in PLACEMENTS for name in known[p] ^ after[p]}
            values = found.effects[some].values
            assert {what for what in values if ": cluster c" in what} == moved, some
        if len(some) == 1:
            continue
        expected = {
            _key(p, f"c{n}")
            for p in PLACEMENTS
            for n in range(8)
            if all((f"c{n}" in after[p]) != (f"c{n}" in less[p]) for less in smaller if less is not None)
        }
        new = {one.what for one in found.only if one.branches == some and one.before != one.after}
        assert {what for what in new if ": cluster c" in what} == expected, some
        seen += len(expected)
    conflicts = {some for some in sets if len(some) == 2 and truth[some] is None}
    assert len([one for one in found.found if one.code is Code.BRANCHES_CONFLICT]) >= len(conflicts)
    assert found.skipped > 0, "a text shares nothing with anything"
    return seen


@pytest.mark.parametrize("seed", (1,))
def test_every_set_is_what_a_reconcile_of_the_merge_decides(tmp_path: Path, seed: int) -> None:
    """`make soak` has more of them, with every set of three."""
    assert check(tmp_path, seed, 4) > 0


def test_as_people_ask(muster: Run, tmp_path: Path) -> None:
    repo = base(tmp_path / "fleet")

    def branch(name: str, files: dict[str, Content]) -> None:
        repo.git("checkout", "-q", "-b", name, "main")
        repo.commit(files)
        repo.git("checkout", "-q", "main")

    tainted = "[{key: k, effect: NoSelect}]"
    branch(
        "first",
        {
            "clusters/c1/cluster.yaml": cluster("c1", taints=tainted),
            "clusters/c3/cluster.yaml": cluster("c3", taints=tainted),
        },
    )
    branch("second", {"clusters/c5/cluster.yaml": cluster("c5", taints=tainted)})
    branch("other", {"README.md": "# B\n"})
    branch("clash", {"clusters/c1/cluster.yaml": cluster("c1", accepted=False)})
    where = ("--repo", repo.path, "--now", "2026-01-01T12:00:00Z")
    code, out, err = muster("plan", "--with", "first", "--with", "second", "--with", "other", *where)
    assert (code, err) == (0, "")
    assert "first and second: Placement/apps/eu: condition PlacementSatisfied True -> False; neither alone\n" in out
    assert "1 set of branches tried together; 3 share nothing, as of 2026-01-01T12:00:00Z.\n" in out
    code, out, err = muster("plan", "--with", "first", "--with", "second", "--with", "other", "--within", "0s", *where)
    assert (code, err) == (0, "")
    assert "0 sets of branches tried together; 3 share nothing; for 1 more there was no time: --within, as of" in out
    code, out, err = muster("plan", "--with", "first", "--with", "clash", "-o", "json", *where)
    assert code == 1
    assert "clusters/c1/cluster.yaml:1:1: error MUS442: clash and first do not merge: clusters/c1/cluster.yaml" in err
    assert [one["branches"] for one in json.loads(out)["sets"]] == [["clash"], ["first"]]
    branch("broken", {"apps/eu.yaml": "a: [b\n"})
    repo.git("checkout", "-q", "--orphan", "foreign")
    repo.git("commit", "-q", "-m", "Foreign")
    repo.git("checkout", "-q", "main")
    code, out, err = muster("plan", "--with", "broken", "--with", "foreign", "--with", "first", *where)
    assert (code, "first: " in out) == (1, True), "the rest is answered"
    assert "apps/eu.yaml:1:6: error MUS001: broken: the list" in err
    assert "error MUS442: foreign cannot be merged: no commit is in both histories" in err
    code, _, err = muster("plan", "--with", "nowhere", *where)
    assert (code, "nowhere" in err) == (4, True)
    code, _, err = muster("plan", "--with", "first", "--base", "main", *where)
    assert (code, "--with goes with --rev" in err) == (2, True)
    code, _, err = muster("plan", "--open", *where)
    assert (code, "the environment names no forge" in err) == (4, True)
    assert copy(repo.path, tmp_path / "same").git("for-each-ref") == repo.git("for-each-ref"), "nothing is written"
