"""Branch coverage is measured in the tests that mirror the source, and in them alone: tracing costs as much again.

What runs all of muster over whole fleets, or in processes of their own, is not measured: a line that nothing but a
conformance case or an example runs has no test that says what it is for.
"""

import gc
import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, TypeAlias

import pytest
import yaml

import muster as package
from muster.fleet.faults import listening_to_fallbacks
from tests.support.commandline import muster as muster
from tests.support.commandline import once  # noqa: F401 - likewise
from tests.support.examples import often
from tests.support.programs import SEARCH_PATH

if TYPE_CHECKING:
    from _typeshed import TraceFunction

#: Whoever starts the tests in the background of a script has Ctrl-C ignored, which all their processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What tests see of the environment that they are started in: the rest differs from one machine to the next.
ENVIRON = re.compile(
    "PATH|HOME|TMPDIR|XDG_CACHE_HOME|KUBEBUILDER_ASSETS|MUSTER_SOAK_.*|EXAMPLES|SEED|ROUNDS|PLANT|PYTEST_.*|COV_.*"
)
for _name in [name for name in os.environ if not ENVIRON.fullmatch(name)]:
    del os.environ[_name]
os.environ["PATH"] = SEARCH_PATH

yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[assignment,misc] # of yaml.safe_load: libyaml's parser is ten times as fast

TESTS = Path(__file__).parent
#: Folders, and files that ask the same of very many inputs; single tests that do are marked `given_many`.
UNMEASURED = (
    "conformance", "docs", "e2e", "packaging", "soak", "features/forecast/test_forecast.py",
    "features/plan/test_branch.py", "cel/runtime/test_budget.py", "cel/test_fuzz.py", "cel/test_properties.py",
    "features/reconcile/test_vanished.py", "features/reconcile/test_vanished_since.py",
    "rules/placements/test_properties.py", "rules/pools/test_rest.py", "rules/test_faults.py",
    "rules/test_because.py", "rules/test_pipeline.py", "run/test_sharded.py", "run/test_uncommitted.py",
    "run/test_wanted.py", "run/test_incremental.py",
    "git/test_objects.py",  # interrupts at any instant; one in the tracer itself, with its lock held, would hang
    "data/yaml/test_emitter.py",
    # Other tests run nearly every line of these, and tracing them costs minutes. Chosen with `--cov-context=test`, by
    # seconds per line that only they run.
    "agents/heartbeat/test_beating.py", "agents/hub/test_remote.py", "agents/identity/test_rotation.py",
    "cel/test_against_cel_cpp.py", "cel/test_against_cel_python.py", "cel/test_bounds.py", "cel/test_engines.py",
    "cel/test_horizons.py", "cel/test_surprises.py", "cli/test_cache.py", "cli/test_instants.py", "cli/test_reports.py",
    "cli/test_terminal.py", "data/test_locations.py", "data/yaml/test_fuzz.py", "data/yaml/test_shapes.py",
    "data/yaml/test_writing.py", "deploy/test_action.py", "deploy/test_machine.py", "deploy/test_pre_receive.py",
    "features/edits/test_editing.py", "features/export/test_editors.py", "features/forecast/test_rollouts.py",
    "features/lint/proving/test_inputs.py", "features/lint/proving/test_questions.py",
    "features/lint/proving/test_stages.py", "features/metrics/test_tracing.py", "features/plan/test_cli.py",
    "features/plan/test_comment.py", "features/pulses/test_walkthrough.py", "features/reconcile/test_leaving.py",
    "features/reconcile/test_lost_objects.py", "features/reconcile/test_pacing.py",
    "features/reconcile/test_reconcile.py", "features/reconcile/test_removals.py", "features/reconcile/test_unrest.py",
    "features/replay/test_replay.py", "features/sign/test_signing.py", "features/test/test_coverage.py",
    "features/validate/test_cli.py", "features/validate/test_paths.py", "features/watch/test_cli.py",
    "fleet/test_derived.py", "fleet/test_derived_parts.py", "fleet/test_edges.py", "fleet/test_faults.py",
    "fleet/test_hostile.py", "fleet/test_report_parts.py", "fleet/test_schema_findings.py", "git/test_agents.py",
    "git/test_crashes.py", "git/test_landing_derived.py", "git/test_pulse_memory.py", "git/test_push.py",
    "git/test_restricted.py", "git/test_snapshot.py", "git/test_staged.py", "rules/budgets/test_stage.py",
    "rules/effects/test_requested.py", "rules/heartbeats/test_silence.py", "rules/outputs/test_stage.py",
    "rules/pools/test_failures.py", "rules/projections/test_policy.py", "rules/registration/test_first_day.py",
    "rules/registration/test_removals.py", "rules/remedies/test_requested.py", "rules/reports/test_stage.py",
    "rules/sets/test_stage.py", "run/test_executors.py", "run/test_meanwhile.py", "run/test_rollouts.py",
    "run/test_scores.py", "schemas/test_cases.py", "schemas/test_readers.py", "schemas/test_registry.py",
    "schemas/test_values.py", "test_forking.py",
)  # fmt: skip


