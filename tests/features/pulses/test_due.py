"""`muster get pulses`: which events are due, as tables and data, and one after the other."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from muster.features.pulses import due
from muster.features.pulses.due import matcher, print_followed
from tests.features.pulses.test_follow import INTERVAL, Sleeper
from tests.features.pulses.test_publish import CLUSTER, FLEET, NOON
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW = ("--now", NOON.isoformat())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repository(tmp_path_factory.mktemp("due") / "fleet")
    repo.commit({"fleet.yaml": FLEET % "", "one.yaml": CLUSTER % "one", "two.yaml": CLUSTER % "two"})
    return repo


def test_what_is_due(fleet: Repo, muster: Run) -> None:
    code, out, err = muster("get", "pulses", "--repo", fleet.path, *NOW)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["OBJECT", "ManagedCluster/one", "ManagedCluster/two"]
    assert err.startswith("next change without new input: 20")
    _, out, err = muster("get", "pulses", "cluster/two", "-o", "json", "--repo", fleet.path, *NOW)
    assert ([event["subject"] for event in json.loads(out)["items"]], err) == (["ManagedCluster/two"], "")
    _, out, _ = muster("get", "pulses", "-o", "jsonpath={.items[*].subject}", "--repo", fleet.path, *NOW)
    assert out == "ManagedCluster/one ManagedCluster/two"
    assert muster("get", "pulses", "works", "--repo", fleet.path, *NOW)[2].startswith("no pulse is due\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-n", "a"), "pulses are events: without -n"),
        (("-o", "name"), "pulses have no names"),
        (("clutsers",), "did you mean 'clusters'?"),
        (("-w", "-o", "yaml"), "pulses -w prints rows, or lines of JSON with -o json"),
        (("-w", "--worktree"), "-w follows the branch that is checked out"),
    ],
)
def test_usage(fleet: Repo, muster: Run, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = muster("get", "pulses", *arguments, "--repo", fleet.path, *NOW)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("lines", [False, True])
def test_one_after_the_other(
    fleet: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lines: bool
) -> None:
    sleeper = Sleeper((fleet, ""))
    monkeypatch.setattr(due, "Event", lambda: sleeper)
    print_followed(Path(fleet.path), None, INTERVAL, matcher(["cluster/one"]), lambda: sleeper.now, lines=lines)
    assert sleeper.now > NOON + timedelta(seconds=1)
    heading, *rows = capsys.readouterr().out.splitlines()
    if lines:
        rows = [json.loads(row)["subject"] for row in (heading, *rows)]
    else:
        assert heading.split() == ["OBJECT", "GENERATION", "REASON", "TYPE"]
    assert rows
    assert all(row.startswith("ManagedCluster/one") for row in rows)
