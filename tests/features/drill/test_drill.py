"""A drill against a simulated fleet in which these agents fall silent; and which cells an edit changes."""

# ruff: noqa: E501 - documents

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.data.times import format_time, parse_time
from muster.data.yaml.loader import first_body
from muster.features.drill import drill as drills
from muster.features.drill.cells import Cell
from muster.features.drill.drill import DrillResult, run_drills
from muster.features.whatif.rehearsal import rehearsal
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.git.snapshot import CommitSnapshot
from muster.rules.drills.policy import Drill
from muster.run.checking import check_snapshot
from muster.run.overlay import Overlay
from muster.run.settle import settle
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, copy, new_repository
from tests.support.living import BINDING, cluster, lease, observed, placement

REGIONS = ("ap", "eu", "us")
#: Clusters by name: the region, and how many seconds before the start they renewed last.
CLUSTERS = {f"c{n}": (REGIONS[n % 3], 7 * n % 50) for n in range(9)}
TOLERANT = placement("tolerant", 6).replace(
    "spec:",
    "spec:\n  tolerations:\n  - {key: cluster.open-cluster-management.io/unreachable, operator: Exists, tolerationSeconds: 90}",
)
DRILL = """\
apiVersion: muster.dev/v1alpha1
kind: Drill
metadata: {{name: {name}}}
spec:
  lose: {lose}
  for: 20m
  never:
  - {{name: short, expression: placement.clusters.size() < 4}}
  - {{name: dark, expression: "placement.clusters.exists(c, !c.available)"}}
  - {{name: moves, expression: "placement.clusters.exists(c, c.gained)"}}
"""
BUDGET = (
    "apiVersion: muster.dev/v1alpha1\nkind: DisruptionBudget\nmetadata: {name: default}\n"
    "spec: {maxDisrupted: 20%, ignoreUpTo: 0, cooldown: 1m}\n"
)


def files(lose: str = "{each: region}") -> dict[str, str]:
    found = {
        "apps/binding.yaml": BINDING,
        "apps/four.yaml": placement("four", 4),
        "apps/eu.yaml": placement("eu", 4, region="eu"),
        "apps/tolerant.yaml": TOLERANT,
        "drills/d.yaml": DRILL.format(name="d", lose=lose),
    }
    for name, (region, seconds) in CLUSTERS.items():
        found[f"clusters/{name}/cluster.yaml"] = cluster(name, region=region)
        found[f"clusters/{name}/observed.yaml"] = observed(name)
        found[f"clusters/{name}/lease.yaml"] = lease(name, NOON - timedelta(seconds=seconds))
    return found


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Repo]:
    """Return a function that makes a fleet that was just reconciled."""
    origin = new_repository(tmp_path_factory.mktemp("drill") / "fleet")
    origin.commit(files())
    origin.commit({path: text for path, text in _settled(origin, NOON).items() if text is not None})
    return lambda folder: copy(origin.path, folder)


def _settled(repo: Repo, now: datetime) -> Mapping[str, str | None]:
    repository = open_repository(repo.path, repo.environ)
    heard = local_agent_refs(repository)
    return settle(CommitSnapshot(repository, repo.tip(), heard.refs, heard.agents), now).files


def rows(results: Sequence[DrillResult]) -> list[object]:
    return [(str(result.drill.id), result.rows) for result in results]


def drilled(repo: Repo, now: datetime = NOON, cache: Path | None = None, workers: int = 1) -> list[DrillResult]:
    repository = open_repository(repo.path, repo.environ)
    with rehearsal(repository, repo.tip(), local_agent_refs(repository)) as trial:
        fleet = check_snapshot(trial.snapshot)
        return run_drills(trial, fleet, fleet.compiled.of(Drill), now, cache=cache, workers=workers)


def cells(repo: Repo) -> dict[tuple[str, str], Cell]:
    return {
        (domain.name, cell.object.name): cell for result in drilled(repo) for domain, row in result.rows for cell in row
    }


#: What the status of a Rollout may say.
REASONS = ("Progressing", "Soaking", "Stopped", "NoClusters", "Complete")
ROLLOUT = """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {{name: app, namespace: apps}}
spec:
  placementRef: {{name: all}}
  revision: {revision}
  gate: [{{name: runs, expression: "self.status.clusterClaims.exists(c, c.value == rollout.revision)"}}]
  stages:
  - {{name: eu, selector: {{matchLabels: {{region: eu}}}}, minSuccessTime: 3m, progressDeadline: 8m, maxConcurrency: 2}}
  - {{name: us, selector: {{matchLabels: {{region: us}}}}, maxConcurrency: 1, progressDeadline: 4m, maxFailures: 1}}
  - {{name: rest}}
"""


