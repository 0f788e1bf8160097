"""`muster reconcile --metrics`: what real runs write for Prometheus, read back with the client library's parser."""

from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

AT = "2026-01-01T00:00:00Z"


def fleet(path: Path, names: str = "abcdef") -> Repo:
    repo = new_repository(path)
    for name in names:
        repo.write(f"clusters/{name}/cluster.yaml", cluster(name))
        repo.write(f"clusters/{name}/lease.yaml", lease(name, AT))
        repo.write(f"clusters/{name}/observed.yaml", observed(name))
    repo.commit()
    return repo


def read(path: Path) -> dict[str, float]:
    """Each sample by its name and labels, as a query has them."""
    found = {}
    for family in text_string_to_metric_families(path.read_text()):
        assert family.documentation, family.name
        for sample in family.samples:
            assert sample.labels.pop("fleet") == "fleet"
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_runs_count_on_and_tell_of_all_clusters_whatever_they_looked_at(muster: Run, tmp_path: Path) -> None:
    repo, file = fleet(tmp_path / "fleet"), tmp_path / "muster.prom"

    def run(now: str) -> dict[str, float]:
        code, _, err = muster("reconcile", "--repo", str(repo.path), "--now", now, "--metrics", str(file), "-v")
        assert code == 0, err
        said.append(err)
        return read(file)

    said = list[str]()
    first = run("2026-01-01T00:00:30Z")
    assert first['muster_runs_total{outcome="committed"}'] == first["muster_commits_total"] == 1
    assert first['muster_clusters{kind="ManagedCluster",status="True"}'] == 6
    assert first['muster_decisions_total{kind="ManagedCluster",what="condition"}'] >= 6
    assert first['muster_budget_disrupted_clusters{budget="default"}'] == 0
    assert first['muster_budget_allowed_clusters{budget="default"}'] == 3
    assert first['muster_findings{severity="error"}'] == 0
    assert first["muster_run_duration_seconds_count"] == 1
    assert first['muster_run_stage_duration_seconds_count{stage="committing"}'] == 1
    assert (first["muster_git_attempts_total"], first["muster_git_retries_total"]) == (1, 0)

    for name in "bcdef":
        repo.write(f"clusters/{name}/lease.yaml", lease(name, "2026-01-01T00:02:00Z"))
    repo.commit()
    second = run("2026-01-01T00:02:00Z")
    assert second['muster_runs_total{outcome="unchanged"}'] == 1
    assert second["muster_commits_total"] == 1, "it goes on from what the file says"
    assert second["muster_run_duration_seconds_count"] == 2

    third = run("2026-01-01T00:06:10Z")  # the lease of `a` has run out at 5:00
    assert "near" in said[-1] or "wide" in said[-1], "it has not looked at the whole fleet"
    assert third['muster_clusters{kind="ManagedCluster",status="True"}'] == 5
    assert third['muster_clusters{kind="ManagedCluster",status="Unknown"}'] == 1
    assert third['muster_budget_disrupted_clusters{budget="default"}'] == 1
    assert third["muster_horizon_lag_seconds_sum"] == 70
    assert third["muster_horizon_lag_seconds_count"] == 1

    assert run("2026-01-01T00:06:10Z")['muster_clusters{kind="ManagedCluster",status="True"}'] == 5
    last = run("2026-01-01T00:06:11Z")
    assert "looked at nothing" in said[-1]
    kept = {name: value for name, value in third.items() if name.startswith(("muster_clusters", "muster_budget"))}
    assert {name: last[name] for name in kept} == kept
    assert last['muster_agent_word_age_seconds_count{source="lease"}'] == 6


