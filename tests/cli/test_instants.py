"""As of when a run decides: never silently earlier than the last one did."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.cli import exits
from muster.cli.instants import instant_of
from muster.data.times import format_time, parse_time
from muster.features.watch.watch import Watcher
from muster.git.enginecommits import LastRun, last_run
from muster.git.repository import open_repository
from muster.run.memo.state import open_state
from tests.features.pulses.test_walkthrough import Muster, available, cluster, fleet, lease, muster
from tests.support.git import Repo

__all__ = ["muster"]

FIRST, EXPIRED = "2026-01-01T00:00:30Z", "2026-01-01T00:06:30Z"


@pytest.fixture
def decided(tmp_path: Path, muster: Muster) -> Repo:
    """A fleet whose one cluster fell silent, which was decided as of 00:06:30."""
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    for now in (FIRST, EXPIRED):
        assert muster(repo, "reconcile", "--now", now)[0] == exits.FINE
    assert available(repo, "a") == ("Unknown", True)
    return repo


@pytest.mark.parametrize(
    ("now", "code", "said"),
    [
        (EXPIRED, exits.FINE, ""),
        ("2026-01-01T00:07:00Z", exits.FINE, ""),
        ("2026-01-01T00:06:29Z", exits.FINE, f"deciding as of {EXPIRED}, the instant of the last run"),
        ("2026-01-01T00:01:30Z", exits.FINE, "the clock here is 5m behind"),
        ("2026-01-01T00:01:29Z", exits.REPOSITORY, "2026-01-01T00:01:29Z is 5m1s before the last run"),
        (FIRST, exits.REPOSITORY, "--back-in-time"),
        ("1999-12-31T23:59:59Z", exits.REPOSITORY, "a run as of then would undo later decisions"),
    ],
)
def test_an_earlier_instant_takes_nothing_back(decided: Repo, muster: Muster, now: str, code: int, said: str) -> None:
    before = decided.refs()
    done, _, err = muster(decided, "reconcile", "--now", now, "-v")
    assert done == code
    assert said in err
    assert decided.refs() == before
    assert available(decided, "a") == ("Unknown", True)


def test_without_v_the_difference_of_two_clocks_is_not_worth_a_word(decided: Repo, muster: Muster) -> None:
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:05:00Z") == (exits.FINE, "nothing to do\n", "")


def test_what_is_decided_by_a_slow_clock_is_of_the_later_instant(decided: Repo, muster: Muster) -> None:
    decided.commit({"clusters/b/cluster.yaml": cluster("b")})
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:03:00Z")[0] == exits.FINE
    assert f"Muster-Now: {EXPIRED}" in decided.git("log", "-1", "--format=%B")
    assert EXPIRED in decided.show("derived/managedclusters/b.yaml")


def test_by_name_it_goes_back(decided: Repo, muster: Muster) -> None:
    assert muster(decided, "reconcile", "--now", FIRST, "--back-in-time")[0] == exits.FINE
    assert available(decided, "a") == ("True", False)
    body = decided.git("log", "-1", "--format=%B")
    assert f"decided as of {FIRST}, before the last run" in body
    assert f"Muster-Now: {FIRST}" in body
    assert muster(decided, "reconcile", "--now", FIRST)[1] == "nothing to do\n", "the later decisions are undone"


def test_commits_of_others_on_top_change_nothing(decided: Repo, muster: Muster) -> None:
    for number in range(25):
        decided.commit({"notes.txt": f"{number}"}, message=f"Note {number}\n\nMuster-Nowhere: x")
    decided.commit({"notes.txt": "x"}, message="Muster-Now: is a trailer of muster's\n\nMuster-Now: tomorrow\n\nEnd")
    assert muster(decided, "reconcile", "--now", FIRST)[0] == exits.REPOSITORY


def test_a_run_ahead_of_the_clock_stops_nothing_and_is_named(decided: Repo, muster: Muster) -> None:
    """A broken clock, or a forged commit: a run that decided in 2099."""
    ahead = decided.commit_run({"derived/notes.txt": "x"}, "3 clusters fine", now="2099-01-01T00:00:00Z")
    for command, code in (("reconcile", exits.FINE), ("plan", exits.FINE)):
        done, _, err = muster(decided, command, "--now", "2026-01-01T00:07:00Z")
        assert done == code
        assert f"warning MUS505: commit {ahead[:12]} says that a run decided as of 2099-01-01T00:00:00Z" in err
    assert muster(decided, "reconcile", "--now", FIRST)[0] == exits.REPOSITORY, "the run before it counts"
    decided.commit({"clusters/b/cluster.yaml": cluster("b")})
    assert "MUS505" in muster(decided, "reconcile", "--now", "2026-01-01T00:07:30Z")[2]
    assert "MUS505" not in muster(decided, "reconcile", "--now", "2026-01-01T00:08:00Z")[2], "a later run decided"


@pytest.mark.parametrize("files", [{}, {"derived/notes.txt": "x"}], ids=["empty", "edits derived files"])
def test_no_commit_takes_the_guard_away(decided: Repo, muster: Muster, files: dict[str, str]) -> None:
    for _ in range(2):
        decided.commit_run(files, now="2000-01-01T00:00:00Z")
        files = {path: f"{text}x" for path, text in files.items()}
    code, _, err = muster(decided, "reconcile", "--now", FIRST)
    assert code == exits.REPOSITORY
    assert f"before the last run ({decided.tip('HEAD~2')[:12]}), {EXPIRED}" in err


def test_a_pair_that_undoes_itself_is_no_run(decided: Repo, muster: Muster) -> None:
    """Even if both commits look like runs, at an instant that is past."""
    decided.commit_run({"derived/notes.txt": "x"}, now="2026-02-01T00:00:00Z")
    decided.commit_run({"derived/notes.txt": None}, now="2026-02-01T00:00:00Z")
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:07:00Z") == (exits.FINE, "nothing to do\n", "")
    assert muster(decided, "reconcile", "--now", FIRST)[0] == exits.REPOSITORY


def test_a_clock_that_was_ahead_or_is_behind_stops_no_run(tmp_path: Path) -> None:
    """By the machine's clock, which cannot tell the two apart, runs go on."""
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    first = repo.commit_run({"derived/notes.txt": "x"}, now="2026-01-02T00:00:00Z")
    repository, noon = open_repository(repo.path, repo.environ), parse_time("2026-01-01T12:00:00Z")
    instant = instant_of(repository, first, noon, clock=noon)
    assert (instant.now, instant.refused) == (noon, False)
    assert [found.code for found in instant.findings] == ["MUS505"]
    later = instant_of(repository, first, noon + timedelta(hours=12), clock=noon + timedelta(hours=12))
    assert (later.now, later.findings) == (noon + timedelta(hours=12), frozenset())
    near = instant_of(repository, first, noon + timedelta(hours=11, minutes=56), clock=noon)
    assert near.now == parse_time("2026-01-02T00:00:00Z"), "clocks may differ by minutes"


