"""Branch coverage is measured in the tests that mirror the source, and in them alone: tracing costs as much again.

What runs all of muster over whole fleets, or in processes of their own, is not measured: a line that nothing but a
conformance case or an example runs has no test that says what it is for.
"""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Folders, and files that ask the same of very many inputs; single tests that do are marked `given_many`.
UNMEASURED = (
    "conformance", "docs", "e2e", "packaging", "soak",
    "acts/test_forecast.py", "answers/test_branch.py",
    "cel/runtime/test_budget.py", "cel/test_fuzz.py", "cel/test_properties.py",
    "commands/test_slips.py", "commands/test_slips_since.py",
    "decide/placements/test_properties.py", "decide/pools/test_rest.py", "decide/test_faults.py",
    "decide/test_because.py", "decide/test_pipeline.py",
    "engine/test_sharded.py", "engine/test_uncommitted.py", "engine/test_wanted.py", "engine/test_warm.py",
    "gitio/test_objects.py",  # interrupts at any instant; one in the tracer itself, with its lock held, would hang
    "yamlio/test_emitter.py",
)  # fmt: skip


_PATHS = tuple(TESTS / name for name in UNMEASURED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run untraced what is not measured. pytest-cov's own marker for that has no effect in a worker of xdist."""
    tracers = sys.gettrace(), threading.gettrace()
    untraced = "given_many" in item.keywords or any(item.path.is_relative_to(path) for path in _PATHS)
    if untraced:
        sys.settrace(None)
        threading.settrace(None)
    try:
        yield
    finally:
        if untraced:
            sys.settrace(tracers[0])
            threading.settrace(tracers[1])