def test_without_a_state_all_is_the_same(muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, file = fleet(tmp_path / "fleet"), tmp_path / "muster.prom"
    monkeypatch.setenv("MUSTER_CACHE_DIR", "")
    for _ in range(2):
        assert muster("reconcile", "--repo", str(repo.path), "--now", AT, "--metrics", str(file))[0] == 0
    found = read(file)
    assert found['muster_clusters{kind="ManagedCluster",status="True"}'] == 6
    assert found['muster_agent_word_age_seconds_bucket{le="+Inf",source="lease"}'] == 6
    assert "muster_horizon_lag_seconds_sum" in found
    assert found["muster_horizon_lag_seconds_count"] == 0


def test_what_is_held_is_told_by_what_holds_it(muster: Run, tmp_path: Path) -> None:
    repo, file = fleet(tmp_path / "fleet"), tmp_path / "muster.prom"
    for now in ("2026-01-01T00:00:30Z", "2026-01-01T00:07:00Z"):  # all of them are silent by then
        muster("reconcile", "--repo", str(repo.path), "--now", now, "--metrics", str(file))
    found = read(file)
    assert found['muster_held_effects{effect="taint",rule="DisruptionBudget/default"}'] == 6
    assert found['muster_budget_disrupted_clusters{budget="default"}'] == 6


def test_freezes_are_told_with_their_end_whatever_a_run_looked_at(muster: Run, tmp_path: Path) -> None:
    repo, file = fleet(tmp_path / "fleet", "ab"), tmp_path / "muster.prom"
    freezes = [
        {"name": "now", "period": f"{AT}/2026-01-01T00:02:00Z"},
        {"name": "later", "period": "2026-02-01"},
        {"name": "always", "calendar": "gone", "holds": ["remedies"]},
    ]
    fleet_body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "fleet"}}
    repo.write("fleet.yaml", yaml.safe_dump({**fleet_body, "spec": {"freezes": freezes}}))
    repo.commit()

    def run(now: str) -> dict[str, float]:
        code, _, err = muster("reconcile", "--repo", str(repo.path), "--now", now, "--metrics", str(file))
        assert code == 0, err
        found = read(file)
        return {name: value for name, value in found.items() if name.startswith("muster_freeze")}

    ahead = {f'muster_freeze_in_force{{freeze="{name}"}}': value for name, value in (("later", 0), ("always", 1))}
    first = run("2026-01-01T00:00:30Z")
    assert first == {
        **ahead,
        'muster_freeze_in_force{freeze="now"}': 1,
        'muster_freeze_end_timestamp_seconds{freeze="now"}': 1767225720,
    }
    assert run("2026-01-01T00:00:40Z") == first, "a run that evaluates nothing"
    assert run("2026-01-01T00:02:00Z") == {**ahead, 'muster_freeze_in_force{freeze="now"}': 0}


def test_a_run_that_fails_is_counted_where_it_did(muster: Run, tmp_path: Path) -> None:
    repo, file = fleet(tmp_path / "fleet"), tmp_path / "muster.prom"
    repo.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    assert muster("reconcile", "--repo", str(repo.path), "--now", AT, "--push", "--metrics", str(file))[0] == 4
    found = read(file)
    assert found['muster_runs_total{outcome="failed"}'] == 1
    assert found['muster_run_failures_total{stage="fetching"}'] == 1
    assert "muster_last_success_timestamp_seconds" not in found


@pytest.mark.falls_back
def test_a_fault_that_it_finds_a_way_round_is_counted_and_said(
    muster: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, file = fleet(tmp_path / "fleet"), tmp_path / "muster.prom"
    assert muster("reconcile", "--repo", str(repo.path), "--now", AT)[0] == 0
    repo.commit({"clusters/a/observed.yaml": observed("a") + "# seen again\n"})
    monkeypatch.setattr("muster.run.incremental.run_part", lambda _: 1 // 0)
    code, _, err = muster("reconcile", "--repo", str(repo.path), "--now", AT, "--metrics", str(file))
    assert code == 0
    assert "while deciding a part of the fleet" in err
    assert "ZeroDivisionError" in err
    assert read(file)['muster_fallbacks_total{doing="deciding a part of the fleet"}'] == 1


def test_a_file_that_is_none_of_ours_is_said_and_replaced(muster: Run, tmp_path: Path) -> None:
    repo, file = fleet(tmp_path / "fleet", "a"), tmp_path / "muster.prom"
    file.write_text('muster_runs_total{fleet="another",outcome="committed"} 7\n')
    assert muster("reconcile", "--repo", str(repo.path), "--now", AT, "--metrics", str(file))[0] == 0
    assert read(file)['muster_runs_total{outcome="committed"}'] == 1, "what another fleet's runs were is no matter"
    file.write_bytes(b"muster_runs_total{outcome=\xff")
    code, _, err = muster("reconcile", "--repo", str(repo.path), "--now", AT, "--metrics", str(file))
    assert code == 0
    assert "metrics start again" in err
    assert read(file)['muster_runs_total{outcome="unchanged"}'] == 1
    code, _, err = muster("reconcile", "--repo", str(repo.path), "--now", AT, "--metrics", str(tmp_path / "no/file"))
    assert code == 0
    assert "metrics cannot be written" in err