def test_nothing_of_the_future_is_pushed(decided: Repo, muster: Muster) -> None:
    code, _, err = muster(decided, "reconcile", "--now", "2099-01-01T00:00:00Z", "--push")
    assert (code, "--now lies ahead of the clock" in err) == (exits.USAGE, True)


@pytest.mark.parametrize("forged", ["Muster-Now: {late}", "Muster-Now: {late}\nMuster-Source: {tip}"])
@pytest.mark.parametrize("files", [{}, {"notes.txt": "x"}, {"notes.txt": "x", "derived/notes.txt": "x"}])
def test_what_people_write_into_a_message_stops_no_run(
    decided: Repo, muster: Muster, forged: str, files: dict[str, str]
) -> None:
    decided.commit(files, "typo\n\n" + forged.format(late="2099-01-01T00:00:00Z", tip=decided.tip()))
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:07:00Z")[:2] == (exits.FINE, "nothing to do\n")
    assert muster(decided, "reconcile", "--now", FIRST)[0] == exits.REPOSITORY, "the last run is the one that was"


def test_what_a_merged_branch_says_of_runs_is_nothing(decided: Repo, muster: Muster) -> None:
    """Neither as its commits say it, which touch nothing or take back what they touched, nor dated ahead."""
    decided.git("switch", "--quiet", "--create", "topic", "HEAD~1")
    decided.commit_run({"derived/notes.txt": "x"}, now="2099-01-01T00:00:00Z")
    decided.commit_run({"derived/notes.txt": None}, now="2099-01-01T00:00:00Z")
    decided.commit_run({}, now="2099-01-01T00:00:00Z")
    decided.commit({"notes.txt": "x"})
    decided.git("switch", "--quiet", "main")
    decided.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:07:00Z")[:2] == (exits.FINE, "nothing to do\n")


