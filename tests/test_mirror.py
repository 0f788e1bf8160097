"""The tree of tests mirrors the source: what `acts/landing.py` promises is tested in `tests/acts/test_landing.py`.

A module without a test of its own stands below, with the tests that it is tested through.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "engine/muster"
THROUGH = {
    "acts/accepting.py": "commands/test_edits.py",  # three verbs, one way of editing
    "acts/tainting.py": "commands/test_edits.py",
    "acts/claiming.py": "commands/test_claim.py",
    "acts/dumps.py": "commands/test_import.py",  # what an import does shows in what is written
    "acts/importing.py": "commands/test_import.py",
    "acts/pool_secrets.py": "commands/test_import.py",
    "acts/rehearsal.py": "acts/test_forecast.py",  # a forecast is a rehearsal told
    "acts/watch.py": "commands/test_watch.py",  # a real process that is sent signals
    "agent/apiserver.py": "agent/test_heartbeat.py",  # an agent is one story with an API server and a hub
    "agent/hub.py": "agent/test_heartbeat.py",
    "agent/observer.py": "agent/test_heartbeat.py",
    "agent/own_ref.py": "agent/test_heartbeat.py",
    "agent/detector.py": "commands/test_detect.py",
    "answers/described.py": "commands/test_explain.py",  # what is explained shows in what is printed
    "answers/pages.py": "commands/test_explain.py",
    "answers/policybranches.py": "answers/test_policycoverage.py",
    "answers/reads.py": "answers/test_explain.py",
    "answers/stated.py": "answers/test_policytest.py",
    "answers/history.py": "commands/test_history.py",  # over real commits
    "answers/listening.py": "e2e/test_hearing.py",  # clones, forks and remotes that do not answer
    "commands/accept.py": "commands/test_edits.py",
    "commands/describe.py": "commands/test_explain.py",
    "commands/comment.py": "acts/test_commenting.py",
    "commands/demo.py": "docs/test_readme.py",
    "commands/deny.py": "commands/test_edits.py",
    "commands/disposable.py": "commands/test_cache.py",
    "commands/exits.py": "commands/test_cli.py",
    "commands/heartbeat.py": "agent/test_heartbeat.py",
    "commands/init.py": "packaging/test_origin.py",  # what it lays down says where muster is installed from
    "commands/options.py": "commands/test_cli.py",
    "commands/origin.py": "packaging/test_origin.py",
    "commands/outcome.py": "commands/test_cli.py",
    "commands/pulses.py": "decide/pulses/test_stage.py",
    "commands/reading.py": "e2e/test_work_trees.py",
    "commands/reconcile.py": "acts/test_reconcile.py",
    "commands/release.py": "commands/test_claim.py",
    "commands/render.py": "commands/test_cli.py",
    "commands/source_lines.py": "packaging/test_origin.py",
    "commands/stopping.py": "commands/test_watch.py",  # real processes that are sent signals
    "commands/supposed.py": "commands/test_forecast.py",
    "commands/taint.py": "commands/test_edits.py",
    "output/annotations.py": "output/test_reports.py",
    "output/codequality.py": "output/test_reports.py",
    "output/junit.py": "output/test_reports.py",
    "output/sarif.py": "output/test_reports.py",
    "output/explanation.py": "commands/test_explain.py",
    "output/forecast.py": "commands/test_forecast.py",
    "gitio/scratch.py": "acts/test_forecast.py",
    "output/history.py": "commands/test_history.py",
    "gitio/filelog.py": "commands/test_history.py",
    "output/replay.py": "commands/test_replay.py",
    "gitio/hearing.py": "e2e/test_hearing.py",
    "gitio/bringing.py": "gitio/test_commit.py",  # a branch and its work tree move together
    "gitio/journal.py": "gitio/test_recovery.py",  # notes are read by who recovers
    "gitio/lentindex.py": "gitio/test_recovery.py",
    "gitio/settling.py": "gitio/test_recovery.py",
    "gitio/treechanges.py": "gitio/test_recovery.py",
    "gitio/ignoring.py": "commands/test_import.py",
    "gitio/outcomes.py": "gitio/test_commit.py",  # types without behaviour
    "gitio/stored.py": "e2e/test_work_trees.py",  # git's filters and line ends, in every form of a checkout
}


def alone(room: str) -> Iterator[str]:
    """The modules of a room without a test of their own."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        where = path.relative_to(SOURCE)
        if path.name not in ("__init__.py", "__main__.py"):
            test = TESTS / where.parent / f"test_{path.stem.removesuffix('_')}.py"
            if not test.exists():
                yield where.as_posix()


@pytest.mark.parametrize("room", ["acts", "agent", "answers", "commands", "gitio", "output"])
def test_a_module_has_a_test_of_its_own_or_it_is_said_where_it_is_tested(room: str) -> None:
    assert list(alone(room)) == sorted(where for where in THROUGH if where.startswith(f"{room}/"))


def test_where_it_is_said_to_be_tested_there_are_tests() -> None:
    assert [test for test in THROUGH.values() if not (TESTS / test).is_file()] == []
