"""Branch coverage is measured in the tests that mirror the source, and in them alone: tracing costs as much again.

What runs all of muster over whole fleets, or in processes of their own, is not measured: a line that nothing but a
conformance case or an example runs has no test that says what it is for.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Folders, and files that ask the same of very many inputs.
UNMEASURED = (
    "conformance", "docs", "e2e", "packaging", "soak",
    "cel/test_fuzz.py", "cel/test_properties.py", "cel/test_units.py",
    "commands/test_slips.py",
    "decide/placements/test_properties.py", "decide/pools/test_rest.py", "decide/test_faults.py",
    "decide/test_pipeline.py",
    "engine/test_warm.py",
    "gitio/test_objects.py",  # interrupts at any instant; one in the tracer itself, with its lock held, would hang
    "yamlio/test_emitter.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is not measured, for pytest-cov."""
    unmeasured = [TESTS / name for name in UNMEASURED]
    for item in items:
        if any(item.path.is_relative_to(path) for path in unmeasured):
            item.add_marker("no_cover")