def test_plan_shows_what_a_reconcile_would_do(decided: Repo, muster: Muster) -> None:
    code, out, err = muster(decided, "plan", "--now", "2026-01-01T00:05:00Z")
    assert (code, out.splitlines()[0]) == (exits.FINE, "Nothing to do.")
    assert err.startswith(f"deciding as of {EXPIRED}")
    code, out, err = muster(decided, "plan", "--now", FIRST)
    assert code == exits.FINE
    assert "a available" in out  # what would be taken back
    assert err.startswith("a reconcile would refuse: ")


def test_a_shallow_clone_that_does_not_reach_the_last_run_looks_at_what_it_derived(
    decided: Repo, tmp_path: Path, muster: Muster
) -> None:
    decided.commit({"notes.txt": "on top"})
    decided.git("clone", "--quiet", "--depth=1", f"file://{decided.path}", str(tmp_path / "ci"))
    shallow = Repo(tmp_path / "ci", decided.environ)
    code, _, err = muster(shallow, "reconcile", "--now", FIRST)
    assert code == exits.REPOSITORY
    assert f"before the latest change in derived/, {EXPIRED}" in err
    assert muster(shallow, "reconcile", "--now", "2026-01-01T00:05:00Z")[1] == "nothing to do\n"


def test_a_fleet_that_was_never_reconciled_has_no_last_run(tmp_path: Path, muster: Muster) -> None:
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    repo.commit({"notes.txt": "x"}, message="Note\n\nMuster-Now: 2099-01-01T00:00:00Z")
    assert (
        last_run(open_repository(repo.path, repo.environ), repo.tip(), parse_time(FIRST), parse_time(EXPIRED))
        == LastRun()
    )
    assert muster(repo, "reconcile", "--now", FIRST)[0] == exits.FINE


def test_of_merged_histories_the_newest_run_counts(decided: Repo, muster: Muster) -> None:
    decided.git("switch", "--quiet", "--create", "topic", "HEAD~2")
    decided.commit({"notes.txt": "x"})
    decided.git("switch", "--quiet", "main")
    decided.git("merge", "--quiet", "--no-edit", "topic")
    repository = open_repository(decided.path, decided.environ)
    assert instant_of(repository, decided.tip(), parse_time(FIRST)).refused


def test_claims_and_edits_need_no_instant(decided: Repo, muster: Muster) -> None:
    assert muster(decided, "deny", "--clusters", "a")[0] == exits.FINE
    assert muster(decided, "reconcile", "--now", "2026-01-01T00:05:00Z")[0] == exits.FINE
    assert f"Muster-Now: {EXPIRED}" in decided.git("log", "-1", "--format=%B")


def test_watch_on_a_machine_whose_clock_jumps_back(tmp_path: Path) -> None:
    """A little: it goes on, as of the later instant. An hour: it says so."""
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    start = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    clock = [start]
    said: list[str] = []
    repository = open_repository(repo.path, repo.environ)
    watcher = Watcher(
        repository, "main", None, timedelta(seconds=30), said.append, verbose=True, clock=lambda: clock[0]
    )

    def look(at: datetime) -> list[str]:
        clock[0] = at
        heard = len(said)
        watcher.look()
        return said[heard:]

    assert "available" in look(start)[0]
    repo.commit({"clusters/b/cluster.yaml": cluster("b")})
    told = look(start - timedelta(minutes=2))
    assert told[0] == f"{format_time(start)} deciding as of {format_time(start)}, the instant of " + _of(told[0])
    assert "b accepted" in told[1]
    repo.commit({"clusters/c/cluster.yaml": cluster("c")})
    told = look(start - timedelta(hours=1))
    assert "c accepted" in told[0]
    assert any("MUS505" in line for line in told)


def _of(line: str) -> str:
    return line.partition("the instant of ")[2]