_PATHS = tuple(TESTS / name for name in UNMEASURED)
Yielding: TypeAlias = Generator[None, object, object]


class _Tracers:
    """Those of coverage: of this thread, and of those to come."""

    here: "TraceFunction | None" = None
    elsewhere: "TraceFunction | None" = None


@pytest.fixture(autouse=True)
def _no_way_round_a_fault(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where muster would fall back on a longer way because a shorter one fails, the test fails: unless that is what it
    is about (`falls_back`)."""
    if request.node.get_closest_marker("falls_back"):
        yield
        return
    with listening_to_fallbacks(_raise):
        yield


def _raise(_doing: str, error: Exception) -> None:
    raise error


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Yielding:
    """Measure what importing muster runs, in one process, and of collecting no more."""
    if session.config.pluginmanager.hasplugin("dsession"):  # xdist's: its workers collect
        return (yield)
    _Tracers.here, _Tracers.elsewhere = sys.gettrace(), threading.gettrace()
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        _trace(None, None)
    for module in walk_packages(package.__path__, "muster."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # of an extra that is not installed
                import_module(module.name)
    _trace(None, None)
    return (yield)


def pytest_collection_finish() -> None:
    """Leave what all tests share, ten thousand of them among it, out of every search for garbage from now on.

    Search less often, too: muster's own runs do not search at all.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that are sampled take every n-th input, in the gate."""
    if often(1) > 1:
        return
    numbers: Counter[str] = Counter()
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        test = item.nodeid.partition("[")[0]
        (left if sampled and numbers[test] % sampled.args[0] else kept).append(item)
        numbers[test] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count skipped tests by their reason, which names what is not installed."""
    reports = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} {reason[:1].lower()}{reason[1:]}")


_given = set[str]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Yielding:
    """Measure what a test is given, once for all cases of a test."""
    test = item.nodeid.partition("[")[0]
    measured = test not in _given
    _given.add(test)
    return (yield from _measured(item, measured=measured))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Yielding:
    """Measure a test."""
    return (yield from _measured(item, measured=True))


def _measured(item: pytest.Item, *, measured: bool) -> Yielding:
    """Trace where the test is one that is measured. pytest-cov's own marker has no effect in a worker of xdist."""
    if measured and "given_many" not in item.keywords and not any(item.path.is_relative_to(path) for path in _PATHS):
        _trace(_Tracers.here, _Tracers.elsewhere)
    try:
        return (yield)
    finally:
        _trace(None, None)


def _trace(here: "TraceFunction | None", elsewhere: "TraceFunction | None") -> None:
    sys.settrace(here)
    threading.settrace(elsewhere)