def in_flight(repo: Repo, runs: Mapping[str, str]) -> None:
    """Give the fleet a Rollout from v1 to v2 of which some clusters have said that they run it."""
    rules = [f"rollout.reason == '{reason}'" for reason in REASONS] + [
        f"rollout.stage == '{stage}'" for stage in STAGES
    ]
    never = "".join(f'  - {{name: "{rule.split()[-1][1:-1]}", expression: "{rule}"}}\n' for rule in rules)
    drill = DRILL.format(name="d", lose="{each: region}").partition("  - {name: short")[0] + never
    repo.commit({"apps/all.yaml": placement("all", 9), "apps/rollout.yaml": ROLLOUT.format(revision="v1")})
    repo.commit({f"clusters/{name}/observed.yaml": observed(name) + CLAIM.format("v1") for name in CLUSTERS})
    _land(repo, NOON)
    repo.commit({"apps/rollout.yaml": ROLLOUT.format(revision="v2"), "drills/d.yaml": drill})
    _land(repo, NOON)
    repo.commit(
        {f"clusters/{name}/observed.yaml": observed(name) + CLAIM.format(value) for name, value in runs.items()}
    )
    _land(repo, NOON)


STAGES = ("eu", "us", "rest")
CLAIM = "  clusterClaims: [{{name: app, value: {}}}]\n"


def _land(repo: Repo, now: datetime) -> None:
    repo.commit(dict(_settled(repo, now)))


Spells = list[tuple[str, datetime, datetime | None]]


def simulated(repo: Repo, lost: Collection[str], span: timedelta) -> dict[str, Spells]:
    """The states of each Placement, from full runs at each instant at which anything is due, with Leases that the
    agents write which are not lost."""
    repository = open_repository(repo.path, repo.environ)
    heard = local_agent_refs(repository)
    derived = dict[str, str | None]()
    seen: dict[str, Spells] = {}
    gained: dict[str, set[str]] = {}
    before = _chosen(repo, {})
    at: datetime | None = NOON
    while at is not None and at <= NOON + span:
        leases = {
            f"clusters/{name}/lease.yaml": lease(
                name, NOON - timedelta(seconds=seconds) + timedelta(seconds=60) * _periods(at, seconds)
            )
            for name, (_, seconds) in CLUSTERS.items()
            if name not in lost
        }
        repo.commit(leases)
        settled = settle(Overlay(CommitSnapshot(repository, repo.tip(), heard.refs, heard.agents), derived), at)
        derived.update(settled.files)
        chosen, silent = _chosen(repo, derived), _silent(repo, derived)
        for name, now in chosen.items():
            gained[name] = (gained.get(name, set()) & now) | (now - before[name])
            states = {"short": len(now) < 4, "dark": bool(now & silent), "moves": bool(gained[name])}
            _see(seen.setdefault(name, []), at, [state for state, holds in states.items() if holds])
        for name, rollout_states in _rollouts(repo, derived):
            _see(seen.setdefault(name, []), at, rollout_states)
        before = chosen
        turn = settled.last.turn
        at = None if turn is None else max(turn, at + timedelta(seconds=1))
    return {name: sorted(spells, key=lambda one: (one[1], one[0])) for name, spells in seen.items()}


def _periods(at: datetime, seconds: int) -> int:
    return int((at - NOON).total_seconds() + seconds) // 60


def _see(spells: Spells, at: datetime, states: Collection[str]) -> None:
    for index, (state, begin, end) in enumerate(spells):
        if end is None and state not in states:
            spells[index] = (state, begin, at)
    going = {state for state, _, end in spells if end is None}
    spells.extend((state, at, None) for state in states if state not in going)


def _bodies(repo: Repo, derived: Mapping[str, str | None], folder: str) -> Iterator[tuple[str, dict[str, object]]]:
    committed = {str(path.relative_to(repo.path)): path.read_text() for path in (repo.path / folder).rglob("*.yaml")}
    for path, text in sorted({**committed, **derived}.items()):
        if text is not None and path.startswith(folder):
            yield path, first_body(text.encode(), path)