class TestAClockThatJumps:
    """A fleet of four clusters that are heard of each minute, and one or two engines that watch it."""

    NAMES = "abcd"
    NOON = parse_time("2026-01-01T12:00:00Z")

    @pytest.fixture
    def repo(self, tmp_path: Path) -> Repo:
        return fleet(tmp_path / "fleet", **dict.fromkeys(self.NAMES, format_time(self.NOON)))

    def engine(self, repo: Repo, told: list[str], clock: list[datetime], state: Path | None = None) -> Watcher:
        repository = open_repository(repo.path, repo.environ)
        return Watcher(
            repository, "main", None, timedelta(minutes=1), told.append, clock=lambda: clock[0], state=open_state(state)
        )

    def beat(self, repo: Repo, at: datetime) -> None:
        repo.commit({f"clusters/{name}/lease.yaml": lease(name, format_time(at)) for name in self.NAMES})

    def states(self, repo: Repo) -> set[tuple[str, bool]]:
        """Each cluster's condition, and whether it is tainted."""
        derived = [repo.show(f"derived/managedclusters/{name}.yaml") for name in self.NAMES]
        tainted = ("\nspec:\n  taints:\n" in text for text in derived)
        return {(available(repo, name)[0], taint) for name, taint in zip(self.NAMES, tainted, strict=True)}

    @pytest.mark.parametrize("keeps", [False, True])
    def test_by_a_day_ahead_holds_every_effect_and_recovers(self, repo: Repo, tmp_path: Path, keeps: bool) -> None:
        told, clock = list[str](), [self.NOON]
        watcher = self.engine(repo, told, clock, tmp_path / "kept/state" if keeps else None)
        watcher.look()
        clock[0] += timedelta(days=1)
        watcher.look()
        ahead = repo.tip()
        assert self.states(repo) == {("Unknown", False)}, "all fell silent at once: that is told, and nothing is done"
        clock[0] = self.NOON + timedelta(minutes=1)
        self.beat(repo, clock[0])
        told.clear()
        for _ in range(3):
            watcher.look()
            clock[0] += timedelta(minutes=1)
        assert self.states(repo) == {("True", False)}
        assert len([line for line in told if f"MUS505: commit {ahead[:12]}" in line]) == 1, "once"
        clock[0] += timedelta(minutes=1)
        self.beat(repo, clock[0])
        watcher.look()
        clock[0] += timedelta(minutes=6)
        watcher.look()
        assert self.states(repo) == {("Unknown", False)}, "and it goes on as before"

    def test_by_a_day_back_goes_on_and_says_so(self, repo: Repo) -> None:
        """It cannot tell its own clock from that of the run before; no commit stops runs."""
        told, clock = list[str](), [self.NOON]
        watcher = self.engine(repo, told, clock)
        watcher.look()
        told.clear()
        clock[0] -= timedelta(days=1)
        repo.commit({"clusters/e/cluster.yaml": cluster("e")})
        for _ in range(3):
            watcher.look()
            clock[0] += timedelta(minutes=1)
        assert "derived/managedclusters/e.yaml" in repo.paths()
        assert len([line for line in told if "MUS505" in line]) == 1
        clock[0] = self.NOON + timedelta(minutes=1)
        self.beat(repo, clock[0])
        watcher.look()
        assert self.states(repo) == {("True", False)}

    @pytest.mark.parametrize("behind", [timedelta(seconds=20), timedelta(minutes=4)])
    def test_two_engines_whose_clocks_differ_never_undo_one_another(
        self, repo: Repo, tmp_path: Path, behind: timedelta
    ) -> None:
        told, fast, slow = list[str](), [self.NOON], [self.NOON - behind]
        engines = [
            self.engine(repo, told, clock, tmp_path / name / "state") for name, clock in (("a", fast), ("b", slow))
        ]
        instants = list[datetime]()
        for minute in range(8):
            for clock in (fast, slow):
                clock[0] += timedelta(minutes=1)
            if minute < 2:
                self.beat(repo, fast[0])
            for engine in engines[:: 1 if minute % 2 else -1]:
                engine.look()
            last = last_run(
                open_repository(repo.path, repo.environ), repo.tip(), self.NOON, self.NOON + timedelta(days=1)
            )
            assert last.instant is not None
            instants.append(last.instant)
        assert instants == sorted(instants)
        assert self.states(repo) == {("Unknown", False)}
        said = [line for line in told if "Unknown" in line]
        assert len(said) == 1, "it is found once"
        assert not any("back-in-time" in line for line in told)