def _chosen(repo: Repo, derived: Mapping[str, str | None]) -> dict[str, set[str]]:
    names = [Path(path).stem for path in repo.git("ls-files", "apps").splitlines()]
    found = {name: set[str]() for name in names if name not in ("binding", "rollout")}
    for _, body in _bodies(repo, derived, "derived/placementdecisions"):
        name = body["metadata"]["labels"]["cluster.open-cluster-management.io/placement"]  # type: ignore[index]
        found[name] |= {one["clusterName"] for one in body["status"].get("decisions") or ()}  # type: ignore[attr-defined]
    return found


def _rollouts(repo: Repo, derived: Mapping[str, str | None]) -> Iterator[tuple[str, list[str]]]:
    for _, body in _bodies(repo, derived, "derived/rollouts"):
        status: Any = body["status"]
        reasons = [one["reason"] for one in status["conditions"] if one["type"] == "RolledOut"]
        yield "app", [*reasons, *filter(None, [status.get("stage")])]


def _silent(repo: Repo, derived: Mapping[str, str | None]) -> set[str]:
    return {
        body["metadata"]["name"]  # type: ignore[index]
        for _, body in _bodies(repo, derived, "derived/managedclusters")
        for one in body["status"]["conditions"]  # type: ignore[index]
        if one["type"] == "ManagedClusterConditionAvailable" and one["status"] != "True"
    }


FREEZE = (
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec:\n  freezes:\n"
    "  - {name: audit, period: 2026-01-01T12:00:00Z/2026-01-01T12:09:00Z, holds: [placements], reason: audit}\n"
)


@pytest.mark.parametrize("budget", ("", BUDGET, FREEZE))
def test_each_cell_is_what_a_fleet_does_whose_agents_fall_silent(
    tmp_path: Path, resting: Callable[[Path], Repo], budget: str
) -> None:
    repo = resting(tmp_path / "fleet")
    if budget:
        repo.commit({"rules.yaml": budget})
    found = cells(repo)
    for number, region in enumerate(REGIONS):
        lost = {name for name, (own, _) in CLUSTERS.items() if own == region}
        expected = simulated(copy(repo.path, tmp_path / f"real{number}"), lost, timedelta(minutes=20))
        for name, spells in expected.items():
            cell = found[f"region={region}", name]
            assert [(spell.name, spell.begin, spell.end) for spell in cell.broken] == spells
    if not budget:
        assert any(spell.end for cell in found.values() for spell in cell.broken), "something begins and ends"
    else:
        rule = "DisruptionBudget/default" if budget == BUDGET else "freeze audit"
        assert {spell.name for cell in found.values() for spell in cell.held} == {f"held by {rule}"}


@pytest.mark.parametrize("runs", [{"c1": "v2"}, {"c1": "v2", "c4": "v2", "c7": "v2"}])
def test_so_is_each_cell_of_a_rollout_in_flight(
    tmp_path: Path, resting: Callable[[Path], Repo], runs: Mapping[str, str]
) -> None:
    repo = resting(tmp_path / "fleet")
    in_flight(repo, runs)
    found = cells(repo)
    seen = set[str]()
    for number, region in enumerate(REGIONS):
        lost = {name for name, (own, _) in CLUSTERS.items() if own == region}
        expected = simulated(copy(repo.path, tmp_path / f"real{number}"), lost, timedelta(minutes=20))["app"]
        spells = [(spell.name, spell.begin, spell.end) for spell in found[f"region={region}", "app"].broken]
        assert spells == expected
        seen |= {name for name, _, _ in spells}
    assert len(seen) > 2, seen


def test_an_edit_of_a_placement_changes_its_cells_alone(tmp_path: Path, resting: Callable[[Path], Repo]) -> None:
    repo = resting(tmp_path / "fleet")
    before = cells(repo)
    repo.commit({"apps/tolerant.yaml": TOLERANT.replace("tolerationSeconds: 90", "tolerationSeconds: 150")})
    after = cells(repo)
    assert {key for key in before if before[key] != after[key]} == {(f"region={one}", "tolerant") for one in REGIONS}
    key = ("region=eu", "tolerant")
    lasted = [
        next(s.end - s.begin for s in found[key].broken if s.name == "dark" and s.end) for found in (before, after)
    ]
    assert lasted[1] - lasted[0] == timedelta(seconds=60)


def test_single_clusters_and_pairs(tmp_path: Path, resting: Callable[[Path], Repo]) -> None:
    repo = resting(tmp_path / "fleet")
    other = (
        DRILL.format(name="pairs", lose="{pairs: region}")
        + "---\n"
        + DRILL.format(name="named", lose='{clusters: ["c[0-9]", "c1*"]}')
    )
    repo.commit(
        {"drills/d.yaml": other + "---\n" + DRILL.format(name="all", lose="{selector: {matchLabels: {region: eu}}}")}
    )
    found = {result.drill.id.name: [domain for domain, _ in result.rows] for result in drilled(repo)}
    assert [one.name for one in found["pairs"]] == [
        "region=ap and region=eu",
        "region=ap and region=us",
        "region=eu and region=us",
    ]
    assert [(one.name, set(one.clusters)) for one in found["named"]] == [("c1", {"c1"})]
    assert [sorted(one.clusters) for one in found["all"]] == [["c1", "c4", "c7"]]


def test_goes_on_from_what_it_knows(tmp_path: Path, resting: Callable[[Path], Repo]) -> None:
    repo, cache = resting(tmp_path / "fleet"), tmp_path / "cache"
    expected = rows(drilled(repo))
    assert rows(drilled(repo, cache=cache)) == expected
    (kept,) = (cache / "drills").iterdir()
    lines = kept.read_text().splitlines()
    assert len(lines) == 4, "the run that outages share, and three outages"
    kept.write_text("\n".join(lines[:2]) + "\n" + lines[2][:40] + "\n")
    assert rows(drilled(repo, cache=cache)) == expected
    assert len(kept.read_text().splitlines()) == 6, "one outage was known, and two were rehearsed"
    text = kept.read_text()
    assert rows(drilled(repo, cache=cache)) == expected
    assert kept.read_text() == text, "nothing was rehearsed"
    repo.commit({"apps/four.yaml": placement("four", 3)})
    drilled(repo, cache=cache)
    assert len([*(cache / "drills").iterdir()]) == 2, "another commit is another fleet"


@pytest.mark.parametrize(
    "damage", ["[" * 200_000, '{"lost": ["c1"], "until": 5, "steps": []}', '{"facts": 5}', "\0", "x y"]
)
def test_what_is_damaged_in_what_it_keeps_is_rehearsed_again(
    tmp_path: Path, resting: Callable[[Path], Repo], damage: str
) -> None:
    repo, cache = resting(tmp_path / "fleet"), tmp_path / "cache"
    expected = rows(drilled(repo, cache=cache))
    (kept,) = (cache / "drills").iterdir()
    first, *lines = kept.read_text().splitlines()
    kept.write_text("\n".join((first.replace("true", "false", 1), damage, lines[0].replace('"12', '"13'), *lines[1:])))
    assert rows(drilled(repo, cache=cache)) == expected


def test_in_processes(tmp_path: Path, resting: Callable[[Path], Repo], monkeypatch: pytest.MonkeyPatch) -> None:
    repo = resting(tmp_path / "fleet")
    expected = rows(drilled(repo))
    monkeypatch.setattr(drills, "_LARGE", 0)
    assert rows(drilled(repo, workers=2)) == expected


def example(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()})
    return repo


def test_finds_work_that_moves_back_to_a_silent_cluster(tmp_path: Path) -> None:
    """A cluster that has failed loses its work after five minutes. When it falls silent, it has another taint, which is
    tolerated anew."""
    repo = example(tmp_path)
    repo.git("apply", "branches/both-taints.patch")
    path = "derived/managedclusters/prod-us-2.yaml"
    tainted = (
        (repo.path / path)
        .read_text()
        .replace("fleet.example.com/unhealthy", "cluster.open-cluster-management.io/unavailable")
    )
    repo.commit(
        {
            path: tainted,
            "placements/web.yaml": (repo.path / "placements/web.yaml").read_text(),
            "policies/builtin-taints.yaml": (repo.path / "policies/builtin-taints.yaml").read_text(),
        }
    )
    result = next(one for one in drilled(repo) if one.drill.id.name == "regions")
    rows = {domain.name: {cell.object.name: cell.text(NOON) for cell in row} for domain, row in result.rows}
    assert rows["region=us"]["web"] == "moves-back for 5m, until 12:09:20 (gains prod-us-2)"
    assert result.findings[0].file == "drills/regions.yaml"
    spells = [spell for _, row in result.rows for cell in row for spell in cell.broken]
    assert {format_time(spell.begin) for spell in spells} == {"2026-01-01T12:04:20Z"}
    assert parse_time("2026-01-01T12:04:20Z") == spells[0].begin
